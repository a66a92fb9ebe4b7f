"""Sizes for a GPU: proposals that run with little data are tried with more, and fixed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.init import files, from_options, propose
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.results.measurement import Survival
from gi_cuda.trial import Outcome, ProposalTrials
from gi_cuda.trial.facts import CASES, LARGE, LARGE_CASES, bytes_of, plan
from gi_cuda.trial.large import MOST_TRIES, with_large_cases
from gi_cuda.trial.mending.grids import fewer_blocks
from gi_cuda.trial.mending.resizing import GPU_GOAL
from gi_cuda.trial.troubles import Brief, Died, Slow, Trouble
from tests.sweeps import broad

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def main(launch: str, size: str = "n") -> str:
    return (
        "int main(int argc, char **argv) { int n = atoi(argv[1]); float *a, *b;"
        f" cudaMalloc(&a, ({size}) * sizeof(float)); cudaMalloc(&b, ({size}) * sizeof(float));"
        f" {launch} }}\n"
    )


@pytest.fixture
def tried(tmp_path: Path) -> Callable[[str], Outcome]:
    """Return a function that tries a source."""

    def of(text: str) -> Outcome:
        source, scratch = tmp_path / "k.cu", tmp_path / "attempts"
        source.write_text(text)
        scratch.mkdir()
        proposal = propose(source, None, from_options((), ()))
        return ProposalTrials(scratch, 1, None, lambda _: None).of(proposal)

    return of


@broad
def test_a_buffer_for_all_threads_grows_to_one_for_all_items(
    tried: Callable[[str], Outcome],
) -> None:
    # With few items each thread writes what no item asks for, and so much is enough for them all.
    outcome = tried(
        "__global__ void k(const float *a, float *b, int n) {"
        f" {INDEX} b[3 * i + 2] = 1; for (; i < n; i += gridDim.x * blockDim.x)"
        " for (int j = 0; j < 3; j++) b[3 * i + j] = a[i] + j; }\n"
        + main("k<<<128, 128>>>(a, b, n);")
    )
    assert outcome.passes, outcome.trouble
    proposal = outcome.proposal
    for case in (*CASES, *LARGE_CASES):
        (n,) = (one.device if case == LARGE else one.train for one in proposal.extents)
        assert plan(proposal, case).items["b"] >= min(n, 3 * 128 * 128)
    assert plan(proposal, LARGE).items["b"] >= 3 * proposal.extents[0].device


@broad
def test_the_square_of_a_size_is_no_memory_full(
    tried: Callable[[str], Outcome], tmp_path: Path
) -> None:
    outcome = tried(
        f"__global__ void k(const float *a, float *b, int n) {{ {INDEX}"
        " if (i < n) b[(long long)i * n + i] = a[i]; }\n"
        + main("k<<<(n + 127) / 128, 128>>>(a, b, n);")
    )
    assert outcome.passes, outcome.trouble
    assert outcome.proposal.buffers[1].elements == "n * n"
    assert bytes_of(outcome.proposal, plan(outcome.proposal, LARGE)) <= 1 << 28
    assert "# n: smaller than at first" in files(outcome.proposal, tmp_path)["target.toml"]


@pytest.fixture
def passing(tmp_path: Path) -> Outcome:
    """Return an outcome that passes untried: a thousand items on the host, a million on a GPU."""
    source = tmp_path / "k.cu"
    source.write_text(
        f"__global__ void k(const float *a, float *b, int n) {{ {INDEX} if (i < n) b[i] = a[i]; }}"
    )
    return Outcome(propose(source, None, from_options((), ())), None)


def device(outcome: Outcome) -> list[int]:
    return [extent.device for extent in outcome.proposal.extents]


def test_where_nothing_larger_runs_sizes_are_those_of_the_host(passing: Outcome) -> None:
    asked: list[int] = []

    def never(proposal: object) -> Trouble | None:
        asked.append(1)
        return Died("large", "crashed", None, "no reason")  # type: ignore[arg-type]

    found = with_large_cases(passing, lambda *_: None, never, time.monotonic() + 60)
    (extent,) = found.proposal.extents
    assert extent.device == extent.train
    assert "as on the host" in extent.device_note
    assert len(asked) <= MOST_TRIES


def test_sizes_are_divided_by_powers_of_two(passing: Outcome) -> None:
    (first,) = device(passing)
    answers = iter([Slow("large", 2.0, over=True), None])
    found = with_large_cases(
        passing, lambda *_: None, lambda _: next(answers), time.monotonic() + 60
    )
    assert device(found) == [first // 32]


def test_what_takes_no_time_gets_larger_as_long_as_that_runs(passing: Outcome) -> None:
    (first,) = device(passing)
    brief = Brief(GPU_GOAL / 10)
    for answers, factor in (
        ([brief, None], 8),
        ([brief, Slow("large", 2.0, over=True)], 1),
        ([brief, Died("large", Survival.CRASHED, None, "no room")], 1),
    ):
        said = iter(answers)
        found = with_large_cases(
            passing, lambda *_: None, lambda _, said=said: next(said), time.monotonic() + 60
        )
        assert device(found) == [first * factor]
        assert found.passes


def test_data_grow_until_there_is_much_to_judge(passing: Outcome) -> None:
    found = with_large_cases(passing, lambda *_: None, lambda _: Brief(1e-6), time.monotonic() + 60)
    assert plan(found.proposal, LARGE).items["b"] * 4 == 1 << 26


def test_blocks_for_a_size_that_follows_another_one_are_not_fewer(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(const float *a, float *b, int wide, int high) {"
        " int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
        " if (x < wide && y < high) b[y * wide + x] = a[y * wide + x]; }\n"
        "int main(int argc, char **argv) { int wide = atoi(argv[1]), high = wide; float *a, *b;"
        " cudaMalloc(&a, wide * high * sizeof(float)); cudaMalloc(&b, wide * high * sizeof(float));"
        " dim3 grid((wide + 15) / 16, (high + 15) / 16), block(16, 16);"
        " k<<<grid, block>>>(a, b, wide, high); }\n"
    )
    proposal = propose(source, None, from_options((), ()))
    assert proposal.launching.grid == ("(wide + 15) / 16", "(high + 15) / 16")
    assert fewer_blocks(proposal, 64) == proposal


def test_what_does_not_pass_or_has_no_time_is_not_tried(passing: Outcome) -> None:
    def asked(proposal: object) -> Trouble | None:
        raise AssertionError("it was tried")

    failed = Outcome(passing.proposal, Slow("train", 9.0, over=True))
    for outcome, until in ((failed, time.monotonic() + 60), (passing, 0.0)):
        assert with_large_cases(outcome, lambda *_: None, asked, until) == outcome


def test_blocks_that_wait_for_each_other_are_launched_together(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "#include <cooperative_groups.h>\n"
        f"__global__ void k(const float *a, float *b, int n) {{ {INDEX} if (i < n) b[i] = a[i];"
        " cooperative_groups::this_grid().sync(); if (i < n) b[i] += b[n - 1 - i]; }\n"
        + main("k<<<(n + 127) / 128, 128>>>(a, b, n);")
    )
    proposal = propose(source, None, from_options((), ()))
    assert proposal.launching.cooperative
    assert "cooperative = true" in files(proposal, tmp_path)["target.toml"]
    (extent,) = proposal.extents
    assert isinstance(extent, Extent)
    assert extent.device <= 1 << 14


@broad
def test_a_buffer_that_was_made_smaller_becomes_what_it_was(
    tried: Callable[[str], Outcome],
) -> None:
    # On the host few blocks are enough; a GPU has all of the source, which needs no more than that.
    outcome = tried(
        "#define N 1024\n"
        "__global__ void k(const int *a, int *b) {"
        " int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;"
        " b[x * N + y] = a[y * N + x]; }\n"
        "int main() { int *a, *b; cudaMalloc(&a, N * N * sizeof(int));"
        " cudaMalloc(&b, N * N * sizeof(int)); dim3 block(32, 32), grid(N / 32, N / 32);"
        " k<<<grid, block>>>(a, b); }\n"
    )
    assert outcome.passes, outcome.trouble
    assert any(one.blocks for one in outcome.proposal.extents)
    assert [(one.elements, one.notes.size) for one in outcome.proposal.buffers] == [
        (str(1024 * 1024), "")
    ] * 2


SQUARE = (
    "__global__ void k(const float *a, float *b, int nx, int ny) {"
    " int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;"
    " if (x < nx && y < ny) b[x + y * ny] = a[x + y * ny]; }\n"
    "int main() { int nx = 1024, ny = NY, n = nx * ny; float *a, *b;"
    " cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float));"
    " dim3 block(32, 32), grid((nx + 31) / 32, (ny + 31) / 32);"
    " k<<<grid, block>>>(a, b, nx, ny); }\n"
)


@broad
def test_sizes_that_differ_in_the_source_stay_so(tried: Callable[[str], Outcome]) -> None:
    outcome = tried(SQUARE.replace("NY", "512"))
    assert outcome.passes, outcome.trouble
    assert outcome.proposal.counts == ("nx", "ny")
    assert all(one.grown for one in outcome.proposal.buffers)


@broad
def test_what_goes_beyond_its_buffers_whatever_the_sizes_has_larger_ones(
    tried: Callable[[str], Outcome],
) -> None:
    outcome = tried(
        "__global__ void k(const float *a, float *b, int n) {"
        f" {INDEX} if (i < n) b[i + 60] = a[i] * n; }}\n"
        + main("k<<<(n + 127) / 128, 128>>>(a, b, n);")
    )
    assert outcome.passes, outcome.trouble
    assert {b.name: b.elements for b in outcome.proposal.buffers} == {"a": "n", "b": "n + 60"}
