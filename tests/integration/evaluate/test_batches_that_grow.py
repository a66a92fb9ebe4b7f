"""Individuals that come while others are compiled and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import ClassVar

import pytest

from gi_cuda.backends.host.compiler import HostCompiler
from gi_cuda.evaluate import passes
from gi_cuda.evaluate.evaluator import Evaluator
from gi_cuda.evaluate.passes import Pass, Trial
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.runs.tools import Tools
from gi_cuda.search.adaptive.parts import singles
from gi_cuda.search.strategies.barracuda import PRESET, SETTINGS
from gi_cuda.subject import Subject

COHORT = 4


class Apart(HostCompiler):
    """A host compiler as if it took no processor from what is timed, as where that is a GPU."""

    disturbs: ClassVar[bool] = False


def apart(tools: Tools) -> Tools:
    compiler = tools.uncached
    assert isinstance(compiler, HostCompiler)
    same = Apart(**{one.name: getattr(compiler, one.name) for one in fields(compiler) if one.init})
    return replace(tools, compiler=same, uncached=same)


def evaluated(
    evaluator: Evaluator, cohorts: Sequence[Mapping[int, Genotype]], found: dict[int, Outcome]
) -> None:
    """Evaluate cohorts, each of which comes when the one before is half done."""
    first, *rest = cohorts

    def more() -> Mapping[int, Trial]:
        half = COHORT * (len(cohorts) - len(rest)) - COHORT // 2
        return evaluator.prepare(rest.pop(0)) if rest and len(found) >= half else {}

    for ident, one in evaluator.evaluate(evaluator.prepare(first), more=more):
        assert ident not in found
        found[ident] = one.outcome
    assert not rest


def untimed(outcome: Outcome) -> Outcome | None:
    """What does not depend on times."""
    timed = (Outcome.FASTER, Outcome.SAME, Outcome.SLOWER, Outcome.UNCERTAIN)
    return None if outcome in timed else outcome


@pytest.mark.parametrize("overlapping", [True, False])
def test_what_comes_meanwhile_is_evaluated_like_all_else_and_leaves_nothing_behind(
    overlapping: bool, scale: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = dict(enumerate(singles(PRESET.vary(scale))[: 3 * COHORT], start=1))
    cohorts = [dict(list(some.items())[at : at + COHORT]) for at in range(0, 3 * COHORT, COHORT)]
    found: dict[int, Outcome] = {}
    alone: dict[int, Outcome] = {}
    begun: dict[int, tuple[int, bool]] = {}
    build, swept = Pass.build, set[Path]()

    def watched(self: Pass, idents: Sequence[int]) -> None:
        state = len(found), self.idle
        begun.update({ident: state for ident in idents if ident not in begun})
        build(self, idents)

    with create_run(scale, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 2, 2)) as run:
        for cohort in cohorts:
            evaluated(run.evaluator(), [cohort], alone)
        monkeypatch.setattr(Pass, "build", watched)
        monkeypatch.setattr(passes, "sweep", swept.add)
        tools = apart(run.tools) if overlapping else run.tools
        evaluated(replace(run, tools=tools).evaluator(), cohorts, found)
        own = {path for path in swept if path.parent.parent.name == "batch"}
        made = {path for folder in own for path in folder.iterdir()}
    assert set(found) == set(some)
    assert {i: untimed(one) for i, one in found.items()} == {
        i: untimed(one) for i, one in alone.items()
    }
    assert own
    assert made >= {one / "0" for one in own}
    assert swept >= made - {one / "0" for one in own}
    assert swept.isdisjoint({one / "0" for one in own}), "what holds the reference is needed"
    counts, idle = zip(*(begun[ident] for ident in cohorts[1]), strict=True)
    if overlapping:
        assert max(counts) < COHORT, "the first were under way when the next were compiled"
    else:
        assert all(idle), "where compiling disturbs what is timed, that is over first"
