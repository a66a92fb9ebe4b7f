"""Data that reaches more of a kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.init import Proposal, from_options, propose
from gi_cuda.init.proposing.buffers import Fill
from gi_cuda.trial import Attempts, Outcome, mended
from gi_cuda.trial.case_coverage import Reach
from gi_cuda.trial.reaching import with_more_reached
from tests.sweeps import broad

HEAD = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
MAIN = """
int main(int argc, char **argv) {
  int n = atoi(argv[1]); float *a; int *kind;
  cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&kind, n * sizeof(int));
  k<<<(n + 127) / 128, 128>>>(a, kind, n, atoi(argv[2]), atof(argv[3]));
}
"""


@pytest.fixture
def reaching(tmp_path: Path) -> Callable[[str], tuple[Reach, Outcome]]:
    """Return a function that tries a kernel: coverage of its first cases, and the outcome."""

    def of(body: str) -> tuple[Reach, Outcome]:
        source = tmp_path / "k.cu"
        head = "__global__ void k(float *a, const int *kind, int n, int mode, float limit)"
        whole = f"{head} {{ {HEAD} {body} }}\n{MAIN}"
        source.write_text(body if "main(" in body else whole)
        (tmp_path / "attempts").mkdir()
        attempts = Attempts(tmp_path / "attempts", 1, None)
        outcome = mended(propose(source, None, from_options((), ())), attempts.attempt, 60)
        assert outcome.passes, outcome.trouble
        first = attempts.reach(outcome.proposal)
        assert first is not None
        until = time.monotonic() + 60
        return first, with_more_reached(outcome, attempts.attempt, attempts.reach, until)

    return of


def test_scalars_and_contents_become_what_conditions_ask_for(
    reaching: Callable[[str], tuple[Reach, Outcome]],
) -> None:
    first, outcome = reaching(
        "a[i] += 1;"
        " if (mode == 42) { a[i] *= 3; if (limit > 50) a[i] -= limit; }"
        " if (kind[i] == 1000003) a[i] = sqrtf(fabsf(a[i]));"
    )
    assert first.statements < first.of
    assert outcome.reached is not None
    assert outcome.reached.statements == outcome.reached.of == first.of
    assert outcome.passes
    scalars = {one.name: one.value for one in outcome.proposal.scalars}
    assert scalars["mode"] == 42
    assert scalars["limit"] == 100.0
    (kind,) = (one for one in outcome.proposal.buffers if one.name == "kind")
    assert kind.fill is not None
    assert 1000003 in range(kind.fill.low, kind.fill.high)
    assert "mode = 42" in outcome.done


def test_what_goes_wrong_with_is_not_taken(
    reaching: Callable[[str], tuple[Reach, Outcome]],
) -> None:
    first, outcome = reaching("a[i] += 1; if (mode == 42) a[i + 100000000] = 0;")
    assert outcome.passes
    assert {one.name: one.value for one in outcome.proposal.scalars}["mode"] != 42
    assert outcome.reached == first
    (line,) = [one for one in outcome.lines() if "reach" in one]
    assert "do not reach 1 of 2 statements" in line


def test_what_reaches_all_stays_as_it_is(
    reaching: Callable[[str], tuple[Reach, Outcome]],
) -> None:
    first, outcome = reaching("a[i] = mode * a[i] + kind[i] + limit;")
    assert first.statements == first.of
    fills = [one.fill for one in outcome.proposal.buffers]
    assert Fill(0, 1000) not in fills
    assert {one.value for one in outcome.proposal.scalars if one.name == "mode"} == {2}


RACING = """
__global__ void k(const float *a, float *b, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  b[y * width + x] = a[y * width + x] + x;
  if (width % 16) b[y * width + x] *= 3;
}
int main(int argc, char **argv) {
  int width = atoi(argv[1]), height = atoi(argv[2]); float *a, *b;
  cudaMalloc(&a, (width + 32) * (height + 32) * sizeof(float));
  cudaMalloc(&b, (width + 32) * (height + 32) * sizeof(float));
  k<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(a, b, width, height);
}
"""


@broad
def test_sizes_with_which_threads_race_are_not_taken(
    reaching: Callable[[str], tuple[Reach, Outcome]],
) -> None:
    first, outcome = reaching(RACING)
    assert first.statements < first.of
    assert outcome.passes
    assert outcome.reached == first
    assert all(one.train % 16 == 0 for one in outcome.proposal.extents)


def test_all_that_may_be_it_is_tried_where_there_is_much(tmp_path: Path) -> None:
    many = [f"s{n}" for n in range(20)]
    head = ", ".join(f"float {name}" for name in many)
    source = tmp_path / "k.cu"
    source.write_text(
        f"__global__ void k(float *a, const float *b, int n, {head})"
        f" {{ {HEAD} a[i] = b[i] + {' + '.join(many)}; }}"
    )

    def wide(proposal: Proposal) -> bool:
        return any(one.name == "b" and one.fill == Fill(-100, 100) for one in proposal.buffers)

    def reach(proposal: Proposal) -> Reach:
        return Reach(1 + wide(proposal), 1, 2, frozenset(), frozenset())

    outcome = Outcome(propose(source, None, from_options((), ())), None)
    until = time.monotonic() + 60
    assert wide(with_more_reached(outcome, lambda *_: None, reach, until).proposal)
