"""Observations of a trial on buffers, data and names, and the fixes that follow from them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.init.proposing.buffers import Fill
from gi_cuda.init.writing.data_module import data_py
from gi_cuda.init.writing.text import target_toml
from gi_cuda.trial import Outcome
from tests.sweeps import broad, sweep

from .conftest import INDEX, LAUNCH, host, roles


def test_roles_are_what_was_seen(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "#define SET(p, v) (*(float *)(size_t)(p) = (v))\n"
        "__global__ void k(const float *a, float *b, float *c, int n) {"
        f"{INDEX} if (i < n) {{ SET(a + i, 2.0f); b[i] = 3; if (n < 0) c[i] = 1; }} }}\n"
        + host("k<<<(n + 127) / 128, 128>>>(a, b, c, n);", "n", "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert roles(outcome.proposal) == {"a": "inout", "b": "output", "c": "inout"}


def test_what_nothing_is_known_of_is_looked_at(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "struct Cell { float *p; __device__ void set(int i, float v) const { p[i] = v; } };\n"
        "__device__ void put(const Cell &c, int i) { c.set(i, i * 2.0f); }\n"
        f"__global__ void k(float *a, int n) {{ {INDEX} Cell c = {{a}}; if (i < n) put(c, i); }}\n"
        + host("k<<<(n + 127) / 128, 128>>>(a, n);", "n")
    )
    assert outcome.passes, outcome.trouble
    assert roles(outcome.proposal)["a"] in ("inout", "output")


def test_the_tolerance_of_small_numbers_is_small(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    """The usual tolerance would accept zeros instead."""
    outcome = trial(
        "__global__ void k(const float *a, float *b, float *c, int n) {"
        f"{INDEX} if (i < n) {{ b[i] = a[i] * 1e-10f; c[i] = a[i]; }} }}\n"
        + host("k<<<(n + 127) / 128, 128>>>(a, b, c, n);", "n", "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert "smaller tolerance for b" in outcome.done
    _, small, usual = outcome.proposal.buffers
    assert small.magnitude == pytest.approx(5e-11, rel=0.5)
    assert (small.allowance, usual.allowance) == (1e-15, 1e-4)
    assert usual.magnitude is None
    text = target_toml(outcome.proposal, tmp_path)
    oracles = tomllib.loads(text)["oracle"]
    assert [(one["buffers"], one["absolute"], one["relative"]) for one in oracles] == [
        (["c"], 1e-4, 1e-4),
        (["b"], 1e-15, 1e-4),
    ]
    assert "absolute = 1e-15" in text
    assert "# the kernel writes numbers of about " in text


def test_small_numbers_beside_others_of_fewer_digits_get_a_tolerance_of_their_own(
    trial: Callable[[str], Outcome],
) -> None:
    """The tolerance of the other buffer would accept zeros instead."""
    outcome = trial(
        "__global__ void k(const float *a, float *b, double *c, int n) {"
        f"{INDEX} if (i < n) {{ b[i] = a[i]; c[i] = a[i] * 1e-11; }} }}\n"
        "int main() { int n = 4000; float *a, *b; double *c; cudaMalloc(&a, n * sizeof(float));"
        " cudaMalloc(&b, n * sizeof(float)); cudaMalloc(&c, n * sizeof(double));"
        " k<<<(n + 127) / 128, 128>>>(a, b, c, n); }\n"
    )
    assert outcome.passes, outcome.trouble
    assert "smaller tolerance for c" in outcome.done


@broad
def test_data_that_show_nothing_get_others(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) if (a[i] > 20) b[i] += a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble


@broad
def test_what_looks_for_a_few_values_gets_them(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const int *next, int *level, int round, int n) {"
        f"{INDEX} if (i < n && level[i] == round) if (level[next[i]] == -1)"
        " level[next[i]] = round + 1; }\n"
        "int main() { int n = 4000; int *a, *b; cudaMalloc(&a, n * sizeof(int));"
        " cudaMalloc(&b, n * sizeof(int)); k<<<(n + 127) / 128, 128>>>(a, b, 0, n); }\n"
    )
    assert outcome.passes, outcome.trouble


@pytest.mark.parametrize(
    "name", sweep(["kernel", "launch", "call", "data", "size", "max"], "kernel", "max")
)
def test_a_kernel_may_have_a_name_of_the_back_end_s_own(
    name: str, trial: Callable[[str], Outcome]
) -> None:
    outcome = trial(
        f"__global__ void {name}(float *a, int n) {{ {INDEX} if (i < n) a[i] = i; }}\n"
        + host(f"{name}<<<(n + 127) / 128, 128>>>(a, n);", "n")
    )
    assert outcome.passes, outcome.trouble


TILED = """__global__ void k(float *a, const float *b, int gap) {
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    a[y * gap + x] = x + 3 * y + b[threadIdx.x]; }
int main() { float *a, *b; int w = 256, h = 256, unknown = read_it();
    cudaMalloc(&a, w * h * sizeof(float)); cudaMalloc(&b, 32); dim3 grid(32, 32), block(8, 8);
    k<<<grid, block>>>(a, b, unknown); }
