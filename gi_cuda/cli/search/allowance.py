"""The time limit of a command, and its parts for search and validation."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

import typer

from gi_cuda.backends.table import backend_named
from gi_cuda.cli.options import read_time

TimeLimit: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--time",
        parser=read_time,
        metavar="TIME",
        help="Time in all for baseline, search and validation, e.g. 40s, 10m, 1h.",
        show_default="5m on a CPU, 10m on a GPU; none with --generations",
    ),
]

USUAL = {False: 300.0, True: 600.0}
"""Default time of a search in seconds, on a CPU and on a GPU."""


def time_for(seconds: float | None, generations: int | None, backend: str) -> float | None:
    """Return the time limit of a command in seconds; None if generations end the search.

    Args:
        seconds: value of ``--time``; None if not given.
        generations: value of ``--generations``; None if not given.
    """
    if seconds is not None or generations is not None:
        return seconds
    return USUAL[backend_named(backend).gpu]


VALIDATIONS = 5.0
"""Expected time of validation as a multiple of the baseline's. Measured: 2 to 14 on an H200 with 16
cores, with a median of 5; 3 to 7 on two cores without a GPU."""

ON_GPUS = 20.0
"""Lower bound of that time on a GPU, in seconds, since race detection opens the device for each
run. In six searches of 60 s on an H200 with 16 cores no validation had ended after 20 to 31 s, when
the time was up."""

LEAST = 1 / 2
"""Smallest share of the time for the search itself, however long the rest takes."""

OVER, MOST_OVER = 0.2, 30.0
"""Tolerated excess of the total time: a share of it, and a limit in seconds."""

VALIDATING = 5.0
"""Lower bound of the time limit of validation, in seconds."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The time budget of a command.

    Attributes:
        seconds: total time; None for no limit.
        begun: start on the monotonic clock.
    """

    seconds: float | None
    begun: float = field(default_factory=clock.monotonic)

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return clock.monotonic() - self.begun

    def for_search(self, spent: float, baseline: float, *, gpu: bool = False) -> float | None:
        """Return the seconds for the search, such that its best can be validated; None for no
        limit.

        Args:
            spent: seconds before the search begins.
            baseline: seconds that the run's baseline took, now or when the run began.
            gpu: whether the run is on a GPU.
        """
        if self.seconds is None:
            return None
        rest = max(VALIDATIONS * baseline, ON_GPUS if gpu else 0.0)
        wanted = max(self.seconds - spent - rest, LEAST * self.seconds)
        return max(0.0, min(wanted, longest(self.seconds) - spent))

    def without_validation(self, spent: float) -> float:
        """Return the seconds for a search that finds nothing to validate.

        Args:
            spent: seconds before the search begins.
        """
        return max(0.0, (self.seconds or 0.0) - spent)

    @property
    def for_validation(self) -> float | None:
        """Seconds that are left for validation; None for no limit."""
        if self.seconds is None:
            return None
        return max(VALIDATING, longest(self.seconds) - self.spent)


def longest(seconds: float) -> float:
    """Return the largest total time of a command with a time limit, in seconds."""
    return seconds + min(OVER * seconds, MOST_OVER)
