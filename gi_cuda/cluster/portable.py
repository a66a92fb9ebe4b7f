"""A search on several kinds of machines, which combines the evaluations of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count

from gi_cuda.cluster.evaluator import EvaluatedElsewhere
from gi_cuda.cluster.kinds import Kind, kinds_of, of_kind
from gi_cuda.cluster.meeting import Meeting
from gi_cuda.cluster.members import Members
from gi_cuda.cluster.package import package_of
from gi_cuda.cluster.replica import ToRead, replica
from gi_cuda.errors import UserError
from gi_cuda.evaluate.batches.batch import STOP_ASKED
from gi_cuda.evaluate.batches.passes import Record, Trial
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.results.evaluation import Evaluation, Validation
from gi_cuda.results.kinds import Objective, on_all_kinds, validated_on_all_kinds
from gi_cuda.results.speed_up import Reading
from gi_cuda.runs.run import Look, Run

READ = -1
"""Number of the first request to read; later ones count down, as individuals count up from 0."""


@dataclass(slots=True)
class KindsEvaluator(EvaluatedElsewhere):
    """An evaluator that evaluates each individual on every kind of machine.

    Attributes:
        kinds: the workers of each kind, by name; the search's own kind is the first.
        objective: combines the evaluations of all kinds into one.
    """

    kinds: Mapping[str, Members]
    objective: Objective
    _reads: Iterator[int] = field(default_factory=lambda: count(READ, -1), init=False)

    def evaluate(
        self,
        batch: Mapping[int, Trial],
        stop: Callable[[], bool] = lambda: False,
        more: Callable[[], Mapping[int, Trial]] = dict,
    ) -> Generator[Record, None, None]:
        """See :meth:`gi_cuda.evaluate.evaluator.Evaluator.evaluate`.

        An individual that fails on one kind is cancelled on the others.

        Raises:
            UserError: no workers of some kind are left.
        """
        known: dict[int, dict[str, Evaluation]] = {ident: {} for ident in batch}
        self._give(batch)
        try:
            while known and not stop():
                for kind, ident, evaluation in self._told():
                    if ident not in known:
                        continue  # the individual failed on another kind
                    known[ident][kind] = evaluation
                    if evaluation.right and len(known[ident]) < len(self.kinds):
                        continue
                    yield ident, self._together(known.pop(ident))
                    self._take_back([ident])
                    if known and (added := more()):
                        known |= {one: {} for one in added}
                        self._give(added)
        finally:
            self._take_back(known)

    def validations(
        self,
        here: Sequence[Reading],
        candidates: Sequence[Candidate],
        look: Look,
        beside: Candidate | None,
    ) -> list[Validation]:
        """See :class:`gi_cuda.runs.run.OtherKinds`.

        Raises:
            UserError: no workers of some kind are left.
        """
        own, *others = self.kinds
        number, order = next(self._reads), {}
        order[number] = ToRead(tuple(candidates), look, beside)
        for kind in others:
            self.kinds[kind].give(order)
        found = {own: here}
        for kind in others:
            while kind not in found:
                news = self.kinds[kind].news(STOP_ASKED)
                if number in news:
                    found[kind] = news[number]
        return [
            validated_on_all_kinds(
                self.objective, dict(zip(self.kinds, one, strict=True)), look.confidence
            )
            for one in zip(*(found[kind] for kind in self.kinds), strict=True)
        ]

    def _told(self) -> Iterator[tuple[str, int, Evaluation]]:
        """Yield new evaluations with the kind and the number of the individual."""
        for kind, members in self.kinds.items():
            for ident, evaluation in self._news(members, STOP_ASKED / len(self.kinds)).items():
                yield kind, ident, evaluation

    def _together(self, known: Mapping[str, Evaluation]) -> Evaluation:
        floors = {kind: members.floor for kind, members in self.kinds.items()}
        return on_all_kinds(self.objective, known, floors)

    def _give(self, batch: Mapping[int, Trial]) -> None:
        work = {ident: str(one.genotype) for ident, one in batch.items()}
        for members in self.kinds.values():
            members.give(work)

    def _take_back(self, idents: Sequence[int] | Mapping[int, object]) -> None:
        for members in self.kinds.values():
            members.take_back(list(idents))


@contextmanager
def evaluated_on_kinds(
    meeting: Meeting,
    tell: Callable[[str], None],
    run: Run,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[KindsEvaluator]:
    """Yield an evaluator that uses all kinds of machines among the workers of a cluster.

    The workers are released at the end of the context.

    Args:
        meeting: the cluster's scheduler.
        tell: receives a message that says which workers take part.
        stop: if it returns True, waiting for workers ends.

    Raises:
        UserError: there is only one kind; the kinds differ from those that the run began with; the
            search's own kind is missing; or the run evolves code that was compiled for one kind.
    """
    if run.subject.compiled:
        raise UserError(
            "what is compiled for one kind of device is not measured on another",
            where="--objective",
            hint="evolve the source: leave --level out",
        )
    package = package_of(run)
    kinds = kinds_of(meeting, run.subject.backend, package.tools)
    _check_the_same(run, kinds, meeting)
    with ExitStack() as stack:
        members: dict[str, Members] = {}
        for kind in kinds:
            # Times of a kind are compared within the kind, so its tools may differ from ours.
            theirs = replace(package, tools=kind.tools)
            one = Members(meeting, replica, theirs, of_kind(kind, run.subject.backend))
            members[kind.name] = stack.enter_context(closing(one))
            tell(f"evaluating on {kind.name}: {one.open(stop)}")
        yield KindsEvaluator(run.evaluator(), members, run.plan.objective)


def _check_the_same(run: Run, kinds: Sequence[Kind], meeting: Meeting) -> None:
    """Store a run's kinds, or check that they are the stored ones.

    Raises:
        UserError: the kinds differ from the stored ones.
    """
    now = sorted(kind.name for kind in kinds)
    before = run.store.get("kinds", now)
    if before != now:
        raise UserError(
            f"the run is for {' and '.join(before)}; the workers are {' and '.join(now)}",
            where=meeting.where,
            hint="start the workers that are missing, and end the others",
        )
    run.store.put(kinds=now)
