"""Patches are measured against the file on disk, even if ``target.toml`` has other defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import gi_cuda.runs.run
from gi_cuda.analyze.finalists.winner import choose_individual
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.results.evaluation import Validation
from gi_cuda.runs.run import Run, open_run
from gi_cuda.upstream.steps import in_one, steps
from gi_cuda.upstream.submission import submit
from tests.sweeps import broad

Asked = list[tuple[list[Candidate], Candidate | None]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Record the candidates that were to be validated, and the one beside them."""
    seen: Asked = []
    validate = gi_cuda.runs.run.Run.validate

    def watched(
        run: Run, candidates: list[Candidate], beside: Candidate | None = None
    ) -> list[Validation]:
        seen.append((candidates, beside))
        return validate(run, candidates, beside)

    monkeypatch.setattr(gi_cuda.runs.run.Run, "validate", watched)
    return seen


@broad
def test_nothing_that_the_source_defines_comes_from_outside(finished: Any, asked: Asked) -> None:
    with open_run(finished.folder) as run:
        winner = choose_individual(run.store, run.subject, finished.folder, 1, as_found=True)
        winner = replace(winner, genotype=run.subject.read("BLOCK=128"))
        changed = winner.changes(run.subject)
        parts = in_one(steps(run.source, changed, changed.all))
        submission = submit(run, winner, parts, check=False)
        ((candidates, beside),) = asked
        assert beside == candidates[0]
        assert [one.macros for one in candidates] == [{}, {}]
        assert "#define BLOCK 64" in candidates[0].text
        assert "#define BLOCK 128" in candidates[1].text
        assert candidates[1].configuration["BLOCK"] == 128
        assert submission.defined == ()


def test_a_false_default_is_refused(finished: Any) -> None:
    with open_run(finished.folder) as run:
        parameters = [
            replace(p, default=32) if p.name == "BLOCK" else p for p in run.source.target.parameters
        ]
        target = replace(run.source.target, parameters=tuple(parameters))
        space = replace(run.source.space, parameters=tuple(parameters))
        subject = replace(run.source, target=target, space=space)
        run = replace(run, tools=replace(run.tools, subject=subject))
        winner = choose_individual(run.store, run.subject, finished.folder, 1, as_found=True)
        winner = replace(winner, genotype=subject.read("BLOCK=128"))
        changed = winner.changes(run.subject)
        parts = in_one(steps(run.source, changed, changed.all))
        with pytest.raises(UserError, match=r"of BLOCK is 32, but kernel\.cu:3 has 64"):
            submit(run, winner, parts, check=False)
