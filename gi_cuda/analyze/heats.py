"""Which of the best individuals are entered for validation, and in which order.

The best of a search mostly have one configuration, and which one that is may be a matter of the
train cases: where others have more threads or less data, another one may be a quarter faster. So
the best of several configurations are timed once more, on siblings of the held-out cases besides:
cases of their sizes with other data. The held-out ones themselves have no say in it. Those that are
all but the best on the train cases are mostly variations of it, where one value is another one that
does not matter; so the best are entered that there are with each value of each parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gi_cuda.analyze.repair import Finalist
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.results.evaluation import Evaluation, Validation
from gi_cuda.runs.run import Run
from gi_cuda.spec import Value

LEADERS: Final = 16
"""Configurations of which the best is entered, at most."""

_LOOKED_AT: Final = 1000
"""Configurations among which these are looked for."""

BEHIND: Final = 1.2
"""What takes so many times as long as the best one on the train cases is not entered."""


def leaders(run: Run) -> list[Finalist]:
    """The best with each value of each parameter, best first: those that are not far behind the
    best of all."""
    entered: list[Finalist] = []
    seen = set[tuple[str, Value]]()
    found = run.store.leaders(_LOOKED_AT)
    for one, evaluation in found:
        if not _is_close(evaluation, found[0][1]) or len(entered) == LEADERS:
            break
        genotype = run.subject.read(one.genotype)
        values = genotype.configuration.items()
        if not values <= seen:
            seen |= values
            entered.append((one.ident, genotype))
    return entered


def _is_close(one: Evaluation, best: Evaluation) -> bool:
    return one.rank is not None and best.rank is not None and one.rank <= BEHIND * best.rank


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
