"""Which of the best individuals are entered for validation, and in which order.

The best of a search mostly have one configuration, and which one that is may be a matter of the
train cases: where others have more threads or less data, another one may be a quarter faster. So
the best of several configurations are timed once more, on siblings of the held-out cases besides:
cases of their sizes with other data. The held-out ones themselves have no say in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gi_cuda.analyze.repair import Finalist
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.results.evaluation import Validation
from gi_cuda.runs.run import Run

LEADERS: Final = 8
"""Configurations of which the best is entered."""

BEHIND: Final = 1.2
"""What takes so many times as long as the best one on the train cases is not entered."""


def leaders(run: Run) -> list[Finalist]:
    """The best of each configuration, best first: those that are not far behind the best of all."""
    found = run.store.leaders(LEADERS)
    ranks = [evaluation.rank for _, evaluation in found]
    return [
        (one.ident, run.subject.read(one.genotype))
        for (one, _), rank in zip(found, ranks, strict=True)
        if rank is not None and ranks[0] is not None and rank <= BEHIND * ranks[0]
    ]


def ordered(run: Run, entered: Sequence[Finalist]) -> list[Finalist]:
    """Finalists by their times on the train cases and on siblings of the held-out ones, the fastest
    first; what is wrong there comes last.

    They stay as they are where all have one configuration, where there are no siblings, and where
    machines of other kinds have a say, which know nothing of these.
    """
    one = len({genotype.configuration for _, genotype in entered}) < 2
    if one or not run.baseline.siblings or run.others is not None:
        return list(entered)
    times = run.heats([candidate(run.subject, genotype) for _, genotype in entered])
    order = sorted(range(len(entered)), key=lambda at: (_time(times[at]), at))
    return [entered[at] for at in order]


def _time(heat: Validation) -> float:
    return 1 / heat.overall.value if heat.overall else float("inf")
