"""Contestants side by side: one batch, one session, on train and held-out cases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.analyze.contestants import Contestant
from gi_cuda.analyze.reading import Reading, SpeedUp, speed_up
from gi_cuda.analyze.replicates import Replicates, in_fresh_processes
from gi_cuda.analyze.resources import resources
from gi_cuda.run import Tools


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a contestant.

    Attributes:
        contestant: who.
        failure: why it is of no use; "" where its answers were right every time.
        train, held_out: its speed-up over the reference; None where it failed.
        resources: what its compiled kernels take, where the back end knows.
    """

    contestant: Contestant
    failure: str
    train: SpeedUp | None
    held_out: SpeedUp | None
    resources: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of them.

    Attributes:
        noise: a copy of the reference beside the reference, on all cases.
        results: in the order in which the contestants were given.
    """

    noise: SpeedUp
    results: tuple[Result, ...]


def compare(tools: Tools, contestants: Sequence[Contestant], limit: float) -> Comparison:
    """Measure contestants and a copy of the reference beside the reference.

    All are compiled in one batch, in several builds; each is run in processes that ran nothing
    before, launches of contestant and reference in turn.

    Args:
        limit: seconds after which a launch counts as hung.
    """
    replicates = Replicates(
        tools.subject,
        tools.compiler,
        tools.pool,
        in_fresh_processes(tools.pool),
        tools.scratch("compared"),
        (*tools.train(), *tools.held_out()),
        limit,
    )
    candidates = [one.candidate for one in contestants]
    original, *readings = replicates.read([replicates.reference(), *candidates])
    if not original.right:
        raise RuntimeError(f"a copy of the reference fails: {original.failure}")
    taken = resources(tools, candidates)
    return Comparison(
        original.speed_up,
        tuple(
            Result(
                one,
                reading.failure,
                _on(reading, tools.train()),
                _on(reading, tools.held_out()),
                takes,
            )
            for one, reading, takes in zip(contestants, readings, taken, strict=True)
        ),
    )


def _on(reading: Reading, cases: Collection[str]) -> SpeedUp | None:
    """The speed-up on some of the cases."""
    if not reading.right:
        return None
    return speed_up([[one for one in build if one.case in cases] for build in reading.builds])
