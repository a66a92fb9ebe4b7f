"""Evaluator that sends individuals to the workers of a cluster."""

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
    """Interface of the evaluator that prepares individuals on the search's own machine."""

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        """See :meth:`gi_cuda.evaluate.evaluator.Evaluator.prepare`."""

    def take_phases(self) -> Phases:
        """Return the wall time spent since the last call, by phase."""


class Others(Protocol):
    """Interface of a group of workers; each piece of work has a number."""

    def give(self, work: Mapping[int, Any]) -> None:
        """Queue work, by number."""

    def take_back(self, numbers: Collection[int]) -> None:
        """Cancel pieces of work that have not begun."""

    def news(self, patience: float) -> Mapping[int, Any]:
        """Return the results that arrived, by number; wait at most ``patience`` seconds."""


@dataclass(slots=True)
class EvaluatedElsewhere:
    """Base class of evaluators that prepare individuals here and evaluate them on other machines.

    Attributes:
        local: renders and preprocesses individuals, so that tabu phenotypes are known.
    """

    local: Prepares
    _waited: float = field(default=0.0, init=False)

    def take_phases(self) -> Phases:
        """Return the wall time spent since the last call, by phase.

        Time on other machines is not known; waiting for them counts as ``run``.
        """
        waited, self._waited = self._waited, 0.0
        return self.local.take_phases() + Phases(run=waited)

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        """See :meth:`gi_cuda.evaluate.evaluator.Evaluator.prepare`."""
        return self.local.prepare(batch)

    def _news(self, members: Others, patience: float) -> Mapping[int, Any]:
        """Return the results of some workers; wait at most ``patience`` seconds."""
        begun = time.perf_counter()
        news = members.news(patience)
        self._waited += time.perf_counter() - begun
        return news


@dataclass(slots=True)
class ClusterEvaluator(EvaluatedElsewhere):
    """An evaluator that prepares individuals here and evaluates them in other processes.

    Attributes:
        members: the workers that evaluate.
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
            UserError: no workers are left.
        """
        left = set(batch)
        self._give(batch)
        try:
            while left and not stop():
                for ident, evaluation in self._news(self.members, STOP_ASKED).items():
                    if ident not in left:
                        continue  # a second result, from a worker that seemed to be lost
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
    """Yield an evaluator that uses the workers of a cluster; they are released with the context.

    Args:
        meeting: the cluster's scheduler.
        tell: receives a message that says which workers take part.
        stop: if it returns True, waiting for workers ends.

    Raises:
        UserError: no worker is found, or none can take part.
    """
    members = Members(meeting, replica, package_of(run))
    with closing(members):
        tell(f"evaluating on {members.open(stop)}")
        yield ClusterEvaluator(run.evaluator(), members)
