"""Keep the outputs of several runs on the device until it is known which of them to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout.memory import Region

MOST = 64 * 2**20
"""Bytes that are kept at a time. Larger outputs are read from their buffers after one run."""

_ALIGNMENT = 256

_Run = TypeVar("_Run")


class Staging:
    """Device memory for the outputs of the runs of one round.

    Args:
        context: the worker's context.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._room: Any = None
        self._size = 0
        self._landing: NDArray[np.uint8] = np.empty(0, np.uint8)

    def rounds(self, runs: Sequence[tuple[_Run, Sequence[Region]]]) -> Iterator[list[_Run]]:
        """Group runs, each given with its outputs' memory, into as few rounds as memory allows."""
        some: list[_Run] = []
        taken = 0
        for run, regions in runs:
            size = _size(regions)
            if some and taken + size > MOST:
                yield some
                some, taken = [], 0
            some.append(run)
            taken += size
        if some:
            yield some

    def places(self, written: Sequence[Sequence[Region]]) -> list[list[Region]]:
        """Return the memory in which the outputs of each run of a round are kept.

        For a single run this is the buffers themselves.

        Raises:
            LaunchRefused: the device has too little memory.
        """
        if len(written) < 2:
            return [list(regions) for regions in written]
        size = sum(map(_size, written))
        if size > self._size:
            self._room, self._size = None, 0
            self._room, self._size = self._context.allocate("answers", size), size
        at, found = int(self._room), []
        for regions in written:
            places = []
            for region in regions:
                places.append(replace(region, address=at))
                at += _padded(region.size)
            found.append(places)
        return found

    def keep(self, written: Sequence[Region], places: Sequence[Region]) -> None:
        """Copy a run's outputs to where they are kept. Does not wait."""
        stream = self._context.stream
        for region, place in zip(written, places, strict=True):
            if place.address != region.address:
                self._context.drv.memcpy_dtod_async(
                    place.address, region.address, region.size, stream
                )

    def read(self, runs: Sequence[Sequence[Region]]) -> list[list[NDArray[np.uint8]]]:
        """Return the kept outputs of some runs; valid until the next call. Waits for the device."""
        size = sum(map(_size, runs))
        if size > len(self._landing):  # allocate late: it is expensive, and few runs are read
            self._landing = np.empty(0, np.uint8)
            self._landing = self._context.drv.pagelocked_empty(size, np.uint8)
        at, found = 0, []
        for places in runs:
            arrays = []
            for place in places:
                arrays.append(self._landing[at : at + place.size])
                self._context.drv.memcpy_dtoh_async(arrays[-1], place.address, self._context.stream)
                at += _padded(place.size)
            found.append(arrays)
        if size:
            self._context.settle()
        return found


def _size(regions: Sequence[Region]) -> int:
    return sum(_padded(region.size) for region in regions)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
