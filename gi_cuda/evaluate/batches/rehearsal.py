"""Rehearsals: first runs of variants as confined code, often several variants in one text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gi_cuda.backends.protocol.programs import Sampling, Siblings
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.evaluate.batches.passes import Trial
from gi_cuda.evaluate.batches.schemata import Group, grouped
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.subject import Subject

MEMORY = 2048
"""Number of variants after which counts are halved, so that older variants count less."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Costs and savings of a rehearsal, in seconds.

    Attributes:
        death: saved for a variant that would crash or hang.
        extra: lost for a right variant.
        saved: saved for a wrong variant.
    """

    death: float
    extra: float
    saved: float = 0.0


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Settings of rehearsals.

    Attributes:
        compiler: compiler of confined code.
        sampling: settings of runs of confined code.
        siblings: sibling cases on which variants that look faster may rehearse too; empty if the
            reference is not right there.
        elsewhere: seconds that the reference takes on the sibling cases.
        subject: the subject whose variants rehearse.
        alone: costs and savings for a variant that is compiled by itself.
        together: costs and savings for a variant in a schema.
    """

    compiler: Compiler
    sampling: Sampling
    siblings: Siblings
    elsewhere: float
    subject: Subject
    alone: Balance
    together: Balance


@dataclass(frozen=True, slots=True)
class FirstRun:
    """The trials of a batch that rehearse.

    Attributes:
        how: settings of the rehearsals.
        groups: groups of trials that are compiled as one text.
    """

    how: Rehearsal
    groups: tuple[Group, ...]

    @property
    def actors(self) -> frozenset[int]:
        """The numbers of all trials that rehearse."""
        return frozenset(member for group in self.groups for member in group)


def of_all(how: Rehearsal, trials: Mapping[int, Trial], beside: int = 0) -> FirstRun:
    """Return a first run in which all trials rehearse.

    Args:
        beside: number of other trials at the same time.
    """
    return FirstRun(how, tuple(grouped(how.subject, trials, how.compiler, beside)))


@dataclass(slots=True)
class Tally:
    """Counts of results of similar variants.

    Attributes:
        right, wrong: number of right and wrong variants that compiled.
        harmful: number of variants that crashed or hung.
    """

    right: int = 0
    wrong: int = 0
    harmful: int = 0

    def enter(self, evaluation: Evaluation) -> None:
        """Count a variant."""
        self.right += evaluation.right
        self.wrong += evaluation.built and not evaluation.right
        self.harmful += evaluation.harmful
        if self.right + self.wrong >= MEMORY:
            self.right //= 2
            self.wrong //= 2
            self.harmful //= 2

    def favours(self, balance: Balance) -> bool:
        """Tell whether rehearsals of similar variants save at least as much as they cost.

        One right variant and one harmful variant are added to the counts, so that they are never
        empty.
        """
        saved = (self.harmful + 1) * balance.death + (self.wrong + 1) * balance.saved
        return (self.right + 1) * balance.extra <= saved


class Rehearsals:
    """Choice of the variants that rehearse: those for which a rehearsal saves more than it costs.

    A rehearsal saves the death of a worker if the variant would crash or hang, and, in a schema,
    the compilation of a wrong variant. It costs a second build and run of a right variant. Variants
    that change only the configuration are seldom wrong, so they are counted separately.
    """

    def __init__(self) -> None:
        self._tallies = {True: Tally(), False: Tally()}

    def enter(self, trial: Trial, evaluation: Evaluation) -> None:
        """Count the result of a variant, rehearsed or not."""
        self._tallies[bool(trial.edits)].enter(evaluation)

    def first_run(
        self, how: Rehearsal, trials: Mapping[int, Trial], beside: int
    ) -> FirstRun | None:
        """Return the trials that are to rehearse; None if there are none.

        Args:
            beside: number of other trials at the same time.
        """
        found = []
        for group in of_all(how, trials, beside).groups:
            edited = any(trials[member].edits for member in group)
            balance = how.together if len(group) > 1 else how.alone
            if self._tallies[edited].favours(balance):
                found.append(group)
        return FirstRun(how, tuple(found)) if found else None
