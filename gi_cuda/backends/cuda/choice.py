"""Choose the GPUs for variants: the requested ones that are of one kind."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gi_cuda.backends.cuda.driver import Gpu
from gi_cuda.backends.protocol.session import DeviceId

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Choice:
    """The GPUs to use.

    Attributes:
        gpu: the first GPU; the others are of its kind.
        memory: bytes of memory of the smallest GPU.
        devices: all GPUs.
        left_out: descriptions of GPUs of another kind, with the reason.
    """

    gpu: Gpu
    memory: int
    devices: tuple[DeviceId, ...]
    left_out: tuple[str, ...] = ()


def choose(gpus: Sequence[Gpu], asked: Collection[int], visible: str | None) -> Choice:
    """Choose the requested GPUs (or all, if none exists) that are of the first one's kind.

    Args:
        gpus: the GPUs of this machine, at least one.
        asked: requested indices.
        visible: value of ``CUDA_VISIBLE_DEVICES``, if set.
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
    """Return one of several GPUs, hiding the others: a process then opens it faster."""
    words = f"GPU {number}"
    if there == 1:
        return DeviceId(number, words)
    names = visible.split(",") if visible else [str(n) for n in range(there)]
    return DeviceId(number, words, {VISIBLE: names[number].strip()})
