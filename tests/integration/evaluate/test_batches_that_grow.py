"""Individuals that come while others are compiled and measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from threading import Event
from typing import Any, ClassVar

import pytest

from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.evaluate import evaluator
from gi_cuda.evaluate.batches import passes
from gi_cuda.evaluate.batches.batch import Batch
from gi_cuda.evaluate.batches.experience.likely_right import LikelyRight
from gi_cuda.evaluate.batches.passes import Pass, Record, Trial
from gi_cuda.evaluate.evaluator import Evaluator
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.runs.tools import Tools
from gi_cuda.search.adaptive.parts import singles
from gi_cuda.search.strategies.barracuda import PRESET, SETTINGS
from gi_cuda.subject import Subject
from tests.sweeps import sweep

COHORT = 4


@pytest.fixture(scope="module")
def run(scale: Subject, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run that is made and not searched; evaluators of it store nothing."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    with create_run(scale, folder, Plan("barracuda", SETTINGS, 1, 2, 2)) as made:
        yield made


class Apart(HostCompiler):
    """A host compiler as if it took no processor from what is timed, as where that is a GPU."""

    disturbs: ClassVar[bool] = False


def apart(tools: Tools) -> Tools:
    compiler = tools.uncached
    assert isinstance(compiler, HostCompiler)
    same = Apart(**{one.name: getattr(compiler, one.name) for one in fields(compiler) if one.init})
    return replace(tools, compiler=same, uncached=same)


def evaluated(
    own: Evaluator, cohorts: Sequence[Mapping[int, Genotype]], found: dict[int, Outcome]
) -> None:
    """Evaluate cohorts, each of which comes when the one before is half done."""
    first, *rest = cohorts

    def more() -> Mapping[int, Trial]:
        half = COHORT * (len(cohorts) - len(rest)) - COHORT // 2
        return own.prepare(rest.pop(0)) if rest and len(found) >= half else {}

    for ident, one in own.evaluate(own.prepare(first), more=more):
        assert ident not in found
        found[ident] = one.outcome
    assert not rest


def untimed(outcome: Outcome) -> Outcome | None:
    """Return an outcome if it does not depend on times, else None."""
    timed = (Outcome.FASTER, Outcome.SAME, Outcome.SLOWER, Outcome.UNCERTAIN)
    return None if outcome in timed else outcome


@pytest.mark.parametrize("overlapping", sweep([True, False], True))
def test_what_comes_meanwhile_is_evaluated_like_all_else_and_leaves_nothing_behind(
    overlapping: bool, scale: Subject, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = dict(enumerate(singles(PRESET.vary(scale))[: 3 * COHORT], start=1))
    cohorts = [dict(list(some.items())[at : at + COHORT]) for at in range(0, 3 * COHORT, COHORT)]
    found: dict[int, Outcome] = {}
    alone: dict[int, Outcome] = {}
    idle: dict[int, bool] = {}
    batches: list[Batch] = []
    build, swept = Pass.build, set[Path]()

    def watched(self: Pass, idents: Sequence[int]) -> None:
        idle.update({ident: self.idle for ident in idents if ident not in idle})
        build(self, idents)

    class Watched(Batch):
        def run(self, *how: Any, **named: Any) -> Generator[Record, None, None]:
            batches.append(self)
            return super().run(*how, **named)

    for cohort in cohorts:
        evaluated(run.evaluator(), [cohort], alone)
    monkeypatch.setattr(Pass, "build", watched)
    monkeypatch.setattr(evaluator, "Batch", Watched)
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
    if overlapping:
        assert len(batches) == 1, "the first were under way when the next came"
    else:
        assert len(batches) == len(cohorts)
        assert all(idle[one] for one in cohorts[1]), "what disturbs what is timed is over first"


def test_it_goes_on_whatever_its_caller_does(
    scale: Subject, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search breeds meanwhile, which may take it as long as measuring does."""
    some = dict(enumerate(singles(PRESET.vary(scale))[:COHORT], start=1))
    over, left = Event(), set(some)
    forget = Batch._forget

    def forgotten(self: Batch, ident: int) -> None:
        forget(self, ident)
        left.discard(ident)
        if not left:
            over.set()

    monkeypatch.setattr(Batch, "_forget", forgotten)
    own = run.evaluator()
    records = own.evaluate(own.prepare(some))
    first, _ = next(records)
    assert over.wait(60.0), "the others are measured before they are asked for"
    assert {first, *(ident for ident, _ in records)} == set(some)


@pytest.mark.parametrize(("idle", "together"), [(2, 1), (0, 2)])
def test_what_was_right_is_built_at_once_where_compilers_have_nothing_to_do(
    idle: int, together: int, scale: Subject, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else so many at a time that it is worth starting them."""
    some = dict(enumerate(singles(PRESET.vary(scale))[COHORT:], start=1))
    sizes: list[tuple[int, bool]] = []
    build = Pass.build

    def watched(self: Pass, idents: Sequence[int]) -> None:
        timed, last = self.sampling.most > 0, False
        if timed:
            last = rehearsing[0].idle if rehearsing else False
            sizes.append((len(idents), last))
        else:
            rehearsing.append(self)
        build(self, idents)

    rehearsing: list[Pass] = []
    monkeypatch.setattr(Apart, "idle", property(lambda self: idle))
    monkeypatch.setattr(Pass, "unbuilt", property(lambda self: 0))
    monkeypatch.setattr(Pass, "build", watched)
    own = replace(run, tools=apart(run.tools)).evaluator()
    records = dict(own.evaluate(own.prepare(some)))
    assert len(records) == len(some)
    built = [size for size, last in sizes if size and not last]
    assert all(size >= together for size in built)
    if idle:
        assert min(built) < 2 * 2, "as few as there are"


def test_what_is_built_ahead_becomes_of_individuals_what_becomes_of_them_else(
    scale: Subject, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where all are taken to be right in the end, and many are not."""
    some = dict(enumerate(singles(PRESET.vary(scale)), start=1))
    ahead: list[int] = []
    timed: Counter[int] = Counter()
    build, build_ahead = Pass.build, Pass.build_ahead

    def watched(self: Pass, idents: Sequence[int]) -> None:
        if self.sampling.most > 0:
            timed.update(idents)
        build(self, idents)

    def watched_ahead(self: Pass, idents: Sequence[int]) -> None:
        ahead.extend(idents)
        build_ahead(self, idents)

    own = replace(run, tools=apart(run.tools))
    evaluator = own.evaluator()
    alone = dict(evaluator.evaluate(evaluator.prepare(some)))
    monkeypatch.setattr(Pass, "build", watched)
    monkeypatch.setattr(Pass, "build_ahead", watched_ahead)
    monkeypatch.setattr(Apart, "idle", property(lambda self: 2))
    monkeypatch.setattr(Pass, "unbuilt", property(lambda self: 0))
    monkeypatch.setattr(LikelyRight, "is_right", lambda self, edits: True)
    evaluator = own.evaluator()
    found = dict(evaluator.evaluate(evaluator.prepare(some)))
    assert {i: untimed(one.outcome) for i, one in found.items()} == {
        i: untimed(one.outcome) for i, one in alone.items()
    }
    right = {ident for ident, one in found.items() if one.right}
    assert right.intersection(ahead)
    assert set(ahead) - right, "some were built for nothing"
    assert max(timed.values()) == 1, "what was built ahead is not built again"
