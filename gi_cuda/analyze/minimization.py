"""What minimizing finds: which changes stay, which go, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.results.speed_up import Reading, SpeedUp, contrast
from gi_cuda.results.verdict import pays


@dataclass(frozen=True, slots=True)
class DroppedChange:
    """A change that was left out.

    Attributes:
        change: in notation.
        gain: how many times as fast all the others were with it; None where it went because
            its answers were wrong.
        reason: why it went, in words.
    """

    change: str
    gain: SpeedUp | None
    reason: str


@dataclass(frozen=True, slots=True)
class KeptChange:
    """A change that stays.

    Attributes:
        change: in notation.
        gain: how many times as fast the minimized genotype is with it as without it; None where it
            fails without it.
        without: why the minimized genotype fails without it, or "".
        alone: the speed-up of this change alone; None where that fails.
        failure: why it fails alone, or "".
        needed_by: the other changes that work only with this one.
    """

    change: str
    gain: SpeedUp | None
    without: str
    alone: SpeedUp | None
    failure: str
    needed_by: tuple[str, ...] = ()

    @property
    def stepping_stone(self) -> bool:
        """Whether it is of no use alone, and others fail without it (Liou et al. 2022)."""
        return bool(self.without) and not (self.alone and pays(self.alone))


def kept_change(change: str, whole: Reading, rest: Reading, alone: Reading) -> KeptChange:
    """What a change is worth.

    Args:
        change: in notation.
        whole, rest: with all others, the change made and not made.
        alone: without any other.
    """
    gain = contrast([(1, whole), (-1, rest)]) if whole.right and rest.right else None
    speed_up = alone.speed_up if alone.right else None
    return KeptChange(change, gain, rest.failure, speed_up, alone.failure)


@dataclass(frozen=True, slots=True)
class Minimization:
    """What became of a winner's changes.

    Attributes:
        genotype: what is left, in notation; right on all cases.
        speed_up: its own, on the cases that give fitness.
        before: that of the winner as it was found.
        kept: the changes that stay, in the genotype's order.
        dropped: the others, in the order in which they went.
        batches, variants: what it took.
        loss: how many times as fast the winner is, without what is wrong anywhere, on the train
            cases; None in runs of before that was stored.
        confirmed: the same on the cases that confirm it.
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