"""


def test_what_races_whatever_its_scalars_are_passes_all_the_same(
    trial: Callable[[str], Outcome],
) -> None:
    outcome = trial(TILED.replace("y * gap + x", "(y + x) % 8").replace("8)", "8 + gap)", 1))
    assert outcome.passes, outcome.trouble
    (length,) = (s for s in outcome.proposal.scalars if s.name == "gap")
    assert length.value == 2


@pytest.mark.parametrize(
    ("head", "launcher"),
    sweep(
        [
            ("", "void k(float *a)"),
            ("template <typename T> ", "template <typename T> void k(T *a)"),
        ],
        ("template <typename T> ", "template <typename T> void k(T *a)"),
    ),
)
def test_host_code_that_launches_a_kernel_may_have_its_name(
    head: str, launcher: str, trial: Callable[[str], Outcome]
) -> None:
    kind = "T" if head else "float"
    launch = "k<T><<<40, 128>>>(a, 3, 5120)" if head else "k<<<40, 128>>>(a, 3, 5120)"
    outcome = trial(
        f"{head}__global__ void k({kind} *a, {kind} v, int n) {{ {INDEX} if (i < n) a[i] = v; }}\n"
        f"{launcher} {{ {launch}; }}\n"
        f"int main() {{ float *p; cudaMalloc(&p, 5120 * sizeof(float)); k(p); }}\n"
    )
    assert outcome.passes, outcome.trouble


RNG = np.random.default_rng(1)

ROWS = """
__global__ void k(const int *from, const float *a, const int *skip, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || skip[i]) return;
  for (int j = from[i]; j < from[i + 1]; j++) b[i] += a[j];
}
"""


def test_rows_have_begins_and_ends(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(ROWS)
    assert outcome.passes, outcome.trouble
    rows, values, *_ = outcome.proposal.buffers
    assert rows.fill is not None
    assert rows.fill.rising
    assert values.grown != values.elements
    made = data_py(outcome.proposal)
    (line,) = (one for one in made.splitlines() if '"from"' in one)
    given = eval(line.partition(":")[2].partition(",  #")[0], {"np": np, "rng": RNG, "n": 100})
    assert given.dtype == np.int32
    assert (np.diff(given) >= 0).all()
    assert given[-1] > 100


@broad
def test_flags_behind_a_function_are_tried(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__device__ bool done(const int *flags, int i) { int all = flags[i] & 127; return all; }\n"
        "__global__ void k(const int *flags, int *b, int n) {"
        f"{INDEX} if (i < n && !done(flags, i)) b[i] = i; }}\n"
        "int main() { int n = 4; int *a, *b; cudaMalloc(&a, n * sizeof(int));"
        " cudaMalloc(&b, n * sizeof(int)); k<<<1, 4>>>(a, b, n); }\n"
    )
    assert outcome.passes, outcome.trouble


def test_answers_that_are_all_one_value_get_other_data(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, signed char *b, int n) {"
        f"{INDEX} if (i < n) {{ float s = 0; for (int j = 0; j < 90; j++) s += a[i] * j;"
        " b[i] = s > -1; } }\n"
        "int main() { int n = 4000; float *a; signed char *b; cudaMalloc(&a, n * sizeof(float));"
        f" cudaMalloc(&b, n); {LAUNCH} }}\n"
    )
    assert outcome.passes, outcome.trouble
    assert outcome.proposal.buffers[0].fill == Fill(-1, 1)


@pytest.mark.parametrize(("entries", "below"), sweep([(256, 256), (128, 100)], (128, 100)))
def test_bytes_are_all_that_there_are_unless_a_table_is_smaller(
    entries: int, below: int, trial: Callable[[str], Outcome]
) -> None:
    outcome = trial(
        f"__global__ void k(const unsigned char *data, float *b, int n) {{ {INDEX}"
        f" __shared__ float table[{entries}];"
        f" for (int j = threadIdx.x; j < {entries}; j += blockDim.x) table[j] = j * 0.5f;"
        " __syncthreads(); if (i < n) b[i] = table[data[i]]; }\n"
        "int main() { int n = 4000; unsigned char *data; float *b;"
        " cudaMalloc(&data, n); cudaMalloc(&b, n * sizeof(float));"
        " k<<<(n + 127) / 128, 128>>>(data, b, n); }\n"
    )
    assert outcome.passes, outcome.trouble
    assert f"rng.integers(0, {below}, n, dtype=np.uint8)" in data_py(outcome.proposal)


def test_small_changes_show_beside_zeros_with_a_small_tolerance(
    trial: Callable[[str], Outcome],
) -> None:
    outcome = trial(
        "__global__ void k(float *a, const float *b, int n) {"
        f"{INDEX} if (i < n) a[i] += 1e-16f * b[i]; }}\n"
        + host("k<<<(n + 127) / 128, 128>>>(a, b, n);", "n", "n")
    )
    assert outcome.passes, outcome.trouble
    changed, _ = outcome.proposal.buffers
    assert changed.fill == Fill(0, 1)
    assert changed.allowance < 1e-15
