"""First runs of variants, in schemata and in code that does no harm: which of them have one."""

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
"""Variants after which the earlier ones count half."""


@dataclass(frozen=True, slots=True)
class Balance:
    """What a rehearsal takes and gives, in seconds.

    Attributes:
        death: that it saves for what would do harm.
        extra: that it costs for what is right.
        saved: that it saves for what is wrong.
    """

    death: float
    extra: float
    saved: float = 0.0


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How variants run before they may run as they are.

    Attributes:
        compiler: of those that a compiler has for what runs first.
        sampling: how its code is run.
        siblings: where what looks faster afterwards may rehearse as well; nowhere, if the reference
            is not right there.
        elsewhere: seconds that the reference takes for that.
        subject: whose variants they are.
        alone: what that costs and saves for a variant by itself.
        together: the same for one that is in a schema.
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
    """Which trials of a batch rehearse, and how.

    Attributes:
        how: all do.
        groups: those that do so in one text.
    """

    how: Rehearsal
    groups: tuple[Group, ...]

    @property
    def actors(self) -> frozenset[int]:
        """The numbers of all of them."""
        return frozenset(member for group in self.groups for member in group)


def of_all(how: Rehearsal, trials: Mapping[int, Trial], beside: int = 0) -> FirstRun:
    """All of some trials rehearse.

    Args:
        beside: other trials that there are at the same time.
    """
    return FirstRun(how, tuple(grouped(how.subject, trials, how.compiler, beside)))


@dataclass(slots=True)
class Tally:
    """What became of variants of one sort.

    Attributes:
        right, wrong: how many were; those that did not compile are neither.
        harmful: how many of those that were wrong crashed or hung.
    """

    right: int = 0
    wrong: int = 0
    harmful: int = 0

    def enter(self, evaluation: Evaluation) -> None:
        """One more."""
        self.right += evaluation.right
        self.wrong += evaluation.built and not evaluation.right
        self.harmful += evaluation.harmful
        if self.right + self.wrong >= MEMORY:
            self.right //= 2
            self.wrong //= 2
            self.harmful //= 2

    def favours(self, balance: Balance) -> bool:
        """Whether rehearsals of such variants save more than they cost, as if there had been one
        more that was right and one more that did harm."""
        saved = (self.harmful + 1) * balance.death + (self.wrong + 1) * balance.saved
        return (self.right + 1) * balance.extra <= saved


class Rehearsals:
    """Which variants rehearse: those for whose like that saves more than it costs.

    What it saves is the deaths of those that would crash or hang and, in schemata, to compile those
    that are wrong; what it costs is to build and run twice what is right. Variants whose code is
    the reference's, in another configuration, are seldom wrong; so they are judged by themselves.
    """

    def __init__(self) -> None:
        self._tallies = {True: Tally(), False: Tally()}

    def enter(self, trial: Trial, evaluation: Evaluation) -> None:
        """What became of a variant, rehearsed or not."""
        self._tallies[bool(trial.edits)].enter(evaluation)

    def first_run(
        self, how: Rehearsal, trials: Mapping[int, Trial], beside: int
    ) -> FirstRun | None:
        """Those of some trials that are to rehearse, if there are any.

        Args:
            beside: other trials that there are at the same time.
        """
        found = []
        for group in of_all(how, trials, beside).groups:
            edited = any(trials[member].edits for member in group)
            balance = how.together if len(group) > 1 else how.alone
            if self._tallies[edited].favours(balance):
                found.append(group)
        return FirstRun(how, tuple(found)) if found else None
