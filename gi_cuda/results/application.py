"""Result of testing and timing a whole application with a patch applied."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gi_cuda.results.measurement import Sample
from gi_cuda.results.speed_up import SpeedUp, speed_up
from gi_cuda.results.verdict import is_slower

WIDE = 2.0
"""Largest ratio of an interval's ends (high / low) at which the interval is shown. A few pairs of
runs that differ much give an interval from 0 to hundreds, which says nothing."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Times from pairs of runs, before and after a patch.

    Attributes:
        speed_up: speed-up over all pairs; each pair counts as one build and process.
        before, after: median times, in the unit in which they were measured.
    """

    speed_up: SpeedUp
    before: float
    after: float


def timing(pairs: Sequence[tuple[float, float]]) -> Timing:
    """Summarize pairs of times (before the patch, after the patch).

    A single pair gives the interval from 0 to infinity.
    """
    before, after = ([pair[at] for pair in pairs] for at in (0, 1))
    builds = [[Sample("application", variant, reference)] for reference, variant in pairs]
    worth = speed_up(builds)
    if len(pairs) == 1:
        worth = SpeedUp(worth.value, 0.0, math.inf)
    return Timing(worth, statistics.median(before), statistics.median(after))


def _in_words(worth: SpeedUp) -> str:
    """Return a speed-up in words, with its interval unless the interval is too wide (`WIDE`)."""
    if worth.high <= WIDE * worth.low:
        return f"speed-up {worth}"
    return f"speed-up {worth.value:.2f}, which so few runs do not tell for certain"


@dataclass(frozen=True, slots=True)
class ApplicationResult:
    """Result of building, testing and timing an application with a patch.

    Attributes:
        run: the command that was timed.
        wrong: error message if the patched application is wrong; "" otherwise.
        judged: description of the check that the patched application passed.
        pairs: number of timed pairs of runs, original and patched in turn.
        program: the whole program's time, seconds.
        kernel: the kernel's time as the program prints it, in the program's unit; None if the
            target does not say how to find it in the output.
    """

    run: str
    wrong: str = ""
    judged: str = ""
    pairs: int = 0
    program: Timing | None = None
    kernel: Timing | None = None

    @property
    def fault(self) -> str:
        """Reason not to submit the patch upstream; "" if there is none."""
        if self.wrong:
            return self.wrong
        for what, taken in (("the whole program", self.program), ("the kernel in it", self.kernel)):
            if taken is not None and is_slower(taken.speed_up):
                return f"{what} is slower with the patch: speed-up {taken.speed_up}"
        return ""

    def lines(self) -> Iterator[str]:
        """Yield the result as lines of text: correctness, program time, kernel time."""
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
