"""Record the best individual that is faster on the train cases only, with the probable cause."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.run import Run
from gi_cuda.spec import CaseRole, load_case
from gi_cuda.spec.case_data.cases import cases_for
from gi_cuda.spec.launching.launches import Launch, plan
from gi_cuda.store import Store
from gi_cuda.subject import Subject

APART = 1.05
"""Ratio of the launched threads between held-out and train cases from which on padding is the
probable cause."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """An individual that is right and faster on the train cases, but not on the held-out cases.

    Attributes:
        ident: number of the individual.
        train: speed-up on the train cases.
        held_out: speed-up on the held-out cases.
        cause: the probable cause, in words.
    """

    ident: int
    train: float
    held_out: SpeedUp
    cause: str

    def __str__(self) -> str:
        return (
            f"individual {self.ident}: speed-up {self.train:.3f} on the train cases,"
            f" {self.held_out} on the held-out ones"
        )


def stored_shortfall(store: Store) -> Shortfall | None:
    """Load the shortfall of a run's last validation; None if a winner was found."""
    return store.load("shortfall", Shortfall)


def keep_shortfall(run: Run, found: tuple[int, SpeedUp] | None) -> None:
    """Store an individual that fell short; None removes the stored one.

    Args:
        run: the run.
        found: number of the individual, and its speed-up on the held-out cases.
    """
    if found is None:
        run.store.put(shortfall=None)
        return
    ident, held_out = found
    one, ratio = run.store.individual(ident), run.store.evaluations()[ident].ratio
    assert one is not None
    assert ratio is not None
    try:
        cause = padding_words(*threads_launched(run.subject, run.subject.read(one.genotype)))
    except UserError:  # no launch, or no data, on one of the cases
        cause = padding_words(1, 1)
    run.store.put(shortfall=asdict(Shortfall(ident, 1 / ratio, held_out, cause)))


def threads_launched(subject: Subject, genotype: Genotype) -> tuple[float, float]:
    """Return the ratio of launched threads, genotype / reference, on train and held-out cases.

    Each ratio is the geometric mean over the cases of the role.
    """
    configured = [subject.configured(one) for one in (genotype, subject.original)]

    def times(role: CaseRole) -> float:
        logs = []
        for case in cases_for(subject.target, subject.backend, role):
            scalars = load_case(subject.target, case).scalars
            mine, before = (_threads(plan(subject.target, one, scalars)) for one in configured)
            logs.append(math.log(mine / before))
        return math.exp(sum(logs) / len(logs))

    return times(CaseRole.TRAIN), times(CaseRole.HELD_OUT)


def _threads(launches: Iterable[Launch]) -> int:
    return sum(math.prod(one.grid) * math.prod(one.block) for one in launches)


def padding_words(train: float, held_out: float) -> str:
    """Describe the probable cause of a gain on the train cases only.

    Args:
        train, held_out: ratio of launched threads, genotype / reference, on the cases of each role.
    """
    if train * APART < held_out:
        return (
            f"it launches {train:.2f} times as many threads as the original on the train cases and"
            f" {held_out:.2f} times as many on the held-out ones: their sizes leave other"
            " remainders in the last block. Give both roles sizes with the same remainders"
        )
    return "train and held-out cases may differ too much in size or data (target.toml)"
