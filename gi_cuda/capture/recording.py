"""What the injected library wrote down of an application: ``inject/inject.cpp`` says how."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RECORD = np.dtype(
    [
        ("kernel", "<u4"),
        ("grid", "<u4", 3),
        ("block", "<u4", 3),
        ("shared", "<u4"),
        ("device", "<u4"),
        ("flags", "<u4"),
        ("stream", "<u8"),
        ("nanoseconds", "<u8"),
    ]
)
"""A launch in ``launches.bin``; one of zeros is none. There, the last number is that by which
``times.bin`` knows it."""

_TIME = np.dtype([("launch", "<u8"), ("nanoseconds", "<u8")])

COOPERATIVE, GRAPH, CLUSTER = 1, 2, 4
"""What a launch was besides."""


@dataclass(frozen=True, slots=True)
class SeenTexture:
    """A texture object that a launch got.

    Attributes:
        parameter: number of the parameter that it is.
        format: of a texel's components, as the driver counts them.
        channels: components of a texel.
        size: width, height and depth, or number of layers; 0 where it has none.
        linear: whether it is linear memory.
        address: modes along each axis, as the driver counts them.
        filter: 1: between texels.
        flags: 1: integers stay integers; 2: coordinates are normalized.
    """

    parameter: int
    format: int
    channels: int
    size: tuple[int, ...]
    layered: bool
    linear: bool
    address: tuple[int, ...]
    filter: int
    flags: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a device that a launch got.

    Attributes:
        base: its first address.
        symbol: the variable that it is; "" where it is none.
        addresses: how many words of it are addresses in memory of the device, up to 16.
        before, after: files of what it held; the same where the kernel changed nothing.
        again: files of what it held after the launch was made again with what it got.
        texture: that it is read through, if it is.
    """

    base: int
    size: int
    symbol: str
    addresses: int
    before: Path
    after: Path
    again: tuple[Path, ...] = ()
    texture: SeenTexture | None = None

    @property
    def changed(self) -> bool:
        """Whether the kernel changed it."""
        return self.before != self.after

    def read(self, file: Path) -> NDArray[np.uint8]:
        """Map a file of it: only what is looked at is read."""
        return np.memmap(file, np.uint8, "r") if self.size else np.empty(0, np.uint8)


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address in a parameter.

    Attributes:
        parameter: number of the parameter.
        at: the byte of it where the address is.
        memory: number of the memory that it points to.
        offset: bytes from there.
    """

    parameter: int
    at: int
    memory: int
    offset: int


@dataclass(frozen=True, slots=True)
class Taken:
    """A launch with all it got.

    Attributes:
        sequence: its number among all launches of its process, from 0.
        ordinal: its number among those of its kernel, from 0.
        kernel: mangled.
        trouble: why not all is there; "" where it is.
        parameters: the bytes of each.
        further: launches of other kernels behind it, where all are taken for one: parameters,
            pointers and memories are those of all.
    """

    sequence: int
    ordinal: int
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    trouble: str
    parameters: tuple[bytes, ...]
    pointers: tuple[Pointer, ...]
    memories: tuple[Memory, ...]
    further: tuple[Taken, ...] = ()

    @property
    def steps(self) -> tuple[Taken, ...]:
        """All launches, in order."""
        return (self, *self.further)


@dataclass(frozen=True)
class Recording:
    """What one process launched.

    Attributes:
        folder: where it lies.
    """

    folder: Path

    @cached_property
    def kernels(self) -> list[str]:
        """Mangled names."""
        return (self.folder / "kernels.txt").read_text(errors="replace").splitlines()

    @cached_property
    def launches(self) -> NDArray[Any]:
        """All launches, in order, with their times: 0 where none is known."""
        whole = (self.folder / "launches.bin").stat().st_size // RECORD.itemsize
        found = np.fromfile(self.folder / "launches.bin", RECORD, whole)
        found["nanoseconds"] = self._times(found["nanoseconds"])
        graphs = (found["flags"] & GRAPH) > 0
        return found[(found["block"][:, 0] > 0) | graphs]

    def _times(self, numbers: NDArray[Any]) -> NDArray[Any]:
        file = self.folder / "times.bin"
        known = np.fromfile(file, _TIME, file.stat().st_size // _TIME.itemsize)
        if not len(known):
            return np.zeros_like(numbers)
        known.sort(order="launch")
        places = np.minimum(np.searchsorted(known["launch"], numbers), len(known) - 1)
        times = known["nanoseconds"][places]
        return np.where(known["launch"][places] == numbers, times, 0)

    def of(self, kernel: str) -> NDArray[Any]:
        """The launches of a kernel, in order."""
        mine: NDArray[Any] = self.launches[self.launches["kernel"] == self.kernels.index(kernel)]
        return mine

    @property
    def graphs(self) -> int:
        """Graphs that were launched, whose kernels nobody sees."""
        return int(((self.launches["flags"] & GRAPH) > 0).sum())

    @property
    def was_ended(self) -> bool:
        """Tell whether its time was up before it had come to its end."""
        return (self.folder / "ended").exists()

    @property
    def trouble(self) -> str:
        """Why nothing could be written down; "" where it could."""
        file = self.folder / "trouble.txt"
        return file.read_text(errors="replace").strip() if file.exists() else ""

    def taken(self) -> list[Taken]:
        """The launches of which all was asked for, in order."""
        files = self.folder.glob("launch-*.json")
        found = [_taken(self.folder, json.loads(file.read_text())) for file in files]
        return sorted(found, key=lambda one: one.sequence)


def recordings(folder: Path) -> list[Recording]:
    """What each process that used CUDA launched, the one with most launches first."""
    every = [Recording(one) for one in sorted(folder.glob("process-*"))]
    return sorted(every, key=lambda one: -len(one.launches))


def _taken(folder: Path, told: Mapping[str, Any]) -> Taken:
    return Taken(
        sequence=told["sequence"],
        ordinal=told["ordinal"],
        kernel=told["kernel"],
        grid=tuple(told["grid"]),
        block=tuple(told["block"]),
        shared=told["shared"],
        trouble=told["trouble"],
        parameters=tuple(map(bytes.fromhex, told["parameters"])),
        pointers=tuple(Pointer(**one) for one in told["pointers"]),
        memories=tuple(_memories(folder, told["memories"])),
    )


def _memories(folder: Path, told: Sequence[Mapping[str, Any]]) -> list[Memory]:
    return [
        Memory(
            one["base"],
            one["size"],
            one["symbol"],
            one["addresses"],
            folder / one["before"],
            folder / one["after"],
            tuple(folder / name for name in one["again"]),
            _texture(one["texture"]) if "texture" in one else None,
        )
        for one in told
    ]


def _texture(told: Mapping[str, Any]) -> SeenTexture:
    lists = {key: tuple(told[key]) for key in ("size", "address")}
    truths = {key: bool(told[key]) for key in ("layered", "linear")}
    return SeenTexture(**{**told, **lists, **truths})
