"""Choose and order the individuals of different configurations that are validated.

The best individuals of a search mostly share one configuration, which may suit only the train
cases. With more threads or less data, another configuration may be a quarter faster. So the best
individuals of several configurations are timed again, also on siblings of the held-out cases: cases
of the same sizes with other data. The held-out cases themselves are not used. The runners-up are
mostly variations of the best one with another value of an irrelevant parameter. So the best
individual with each value of each parameter is included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gi_cuda.analyze.finalists.repair import Finalist
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.results.evaluation import Evaluation, Validation
from gi_cuda.runs.run import Run
from gi_cuda.spec import Value

LEADERS: Final = 16
"""Largest number of configurations whose best individual is included."""

_LOOKED_AT: Final = 1000
"""Number of configurations to choose from."""

BEHIND: Final = 1.2
"""Largest time on the train cases, as a multiple of the best individual's, of those included."""


def leaders(run: Run) -> list[Finalist]:
    """Return the best individual with each value of each parameter, best first.

    Individuals that are far behind the best one (`BEHIND`) are left out.
    """
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
    """Sort finalists by their times on the train cases and on siblings of the held-out cases.

    Wrong ones come last. The order is unchanged if all have one configuration, if there are no
    siblings, or if the run uses other kinds of machines, which do not have the siblings.
    """
    one = len({genotype.configuration for _, genotype in entered}) < 2
    if one or not run.baseline.siblings or run.others is not None:
        return list(entered)
    times = run.heats([candidate(run.subject, genotype) for _, genotype in entered])
    order = sorted(range(len(entered)), key=lambda at: (_time(times[at]), at))
    return [entered[at] for at in order]


def _time(heat: Validation) -> float:
    return 1 / heat.overall.value if heat.overall else float("inf")
