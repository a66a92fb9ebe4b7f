"""Which GPUs variants run on: those that were asked for and are of one kind."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gi_cuda.backends.cuda.driver import Gpu
from gi_cuda.backends.protocol.session import DeviceId

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which GPUs are used.

    Attributes:
        gpu: the first one; the others are of its kind.
        memory: of the smallest, bytes.
        devices: all of them.
        left_out: those of another kind, and why; in words.
    """

    gpu: Gpu
    memory: int
    devices: tuple[DeviceId, ...]
    left_out: tuple[str, ...] = ()


def choose(gpus: Sequence[Gpu], asked: Collection[int], visible: str | None) -> Choice:
    """Choose those that were asked for and are there, or else all; of these the ones that are of
    the first one's kind.

    Args:
        gpus: at least one.
        asked: numbers in their order.
        visible: what the environment says of them, if it does.
    """
    there = [n for n in range(len(gpus)) if n in asked] or list(range(len(gpus)))
    first = gpus[there[0]]
    alike = [n for n in there if gpus[n].kind == first.kind]
    return Choice(
        first,
        min(gpus[n].memory for n in alike),
        tuple(_device(n, len(gpus), visible) for n in alike),
        tuple(
            f"GPU {n} ({gpus[n].words}) is left out: GPU {there[0]} is another kind"
            f" ({first.words}), and times of two kinds are not compared; to use it: --devices {n}"
            for n in there
            if n not in alike
        ),
    )


def _device(number: int, there: int, visible: str | None) -> DeviceId:
    """One of so many. A process that sees no other one opens it in less time."""
    words = f"GPU {number}"
    if there == 1:
        return DeviceId(number, words)
    names = visible.split(",") if visible else [str(n) for n in range(there)]
    return DeviceId(number, words, {VISIBLE: names[number].strip()})
