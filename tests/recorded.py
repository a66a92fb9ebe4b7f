"""Write capture folders like the injected library, with numpy instead of a GPU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.capture.launches.recording import RECORD, Recording, recordings
from gi_cuda.capture.launches.running import Application, Plan

Bytes = NDArray[Any]


@dataclass(frozen=True)
class Made:
    """A launch to be written.

    Attributes:
        parameters: the bytes of each; for pointers, eight arbitrary bytes.
        pointers: parameter, offset in it, number of the memory, offset in the memory.
        memories: contents before and after; the same array if they did not change.
        symbols: the variable of a memory, by its number.
        textures: the object through which a memory is read, by its number.
        again: contents of a memory after each repeated launch, by its number, if they differ.
    """

    kernel: str
    grid: Sequence[int]
    block: Sequence[int]
    parameters: Sequence[bytes] = ()
    pointers: Sequence[tuple[int, int, int, int]] = ()
    memories: Sequence[tuple[Bytes, Bytes]] = ()
    symbols: dict[int, str] = field(default_factory=dict)
    shared: int = 0
    nanoseconds: int = 1000
    flags: int = 0
    device: int = 0
    textures: dict[int, dict[str, object]] = field(default_factory=dict)
    trouble: str = ""
    addresses: int = 0
    again: tuple[dict[int, Bytes], ...] = ()


def write(folder: Path, launches: Sequence[Made], plan: Plan | None = None) -> Path:
    """Write a process's folder with launches, and with the contents that a plan asks for."""
    process = folder / "process-1"
    process.mkdir(parents=True)
    names = list(dict.fromkeys(one.kernel for one in launches))
    (process / "kernels.txt").write_text("".join(f"{name}\n" for name in names))
    records = np.zeros(len(launches) + 7, RECORD)  # as much room as is mapped, not all of it used
    seen = dict.fromkeys(names, 0)
    for number, one in enumerate(launches):
        records[number] = (
            names.index(one.kernel),
            tuple(one.grid),
            tuple(one.block),
            one.shared,
            one.device,
            one.flags,
            0,
            number + 1,
        )
        ordinal = seen[one.kernel]
        seen[one.kernel] += 1
        if plan is not None and ordinal in plan.ordinals.get(one.kernel, ()):
            _write_taken(process, number, ordinal, one, plan.again)
    records.tofile(process / "launches.bin")
    times = [(number + 1, one.nanoseconds) for number, one in enumerate(launches)]
    np.array(times[::-1], "<u8").tofile(process / "times.bin")
    return process


def _again(process: Path, number: int, index: int, one: Made, time: int) -> str:
    """Write the contents of a memory after a repeated launch; return the file's name."""
    name = f"{number}-{index}.again-{time}"
    again = one.again[time] if time < len(one.again) else {}
    again.get(index, one.memories[index][1]).tofile(process / name)
    return name


def _write_taken(process: Path, number: int, ordinal: int, one: Made, again: int) -> None:
    memories = []
    for index, (before, after) in enumerate(one.memories):
        names = [f"{number}-{index}.{when}" for when in ("before", "after")]
        if before.tobytes() == after.tobytes():
            names[1] = names[0]
        for name, content in zip(names, (before, after), strict=True):
            content.tofile(process / name)
        symbol = one.symbols.get(index, "")
        base = 0x7F0000000000 + (index << 24)
        size = before.nbytes
        memories.append(
            {
                "base": base,
                "size": size,
                "symbol": symbol,
                "addresses": one.addresses,
                "before": names[0],
                "after": names[1],
                "again": [_again(process, number, index, one, time) for time in range(again)],
                **({"texture": one.textures[index]} if index in one.textures else {}),
            }
        )
    told = {
        "sequence": number,
        "ordinal": ordinal,
        "kernel": one.kernel,
        "grid": list(one.grid),
        "block": list(one.block),
        "shared": one.shared,
        "trouble": one.trouble,
        "parameters": [bytes(parameter).hex() for parameter in one.parameters],
        "pointers": [
            dict(zip(("parameter", "at", "memory", "offset"), pointer, strict=True))
            for pointer in one.pointers
        ],
        "memories": memories,
    }
    (process / f"launch-{number}.json").write_text(json.dumps(told))


@dataclass(frozen=True, slots=True)
class Recorded(Application):
    """An application with known launches in each of its runs.

    Attributes:
        plans: the plans that it was given, by run.
    """

    runs: tuple[tuple[Made, ...], ...] = ()
    status: int = 0
    plans: list[Plan] = field(default_factory=list)

    def run(self, plan: Plan, folder: Path, *, quiet: bool) -> tuple[list[Recording], int]:
        """Write the recording of a run; after the last run, repeat it."""
        runs = self.runs[min(len(self.plans), len(self.runs) - 1)]
        self.plans.append(plan)
        folder.mkdir(parents=True)
        write(folder, runs, plan)
        (folder / "output").write_text("it says something\n\n")
        return recordings(folder), self.status
