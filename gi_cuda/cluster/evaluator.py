"""An evaluator whose individuals are evaluated by the workers of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from gi_cuda.cluster.meeting import Meeting
from gi_cuda.cluster.members import Members
from gi_cuda.cluster.package import package_of
from gi_cuda.cluster.replica import replica
from gi_cuda.evaluate.batches.batch import STOP_ASKED
from gi_cuda.evaluate.batches.passes import Record, Trial
from gi_cuda.genome import Genotype
from gi_cuda.results.generation import Phases
from gi_cuda.runs.run import Run


class Prepares(Protocol):
    """What makes individuals ready on the search's own machine."""

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        """See :meth:`gi_cuda.evaluate.evaluator.Evaluator.prepare`."""

    def take_phases(self) -> Phases:
        """Wall time spent since the last call, by phase."""


class Others(Protocol):
    """Who does what they are given, each piece of which has a number of its own."""

    def give(self, work: Mapping[int, Any]) -> None:
        """Have something done, by its numbers."""

    def take_back(self, numbers: Collection[int]) -> None:
        """Some of what was given need not be begun any more."""

    def news(self, patience: float) -> Mapping[int, Any]:
        """What was done, after some seconds at most."""


@dataclass(slots=True)
class EvaluatedElsewhere:
    """What is to be done here for individuals that other machines evaluate.

    Attributes:
        local: renders and preprocesses them, for what is tabu.
    """

    local: Prepares
    _waited: float = field(default=0.0, init=False)

    def take_phases(self) -> Phases:
        """Wall time spent since the last call, by phase; what others do with it is not known."""
        waited, self._waited = self._waited, 0.0
        return self.local.take_phases() + Phases(run=waited)

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        """See :meth:`gi_cuda.evaluate.evaluator.Evaluator.prepare`."""
        return self.local.prepare(batch)

    def _news(self, members: Others, patience: float) -> Mapping[int, Any]:
        """What some of the others have told, waited for so many seconds at most."""
        begun = time.perf_counter()
        news = members.news(patience)
        self._waited += time.perf_counter() - begun
        return news


@dataclass(slots=True)
class ClusterEvaluator(EvaluatedElsewhere):
    """Evaluates individuals in other processes; what they are is worked out here.

    Attributes:
        members: evaluate them.
    """

    members: Others

    def evaluate(
        self,
        batch: Mapping[int, Trial],
        stop: Callable[[], bool] = lambda: False,
        more: Callable[[], Mapping[int, Trial]] = dict,
    ) -> Generator[Record, None, None]:
        """See :meth:`gi_cuda.evaluate.evaluator.Evaluator.evaluate`.

        Raises:
            UserError: there are no workers any more.
        """
        left = set(batch)
        self._give(batch)
        try:
            while left and not stop():
                for ident, evaluation in self._news(self.members, STOP_ASKED).items():
                    if ident not in left:
                        continue  # a worker that seemed to be lost has told of it after all
                    left.remove(ident)
                    yield ident, evaluation
                    if left and (added := more()):
                        left |= added.keys()
                        self._give(added)
        finally:
            self.members.take_back(left)

    def _give(self, batch: Mapping[int, Trial]) -> None:
        self.members.give({ident: str(one.genotype) for ident, one in batch.items()})


@contextmanager
def evaluated_by(
    meeting: Meeting,
    tell: Callable[[str], None],
    run: Run,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[ClusterEvaluator]:
    """Where a run's individuals are evaluated by the workers of a cluster; they are let go at the
    end of the context.

    Args:
        meeting: where they are found.
        tell: is told who takes part.
        stop: if true, nobody is waited for.

    Raises:
        UserError: nobody is found, or none can take part.
    """
    members = Members(meeting, replica, package_of(run))
    with closing(members):
        tell(f"evaluating on {members.open(stop)}")
        yield ClusterEvaluator(run.evaluator(), members)
