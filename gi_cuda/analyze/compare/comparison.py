"""Measure contestants in one batch and one session, on train and held-out cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.analyze.compare.contestants import Contestant
from gi_cuda.analyze.stored.resources import resources
from gi_cuda.analyze.stored.searches import Searches, compare_searches
from gi_cuda.evaluate.reference.baseline import Baseline, in_silence
from gi_cuda.evaluate.replicates import THOROUGH, Replicates
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling
from gi_cuda.results.speed_up import Reading, SpeedUp, speed_up
from gi_cuda.results.verdict import Verdict, noise_floor_beside, verdict_on_builds
from gi_cuda.runs.tools import Tools


@dataclass(frozen=True, slots=True)
class Compared:
    """Result of a contestant.

    Attributes:
        contestant: the contestant.
        failure: reason why the contestant is of no use; "" if its answers were right every time.
        verdict: verdict on its speed on all cases; uncertain if it is unverified, None if it
            failed.
        train, held_out: speed-up over the reference on the cases of each role; None if it failed.
        resources: resources of its compiled kernels, if the back end gives them.
        findings: all objections to it. With only objections that do not make it fail, it is
            unverified.
    """

    contestant: Contestant
    failure: str
    verdict: Verdict | None
    train: SpeedUp | None
    held_out: SpeedUp | None
    resources: Mapping[str, int]
    findings: tuple[Objection, ...] = ()

    @property
    def outcome(self) -> str:
        """The result in a word or two."""
        if self.verdict is None:
            return self.failure.partition(":")[0]
        return str(Ruling.UNVERIFIED if self.findings else self.verdict)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Results of all contestants.

    Attributes:
        noise: speed-up of a copy of the reference, on all cases.
        floor: noise floor, as a fraction; smaller differences count as the same.
        results: results, in the order of the contestants.
        notes: description of further inputs on which answers were checked.
    """

    noise: SpeedUp
    floor: float
    results: tuple[Compared, ...]
    notes: tuple[str, ...] = ()

    @property
    def searches(self) -> Searches | None:
        """Comparison of kinds of search, by the winners of runs among the contestants.

        None if all runs are of one kind. A winner that failed here has speed-up 1.
        """
        found = [
            (search.kind, one.contestant.name, one.held_out.value if one.held_out else 1.0)
            for one in self.results
            if (search := one.contestant.search) and one.contestant.winner
        ]
        return compare_searches(found) if len({kind for kind, *_ in found}) > 1 else None


def compare(
    tools: Tools,
    contestants: Sequence[Contestant],
    baseline: Baseline,
    tell: Callable[[str], None] = in_silence,
) -> Comparison:
    """Measure contestants and a copy of the reference beside the reference.

    Sources are compiled in several builds; a contestant that is a binary is measured as often. Each
    build runs in fresh processes, with launches of contestant and reference in turn.

    Args:
        tools: the tools of the target.
        contestants: the contestants.
        baseline: measurements of the reference.
        tell: callback that receives progress messages.
    """
    replicates = Replicates(
        tools.subject,
        tools.compiler,
        tools.pool,
        tools.scratch("compared"),
        (*tools.train(), *tools.held_out()),
        baseline.limit,
        schedules=baseline.schedules,
        repeats=THOROUGH,
        fresh=True,
        tell=tell,
    )
    candidates = [one.candidate for one in contestants if one.refusal is None]
    original, *replicated = replicates.read([replicates.reference(), *candidates])
    if not original.right:
        raise RuntimeError(f"a copy of the reference fails: {original.failure}")
    noise = speed_up(original.builds)
    floor = noise_floor_beside(baseline.floor, noise)
    tell("asking for other inputs, watching for races, and reading what kernels take")
    taken = resources(tools, candidates)
    findings = [
        tuple(tools.certification.findings(one)) if reading.right else ()
        for one, reading in zip(candidates, replicated, strict=True)
    ]
    readings = [judged(reading, found) for reading, found in zip(replicated, findings, strict=True)]
    found = iter(zip(readings, taken, findings, strict=True))
    return Comparison(
        noise,
        floor,
        tuple(
            _refused(one, f"{one.refusal.status}: {one.refusal}")
            if one.refusal
            else _compared(tools, one, *next(found), floor)
            for one in contestants
        ),
        tuple(tools.certification.notes) if any(one.right for one in replicated) else (),
    )


def _refused(one: Contestant, why: str) -> Compared:
    return Compared(one, why, None, None, None, {})


def _compared(
    tools: Tools,
    one: Contestant,
    reading: Reading,
    takes: Mapping[str, int],
    findings: tuple[Objection, ...],
    floor: float,
) -> Compared:
    return Compared(
        one,
        reading.failure,
        verdict(reading, findings, floor),
        _on(reading, tools.train()),
        _on(reading, tools.held_out()),
        takes,
        findings,
    )


def verdict(reading: Reading, findings: Sequence[Objection], floor: float) -> Verdict | None:
    """Return the verdict on a contestant's speed; None if it failed, uncertain if unverified."""
    if not reading.right:
        return None
    return Verdict.UNCERTAIN if findings else verdict_on_builds(reading.builds, floor)


def judged(reading: Reading, findings: Sequence[Objection]) -> Reading:
    """Return the reading, or a failed reading if an objection makes the contestant fail."""
    said = next((found.said for found in findings if found.fails), "")
    return Reading(failure=said) if said else reading


def _on(reading: Reading, cases: Collection[str]) -> SpeedUp | None:
    """Return the speed-up on some of the cases; None if the contestant failed."""
    if not reading.right:
        return None
    return speed_up([[one for one in build if one.case in cases] for build in reading.builds])
