"""Contestants side by side: one batch, one session, on train and held-out cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.analyze.compare.contestants import Contestant
from gi_cuda.analyze.resources import resources
from gi_cuda.analyze.searches import Searches, compare_searches
from gi_cuda.evaluate.baseline import Baseline, in_silence
from gi_cuda.evaluate.replicates import THOROUGH, Replicates
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling
from gi_cuda.results.speed_up import Reading, SpeedUp, speed_up
from gi_cuda.results.verdict import Verdict, noise_floor_beside, verdict_on_builds
from gi_cuda.runs.tools import Tools


@dataclass(frozen=True, slots=True)
class Compared:
    """How a contestant did.

    Attributes:
        contestant: who.
        failure: why it is of no use; "" where its answers were right every time.
        verdict: its speed on all cases; uncertain where it is unverified, None where it failed.
        train, held_out: its speed-up over the reference; None where it failed.
        resources: what its compiled kernels take, where the back end knows.
        findings: all objections to it; those that do not fail it leave it unverified.
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
        """What became of it, in a word or two."""
        if self.verdict is None:
            return self.failure.partition(":")[0]
        return str(Ruling.UNVERIFIED if self.findings else self.verdict)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of all contestants.

    Attributes:
        noise: a copy of the reference beside the reference, on all cases.
        floor: the noise floor, as a fraction: what lies within counts as the same.
        results: in the order in which the contestants were given.
        notes: what their answers were held against besides the cases.
    """

    noise: SpeedUp
    floor: float
    results: tuple[Compared, ...]
    notes: tuple[str, ...] = ()

    @property
    def searches(self) -> Searches | None:
        """Which way to search found more, by the winners that take part; None where these are all
        of one kind. One that failed here is worth as much as the reference."""
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

    Sources are compiled in several builds; what comes as a binary is that binary as often. Each is
    run in processes that ran nothing before, launches of contestant and reference in turn.

    Args:
        tell: is told what is done next.
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
    """Return the verdict on a contestant's speed; None if it failed. An unverified one has none
    that is certain."""
    if not reading.right:
        return None
    return Verdict.UNCERTAIN if findings else verdict_on_builds(reading.builds, floor)


def judged(reading: Reading, findings: Sequence[Objection]) -> Reading:
    """A reading; a failure where there is an objection that fails."""
    said = next((found.said for found in findings if found.fails), "")
    return Reading(failure=said) if said else reading


def _on(reading: Reading, cases: Collection[str]) -> SpeedUp | None:
    """The speed-up on some of the cases."""
    if not reading.right:
        return None
    return speed_up([[one for one in build if one.case in cases] for build in reading.builds])
