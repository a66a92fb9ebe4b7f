"""Proposals whose blocks, buffers or loops are too small or too large, and their fixes."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gi_cuda.init import Proposal, files, from_options, propose
from gi_cuda.init.proposing.cases import Second
from gi_cuda.trial import Attempts, Outcome, mended
from gi_cuda.trial.facts import impossible, plan
from gi_cuda.trial.mending.blocks import several_blocks, with_several_blocks
from gi_cuda.trial.mending.changes import resized
from gi_cuda.trial.mending.tight_buffers import with_tight_buffers
from gi_cuda.trial.second import with_second_cases
from gi_cuda.trial.troubles import Trouble, Unjudged
from tests.sweeps import broad

from .conftest import INDEX, LAUNCH, host, sizes


def test_what_passes_stays_as_it_is(trial: Callable[[str], Outcome]) -> None:
    # It takes neither too long nor so short, on any machine, that it could not be timed.
    outcome = trial(
        f"__global__ void k(const float *a, float *b, int n) {{ {INDEX} if (i < n) {{ float s = 0;"
        " for (int j = 0; j < 40; j++) s = s * 0.5f + a[i]; b[i] = s; } }\n"
        + host(LAUNCH, "n", "n")
    )
    assert outcome.passes
    assert not outcome.done
    assert sizes(outcome.proposal) == {"a": "n", "b": "n"}
    assert list(outcome.lines()) == ["it ran on the host back end, and passes"]


def test_buffers_grow_to_what_is_read_and_written(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i] = a[2 * i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert sizes(outcome.proposal)["a"] == "n * 2"
    assert [b.grown for b in outcome.proposal.buffers] == ["n", ""]


def test_a_few_elements_more_are_added(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i + 60] = a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert sizes(outcome.proposal) == {"a": "n", "b": "n + 60"}


@broad
def test_threads_without_a_check_get_elements(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        f"__global__ void k(const float *a, float *b, int n) {{ {INDEX} b[i] = a[i] * n; }}\n"
        + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble


def test_pointers_may_point_behind_the_begin(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i] = a[i - 5000] + a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    begins = {b.name: b.begin for b in outcome.proposal.buffers}
    assert begins == {"a": "5000", "b": ""}
    text = files(outcome.proposal, tmp_path)["target.toml"]
    assert 'begin = "5000"' in text
    assert 'size = "n + 5000"' in text


@broad
def test_shared_memory_grows(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) { extern __shared__ double s[];"
        f"{INDEX} for (int j = 0; j < 17; j++) s[threadIdx.x * 17 + j] = j;"
        " if (i < n) b[i] = a[i] + (float)s[threadIdx.x * 17]; }\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert "hared memory was grown" in outcome.proposal.launching.notes[0]


@broad
def test_what_takes_long_gets_smaller(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) {{ float s = 0; for (int j = 0; j < n; j += 2)"
        " for (int l = j; l < n; l += 2) s += a[j] * a[l]; b[i] = s; } }\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    (extent,) = outcome.proposal.extents
    assert extent.train < 601
    assert "milliseconds" in extent.note


@broad
def test_rounds_that_the_host_code_says_get_fewer(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int rounds) {"
        f"{INDEX} float s = a[i]; for (int j = 0; j < rounds; j++) s = s * 1.25f + 1.0f / (s + 2);"
        " b[i] = s; }\n" + host("k<<<4, 128>>>(a, b, 200000);", "512", "512")
    )
    assert outcome.passes, outcome.trouble
    (rounds,) = [s for s in outcome.proposal.scalars if s.name == "rounds"]
    assert rounds.value < 200000
    assert "; was " in rounds.note


@broad
def test_sizes_with_one_block_become_such_with_several(tmp_path: Path) -> None:
    """The size that decides the number of blocks gets larger; a GPU has many blocks."""
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(const float *a, float *b, int n, int width, int height, int depth) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float s = 0;"
        " for (int j = 0; j < width * height * depth; j++) s += a[j] * i; b[i] = s; } }\n"
        "void run(float *a, float *b, int n, int width, int height, int depth) {"
        " k<<<(n + 1023) / 1024, 1024>>>(a, b, n, width, height, depth); }\n"
    )
    first = propose(source, None, from_options((), ()))
    (tmp_path / "attempts").mkdir()
    attempts = Attempts(tmp_path / "attempts", 1, None)
    outcome = mended(first, attempts.attempt, 60)
    assert plan(outcome.proposal, "train").grid[0] == 1
    found = with_several_blocks(outcome, attempts.attempt)
    assert found.passes
    assert found.done[-1] == "several blocks"
    for case in ("train", "held-out"):
        assert plan(found.proposal, case).grid[0] > 1
    assert plan(found.proposal, "large").grid[0] >= 32
    assert several_blocks(found.proposal) is None


def test_a_second_case_has_another_size_where_that_runs(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    kernel = (
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} __shared__ float s[128]; s[threadIdx.x] = a[i]; __syncthreads();"
        " b[i] = s[127 - threadIdx.x]; }\n"
    )
    outcome = trial(kernel + host("k<<<n / 128, 128>>>(a, b, n);", "n", "n"))
    attempts = Attempts(tmp_path / "attempts" / "second", 1, None)
    assert attempts.attempt(outcome.proposal, 1.0) is None
    refused = {Second.WHOLE, Second.FEWER}

    def attempt(proposal: Proposal, patience: float) -> Trouble | None:
        done.append(proposal.second)
        return Unjudged() if proposal.second in refused else None

    done: list[Second] = []
    found = with_second_cases(outcome, attempt)
    assert found.proposal.second is Second.NEARLY
    assert done == [Second.WHOLE, Second.FEWER, Second.NEARLY]
    refused = set(Second)
    assert with_second_cases(outcome, attempt).proposal == outcome.proposal
    # With seeds of their own.
    text = files(found.proposal, tmp_path)["target.toml"]
    seeds = [case["args"]["seed"] for case in tomllib.loads(text)["case"]]
    assert len(set(seeds)) == len(seeds) == 8


PRODUCT = """
__global__ void k(const float *a, const float *b, float *c, int m, int n, int l) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= m) return;
  float sum = 0;
  for (int i = 0; i < l; i++) sum += a[y * l + i] * b[i * n + x];
  c[y * n + x] = sum;
}
void run(float *a, float *b, float *c, int m, int n, int l) {
  dim3 block(8, 8), grid((n + 7) / 8, (m + 7) / 8);
  k<<<grid, block>>>(a, b, c, m, n, l);
}
"""


def test_a_buffer_has_an_item_for_those_sizes_alone_that_the_kernel_needs(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    outcome = trial(PRODUCT)
    assert set(sizes(outcome.proposal).values()) == {"m * n * l"}
    attempt = Attempts(tmp_path / "attempts" / "tight", 1, None).attempt
    found = with_tight_buffers(outcome, attempt, math.inf)
    assert sizes(found.proposal) == {"a": "m * l", "b": "n * l", "c": "m * n"}
    assert "as far as the kernel goes" in files(found.proposal, tmp_path)["target.toml"]
    # What passes stays where nothing smaller does.
    assert with_tight_buffers(outcome, lambda *_: Unjudged(), math.inf) == outcome


@broad
def test_a_buffer_stays_where_how_far_the_kernel_goes_is_up_to_the_data(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    led = trial(PRODUCT.replace("const float *b", "const int *b"))
    attempt = Attempts(tmp_path / "attempts" / "tight", 1, None).attempt
    assert with_tight_buffers(led, attempt, math.inf) == led


TONES = """
__global__ void k(const float *in, const float *tones, float *out, int n_tones, int rows,
                  int cols) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  float sum = 0;
  for (int i = 0; i < n_tones; i++) sum += tones[i] * in[y * cols + x];
  out[y * cols + x] = sum;
}
void run(const float *in, const float *tones, float *out, int n_tones, int rows,
                  int cols) {
  dim3 block(8, 8), grid((cols + 7) / 8, (rows + 7) / 8);
  k<<<grid, block>>>(in, tones, out, n_tones, rows, cols);
}
"""


@broad
def test_a_buffer_that_was_far_too_small_gets_larger(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    """So far beyond it there is nothing that gives way; of sizes that are as large as others those
    are taken by which threads are launched."""
    outcome = trial(TONES)
    assert set(sizes(outcome.proposal).values()) == {"n_tones * rows * cols"}
    large = resized(outcome.proposal, lambda *_: 160, "")
    passing = replace(outcome, proposal=large)
    attempt = Attempts(tmp_path / "attempts" / "tight", 1, None).attempt
    found = with_tight_buffers(passing, attempt, math.inf)
    assert sizes(found.proposal)["in"] == "rows * cols"
    assert sizes(found.proposal)["out"] == "rows * cols"


def test_sizes_that_differ_do_so_where_all_get_as_small_as_they_may(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(f"__global__ void k(float *a, int n) {{ {INDEX} if (i < n) a[i] = i; }}")
    proposal = propose(source, None, from_options((), ()))
    (size,) = resized(proposal, lambda *_: 16, "").extents
    assert (size.train, size.held_out) == (16, 32)
    (same,) = resized(proposal, lambda _, size: size, "").extents
    assert same == proposal.extents[0]


def test_where_nothing_helps_all_cases_can_be_launched(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    kernel = f"__global__ void k(const float *a, float *b, int n) {{ {INDEX} b[i] = a[i]; }}\n"
    source.write_text(kernel + host("k<<<n / 64, 64>>>(a, b, n);", "n", "n"))
    proposal = propose(source, None, from_options((), ()))
    small = resized(proposal, lambda *_: 64, "")
    assert impossible(replace(small, second=Second.ODD))
    outcome = with_second_cases(Outcome(small, Unjudged()), lambda *_: None)
    assert not impossible(outcome.proposal)
