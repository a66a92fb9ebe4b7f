"""What became of a whole application with a patch: whether it is right, and how fast it is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gi_cuda.results.measurement import Sample
from gi_cuda.results.speed_up import SpeedUp, speed_up
from gi_cuda.results.verdict import is_slower

WIDE = 2.0
"""Ratio of an interval's ends above which it is not shown: a few pairs of runs that differ much
give one from 0 to hundreds."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long something took in pairs of runs, before and after a patch.

    Attributes:
        speed_up: each pair of runs counts as what one process of each shows.
        before, after: medians, in the unit in which they were measured.
    """

    speed_up: SpeedUp
    before: float
    after: float


def timing(pairs: Sequence[tuple[float, float]]) -> Timing:
    """Sum up pairs of times, before and after a patch; one pair alone gives no interval."""
    before, after = ([pair[at] for pair in pairs] for at in (0, 1))
    builds = [[Sample("application", variant, reference)] for reference, variant in pairs]
    worth = speed_up(builds)
    if len(pairs) == 1:
        worth = SpeedUp(worth.value, 0.0, math.inf)
    return Timing(worth, statistics.median(before), statistics.median(after))


def _in_words(worth: SpeedUp) -> str:
    """A speed-up with its interval, unless that says nothing."""
    if worth.high <= WIDE * worth.low:
        return f"speed-up {worth}"
    return f"speed-up {worth.value:.2f}, which so few runs do not tell for certain"


@dataclass(frozen=True, slots=True)
class ApplicationResult:
    """What became of an application with a patch.

    Attributes:
        run: the command that was timed.
        wrong: what is wrong with it; "" where nothing is.
        judged: by what it was found right, in words.
        pairs: so many runs of it as it is and with the patch, in turn, were timed.
        program: the whole program's time, seconds.
        kernel: the kernel's time as the program prints it, in its unit; None where nobody said how
            to find it.
    """

    run: str
    wrong: str = ""
    judged: str = ""
    pairs: int = 0
    program: Timing | None = None
    kernel: Timing | None = None

    @property
    def fault(self) -> str:
        """Why no patch of this is to go upstream; "" where nothing speaks against it."""
        if self.wrong:
            return self.wrong
        for what, taken in (("the whole program", self.program), ("the kernel in it", self.kernel)):
            if taken is not None and is_slower(taken.speed_up):
                return f"{what} is slower with the patch: speed-up {taken.speed_up}"
        return ""

    def lines(self) -> Iterator[str]:
        """What it is worth, line by line."""
        command, judged = (" ".join(text.split()) for text in (self.run, self.judged))
        yield f"application: built, run and right with the patch: {judged}"
        if self.program is not None:
            noun = "pair" if self.pairs == 1 else "pairs"
            yield (
                f"application, whole program: {_in_words(self.program.speed_up)}"
                f" ({self.program.before:.3g} s before, {self.program.after:.3g} s after;"
                f" {self.pairs} {noun} of runs in turn of `{command}`)"
            )
        if self.kernel is not None:
            yield (
                f"application, kernel's time as it prints it: {_in_words(self.kernel.speed_up)}"
                f" ({self.kernel.before:.4g} before, {self.kernel.after:.4g} after)"
            )
