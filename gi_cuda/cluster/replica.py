"""A copy of a run in another process, which evaluates individuals and stores nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from gi_cuda.backends.leftovers import REMOVE, afterwards
from gi_cuda.backends.table import open_backend
from gi_cuda.cluster.package import Package, tools_of
from gi_cuda.errors import UserError
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.passes import Record, Trial
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.evaluate.evaluator import Evaluator
from gi_cuda.evaluate.reference.baseline import as_measured_here
from gi_cuda.results.speed_up import Reading
from gi_cuda.runs.run import Look, Run, open_run


@dataclass(frozen=True, slots=True)
class ToRead:
    """Candidates to read on the held-out cases; see :meth:`Run.read_held_out`."""

    candidates: tuple[Candidate, ...]
    look: Look
    beside: Candidate | None = None


Work: TypeAlias = str | ToRead
"""An individual in notation, or candidates to read on the held-out cases."""


@dataclass(frozen=True, slots=True)
class Replica:
    """A copy of a run that evaluates individuals and reads candidates for a search elsewhere.

    Attributes:
        run: the copy of the run.
        seconds: time of the reference on this machine.
    """

    run: Run
    evaluator: Evaluator
    seconds: float

    @property
    def floor(self) -> float:
        """The noise floor on this machine, as a fraction."""
        return self.evaluator.bounds.sampling.floor

    def results(
        self,
        share: Mapping[int, Work],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, Work]],
    ) -> Iterator[Record | tuple[int, list[Reading]]]:
        """Evaluate individuals, then read candidates; yield each result with its number.

        Args:
            share: individuals in notation and candidates to read, by number.
            stop, more: see :meth:`gi_cuda.cluster.machine.Helper.results`.
        """
        asked: dict[int, ToRead] = {}

        def individuals(work: Mapping[int, Work]) -> dict[int, Trial]:
            asked.update((n, one) for n, one in work.items() if isinstance(one, ToRead))
            return self._prepared({n: one for n, one in work.items() if isinstance(one, str)})

        if trials := individuals(share):
            yield from self.evaluator.evaluate(trials, stop, lambda: individuals(more()))
        for number, one in asked.items():
            if not stop():
                yield number, self.run.read_held_out(one.candidates, one.look, one.beside)

    def _prepared(self, share: Mapping[int, str]) -> dict[int, Trial]:
        read = self.run.subject.read
        genotypes = {ident: read(genotype) for ident, genotype in share.items()}
        return self.evaluator.prepare(genotypes) if genotypes else {}


@contextmanager
def own_folder() -> Iterator[Path]:
    """Yield a temporary folder, which is removed with the context or when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="gi-cuda-"))
    with afterwards(REMOVE, folder):
        yield folder


@contextmanager
def replica(package: Package, threads: int) -> Iterator[Replica]:
    """Make a machine ready to evaluate individuals of a run.

    Args:
        threads: number of cores to use.

    Raises:
        UserError: the machine cannot evaluate them, or is of another kind than the search's
            machine.
    """
    name = str(package.facts["backend"])
    backend = open_backend(name)
    check_alike(package.tools, tools_of(backend))
    with own_folder() as folder:
        run_folder = package.unpacked(folder, backend.workers(0, threads), threads)
        with open_run(run_folder) as run:
            tools, scratch = run.tools, run.tools.scratch("baseline")
            try:
                baseline = as_measured_here(
                    run.subject, tools.compiler, tools.pool, scratch, run.baseline
                )
            except UserError as error:
                raise UserError(
                    f"the reference cannot be measured there: {error.what}",
                    hint="are the inputs that data.py makes or reads the same, and its libraries?",
                ) from None
            yield replica_of(replace(run, baseline=baseline))


def replica_of(run: Run) -> Replica:
    """Return a replica that evaluates individuals with a copy of a run."""
    evaluator = run.tools.evaluator(run.baseline, PastResults())
    return Replica(run, evaluator, run.baseline.seconds)


def check_alike(theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Refuse a machine of another kind.

    Args:
        theirs: device and tool versions of the search.
        ours: device and tool versions of this machine.

    Raises:
        UserError: the two differ.
    """
    for name in {**theirs, **ours}:
        here, there = (one.get(name, "none") for one in (ours, theirs))
        if here != there:
            raise UserError(
                f"its {name} is {here}, the search's is {there}, and times of two kinds are not"
                " compared",
                hint="make them alike, or begin another search there",
            )
