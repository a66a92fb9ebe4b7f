"""Ends of trials: fixed, passed over, or with a trouble that has no fix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.evaluate.reference.baseline import establish, try_broken
from gi_cuda.init import Proposal, files, from_options, propose, write_folder
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject
from gi_cuda.trial import Outcome, mended, running
from gi_cuda.trial.troubles import Brief, Crowded, Roles, Slow, Trouble, Varying
from tests.command import with_little_data
from tests.sweeps import broad

from .conftest import INDEX, LAUNCH, host, roles, sizes


@pytest.fixture
def soon_hung(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limit; endless kernels fail in any case."""
    monkeypatch.setattr(running, "_LIMIT", 0.25)


@pytest.mark.usefixtures("soon_hung")
def test_what_cannot_be_mended_stays_and_is_said(trial: Callable[[str], Outcome]) -> None:
    text = (
        "__global__ void k(float *a, int n) {"
        f"{INDEX} if (i < n) a[i] = 1; for (;;) __syncthreads(); }}\n"
        + host("k<<<(n + 127) / 128, 128>>>(a, n);", "n")
    )
    outcome = trial(text)
    assert not outcome.passes
    assert sizes(outcome.proposal) == {"a": "n"}
    first, *_ = outcome.lines()
    assert first.startswith("it ran on the host back end, and does not pass: ")


@broad
def test_what_was_mended_passes_a_check(trial: Callable[[str], Outcome], tmp_path: Path) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} b[i] = a[3 * i + 1] + a[i - 4000]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    folder = tmp_path / "target"
    write_folder(folder, files(outcome.proposal, folder))
    assert "FILL IN" not in (folder / "target.toml").read_text()
    subject = load_subject(folder, "host")
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        arguments = (subject, tools.compiler, tools.pool)
        baseline = establish(*arguments, tools.scratch("baseline"), tools.reference)
        assert try_broken(*arguments, tools.scratch("broken"), baseline).penalty


@pytest.mark.usefixtures("soon_hung")
def test_init_goes_on_to_a_kernel_that_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_little_data(monkeypatch.setattr)
    source = tmp_path / "several.cu"
    source.write_text(
        "__global__ void stuck(float *a, int n) {"
        f"{INDEX} for (int j = 0; j < n; j++) if (i < n) a[i] += j; for (;;) __syncthreads(); }}\n"
        f"__global__ void fine(float *a, int n) {{ {INDEX} if (i < n) a[i] = i; }}\n"
    )
    words = ["init", str(source), "-o", str(tmp_path / "t")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "passed over stuck" in done.output
    assert "its trial fails: " in done.output
    assert 'kernels = ["fine"]' in (tmp_path / "t" / "target.toml").read_text()


def test_init_without_a_trial_runs_nothing(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(f"__global__ void k(float *a, int n) {{ {INDEX} if (i <= n) a[i] = i; }}\n")
    words = ["init", str(source), "--no-trial", "-o", str(tmp_path / "t")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "host back end" not in done.output
    assert "FILL IN" in (tmp_path / "t" / "target.toml").read_text()


@pytest.fixture
def copying(tmp_path: Path) -> Proposal:
    """Return the proposal for a kernel that copies as many items as its case says."""
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i] = a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    return propose(source, None, from_options((), ()))


def test_what_is_too_short_to_be_timed_gets_longer(copying: Proposal) -> None:
    def attempt(proposal: Proposal, patience: float) -> Brief | None:
        (extent,) = proposal.extents
        return Brief(extent.train * 1e-9) if extent.train < 10**5 else None

    outcome = mended(copying, attempt, 60)
    assert outcome.passes
    assert outcome.done == ("larger sizes",)
    assert outcome.proposal.extents[0].train >= 10**5


def test_the_time_to_compile_is_not_taken_from_what_mends(
    copying: Proposal, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def attempt(proposal: Proposal, patience: float) -> Roles | None:
        clock[0] += 5 if clock[0] else 100
        wanted = all(b.role == "inout" for b in proposal.buffers if b.name == "b")
        return None if wanted else Roles(frozenset(), frozenset({"b"}))

    monkeypatch.setattr("gi_cuda.trial.search.time.monotonic", lambda: clock[0])
    assert mended(copying, attempt, 10).passes
    clock[0] = 0.0
    assert not mended(copying, attempt, 0).passes


def test_what_no_size_makes_longer_stays_as_it_is(copying: Proposal) -> None:
    tried = []

    def attempt(proposal: Proposal, patience: float) -> Brief | None:
        tried.append(proposal)
        return Brief(1e-6)

    outcome = mended(copying, attempt, 60)
    assert outcome.passes
    assert outcome.proposal.extents == copying.extents
    assert len(tried) < 4
    said = " ".join(outcome.lines())
    assert "a launch takes 1 µs, and nothing was found that makes it longer" in said


def test_what_came_furthest_is_kept(copying: Proposal) -> None:
    def attempt(proposal: Proposal, patience: float) -> Roles | Varying:
        if all(buffer.role == "inout" for buffer in proposal.buffers if buffer.name == "b"):
            return Varying(frozenset({"b"}))
        return Roles(frozenset(), frozenset({"b"}))

    outcome = mended(copying, attempt, 60)
    assert not outcome.passes
    assert isinstance(outcome.trouble, Varying)
    assert roles(outcome.proposal)["b"] == "inout"


def test_what_depends_on_the_order_of_threads_passes_where_nothing_helps(
    copying: Proposal,
) -> None:
    tried: list[Proposal] = []

    def attempt(proposal: Proposal, patience: float) -> Trouble:
        tried.append(proposal)
        return Slow("train", 0.02, over=False) if patience < 0.1 else Crowded()

    outcome = mended(copying, attempt, 60)
    assert outcome.passes
    assert len(tried) < 50
