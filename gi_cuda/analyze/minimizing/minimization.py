"""Records of a minimization: changes that stay, changes that were dropped, and the loss."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.results.gains import pays
from gi_cuda.results.speed_up import Reading, SpeedUp, contrast


@dataclass(frozen=True, slots=True)
class DroppedChange:
    """A change that was dropped.

    Attributes:
        change: the change in notation.
        gain: speed-up by the change on top of the other changes; None if the change was dropped
            because answers were wrong.
        reason: reason for dropping it, in words.
    """

    change: str
    gain: SpeedUp | None
    reason: str


@dataclass(frozen=True, slots=True)
class KeptChange:
    """A change that stays.

    Attributes:
        change: the change in notation.
        gain: speed-up of the minimized genotype by this change; None if the genotype fails without
            it.
        without: reason why the minimized genotype fails without the change, or "".
        alone: speed-up of this change alone; None if it fails alone.
        failure: reason why the change fails alone, or "".
        needed_by: other changes that work only together with this one.
    """

    change: str
    gain: SpeedUp | None
    without: str
    alone: SpeedUp | None
    failure: str
    needed_by: tuple[str, ...] = ()

    @property
    def stepping_stone(self) -> bool:
        """Tell whether the change gains nothing alone but others need it (Liou et al. 2022)."""
        return bool(self.without) and not (self.alone and pays(self.alone))


def kept_change(change: str, whole: Reading, rest: Reading, alone: Reading) -> KeptChange:
    """Compute the gain of a change from readings.

    Args:
        change: the change in notation.
        whole: reading of all changes.
        rest: reading of all changes except this one.
        alone: reading of this change alone.
    """
    gain = contrast([(1, whole), (-1, rest)]) if whole.right and rest.right else None
    speed_up = alone.speed_up if alone.right else None
    return KeptChange(change, gain, rest.failure, speed_up, alone.failure)


@dataclass(frozen=True, slots=True)
class Minimization:
    """Result of minimizing a winner.

    Attributes:
        genotype: the minimized genotype in notation; it is right on all cases.
        speed_up: speed-up of the minimized genotype on the train cases.
        before: speed-up of the winner as the search found it, on the train cases.
        kept: changes that stay, in the genotype's order.
        dropped: dropped changes, in the order of dropping.
        batches, variants: numbers of batches and variants that were read.
        loss: speed-up, on the train cases, of the winner without wrong changes over the minimized
            genotype; None in runs of older versions.
        confirmed: the same on the confirm cases.
    """

    genotype: str
    speed_up: SpeedUp
    before: SpeedUp
    kept: tuple[KeptChange, ...]
    dropped: tuple[DroppedChange, ...]
    batches: int
    variants: int
    loss: SpeedUp | None = None
    confirmed: SpeedUp | None = None
