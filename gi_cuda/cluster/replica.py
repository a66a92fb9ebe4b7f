"""A run on another machine than the search's: it evaluates what it is given, and keeps nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.leftovers import REMOVE, afterwards
from gi_cuda.backends.table import open_backend
from gi_cuda.cluster.package import Package, tools_of
from gi_cuda.errors import UserError
from gi_cuda.evaluate.baseline import as_measured_here
from gi_cuda.evaluate.batch import PastResults
from gi_cuda.evaluate.evaluator import Evaluator
from gi_cuda.evaluate.passes import Record, Trial
from gi_cuda.runs.run import open_run
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Replica:
    """What evaluates individuals of a search that goes on elsewhere.

    Attributes:
        seconds: what the reference takes here.
    """

    subject: Subject
    evaluator: Evaluator
    seconds: float

    @property
    def floor(self) -> float:
        """The noise floor here, as a fraction."""
        return self.evaluator.bounds.sampling.floor

    def results(
        self,
        share: Mapping[int, str],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, str]],
    ) -> Iterator[Record]:
        """Evaluate individuals, given in notation by their numbers.

        Args:
            stop, more: see :meth:`gi_cuda.cluster.machine.Helper.results`.
        """
        yield from self.evaluator.evaluate(
            self._prepared(share), stop, lambda: self._prepared(more())
        )

    def _prepared(self, share: Mapping[int, str]) -> dict[int, Trial]:
        read = self.subject.read
        genotypes = {ident: read(genotype) for ident, genotype in share.items()}
        return self.evaluator.prepare(genotypes) if genotypes else {}


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that is removed at the end of the context, or of this process."""
    folder = Path(tempfile.mkdtemp(prefix="gi-cuda-"))
    with afterwards(REMOVE, folder):
        yield folder


@contextmanager
def replica(package: Package, threads: int) -> Iterator[Replica]:
    """Make a machine ready to evaluate individuals of a run.

    Args:
        threads: how many of its processors are to be used.

    Raises:
        UserError: it cannot do so, or it is another kind of machine than the search's.
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
            evaluator = tools.evaluator(baseline, PastResults())
            yield Replica(run.subject, evaluator, baseline.seconds)


def check_alike(theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Refuse a machine of another kind.

    Args:
        theirs: device and tools of the search.
        ours: those of this machine.

    Raises:
        UserError: they differ.
    """
    for name in {**theirs, **ours}:
        here, there = (one.get(name, "none") for one in (ours, theirs))
        if here != there:
            raise UserError(
                f"its {name} is {here}, the search's is {there}, and times of two kinds are not"
                " compared",
                hint="make them alike, or begin another search there",
            )
