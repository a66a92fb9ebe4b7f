"""A whole run on PTX with the real compiler and a pretended GPU: smaller code takes less time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.analyze.finalists.finalists import select_winner
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS

from .pretended import evolve

SCALE = Path(__file__).parents[2] / "targets" / "scale"
SMALL = replace(SETTINGS, population=6, generations=2)

pytestmark = pytest.mark.usefixtures("toolkit", "gpu")


def test_a_run_on_ptx_is_searched_resumed_and_validated(tmp_path: Path) -> None:
    subject = open_subject(SCALE, "cuda", "ptx")
    plan = Plan("barracuda", SMALL, 1, 1, 2)
    with create_run(subject, tmp_path / "run", plan) as run:
        assert run.baseline.loops == {loop.ident: 16 for loop in subject.grammar.loops}
        evolve(run)
    with open_run(tmp_path / "run") as run:
        assert run.store.get("level") == run.subject.level == "ptx"
        before = len(run.store.evaluations())
        evolve(run.extended(3))
        evaluations = run.store.evaluations()
        assert len(evaluations) == before + SMALL.population
        assert any(one.outcome is Outcome.FASTER for one in evaluations.values())
        winner = select_winner(run)
        assert winner is not None
        genotype = run.subject.read(winner.genotype)
        assert run.subject.diff(genotype).startswith("--- a/kernel.ptx\n+++ b/kernel.ptx\n")
        with pytest.raises(UserError, match="evolves PTX"):
            _ = run.source
