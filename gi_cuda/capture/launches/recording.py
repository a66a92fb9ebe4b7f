"""Read the files that the injected library writes; ``inject/inject.cpp`` defines their format."""

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
"""Record of a launch in ``launches.bin``; a record of zeros is empty. In the file, the last field
is the number of the launch in ``times.bin``."""

_TIME = np.dtype([("launch", "<u8"), ("nanoseconds", "<u8")])

COOPERATIVE, GRAPH, CLUSTER = 1, 2, 4
"""Flags of a launch."""


@dataclass(frozen=True, slots=True)
class SeenTexture:
    """A texture object that a launch got.

    Attributes:
        parameter: number of the kernel's parameter that holds the texture object.
        format: format of a texel's components, CUarray_format.
        channels: number of components of a texel.
        size: width, height and depth or number of layers; 0 for a missing axis.
        layered: whether the third size is a number of layers.
        linear: whether the texture reads linear memory.
        address: address mode along each axis, CUaddress_mode.
        filter: 1 if values are interpolated between texels, else 0.
        flags: sum of 1 if integers are read as integers, and 2 if coordinates are normalized.
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
    """A block of device memory that a launch could access.

    Attributes:
        base: first address.
        size: bytes.
        symbol: name of the device variable that occupies the memory; "" if it is none.
        addresses: number of words in the memory that are device addresses, at most 16.
        before, after: files with the contents before and after the launch; the same file if the
            kernel changed nothing.
        again: files with the contents after each repetition of the launch.
        texture: texture object that reads the memory, if any.
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
        """Tell whether the kernel changed the memory."""
        return self.before != self.after

    def read(self, file: Path) -> NDArray[np.uint8]:
        """Map a file with contents of the memory; pages are read when they are accessed."""
        return np.memmap(file, np.uint8, "r") if self.size else np.empty(0, np.uint8)


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address in a parameter.

    Attributes:
        parameter: number of the parameter.
        at: offset of the address in the parameter, bytes.
        memory: number of the memory that the address points into.
        offset: offset of the address in the memory, bytes.
    """

    parameter: int
    at: int
    memory: int
    offset: int


@dataclass(frozen=True, slots=True)
class Taken:
    """A recorded launch with its arguments and memory.

    Attributes:
        sequence: number among all launches of the process, from 0.
        ordinal: number among the launches of the kernel, from 0.
        kernel: mangled name.
        grid, block: launch configuration.
        shared: dynamic shared memory, bytes.
        trouble: code of the reason why the recording is incomplete; "" if it is complete.
        parameters: bytes of each parameter.
        pointers: addresses in the parameters.
        memories: device memory that the pointers lead to, and variables.
        further: following launches of other kernels that form one launch with this one; then
            parameters, pointers and memories are those of all launches.
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
        """This launch and the further ones, in order."""
        return (self, *self.further)


@dataclass(frozen=True)
class Recording:
    """Launches of one process.

    Attributes:
        folder: folder with the files of the recording.
    """

    folder: Path

    @cached_property
    def kernels(self) -> list[str]:
        """Mangled names of the kernels."""
        return (self.folder / "kernels.txt").read_text(errors="replace").splitlines()

    @cached_property
    def launches(self) -> NDArray[Any]:
        """All launches, in order, as an array of `RECORD`; a time of 0 is unknown."""
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
        """Return the launches of a kernel, in order."""
        mine: NDArray[Any] = self.launches[self.launches["kernel"] == self.kernels.index(kernel)]
        return mine

    @property
    def graphs(self) -> int:
        """Number of graph launches, whose kernels are not recorded."""
        return int(((self.launches["flags"] & GRAPH) > 0).sum())

    @property
    def was_ended(self) -> bool:
        """Tell whether the process was ended at its time limit."""
        return (self.folder / "ended").exists()

    @property
    def trouble(self) -> str:
        """Reason why nothing could be recorded; "" if there was no trouble."""
        file = self.folder / "trouble.txt"
        return file.read_text(errors="replace").strip() if file.exists() else ""

    def taken(self) -> list[Taken]:
        """Return the launches that were recorded with arguments and memory, in order."""
        files = self.folder.glob("launch-*.json")
        found = [_taken(self.folder, json.loads(file.read_text())) for file in files]
        return sorted(found, key=lambda one: one.sequence)


def recordings(folder: Path) -> list[Recording]:
    """Return a recording for each process that used CUDA, the one with most launches first."""
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
