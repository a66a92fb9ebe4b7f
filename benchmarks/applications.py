"""Run applications from their build to an adopted patch by the command line: a row for each folder.

    python -m benchmarks.applications FOLDER... [--seconds 60] [--make 'make ARCH=sm_90'] [--jobs 3]

Each folder has a ``Makefile`` whose goal ``run`` runs the program. In a copy, which is a git
repository, the program is built, captured, checked and searched for ``--seconds``. Then the patch
is built and judged inside the program. Nothing is edited by hand. Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

GI_CUDA = (sys.executable, "-m", "gi_cuda")
_FLOOR = re.compile(r"noise floor (\d+(?:\.\d+)?) ?%")
_RATE = re.compile(r"(\d+(?:\.\d+)?) individuals/s")
_GAIN = re.compile(r"speed-up on held-out cases (\S+ \[\S+ \S+\])")
_KERNEL = re.compile(r"--kernel (?P<name>'[^']*'|\S+)")


@dataclass(slots=True)
class Row:
    """Result of one application.

    Attributes:
        name: the folder's name.
        seconds: duration of each step.
        said: the last lines of the step that failed; "" if none did.
    """

    name: str
    kernel: str = ""
    floor: str = ""
    rate: str = ""
    gain: str = ""
    changes: str = ""
    patch: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    said: str = ""

    def __str__(self) -> str:
        steps = " ".join(f"{step} {spent:.0f}" for step, spent in self.seconds.items())
        cells = (self.name, self.kernel, self.floor, self.rate, self.gain, self.patch, steps)
        lines = [" | ".join(one or "-" for one in cells)]
        lines += [f"    {line}" for text in (self.changes, self.said) for line in text.splitlines()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Lane:
    """A share of the machine, for one application at a time.

    Attributes:
        cores: numbers of its processors.
        gpu: the number of its GPU, which other lanes may share.
    """

    cores: tuple[int, ...]
    gpu: int

    def words(self, command: Sequence[str]) -> list[str]:
        """Return a command that restricts another one to this share."""
        visible = f"CUDA_VISIBLE_DEVICES={self.gpu}"
        return ["taskset", "-c", ",".join(map(str, self.cores)), "env", visible, *command]


def lanes(jobs: int, gpus: int) -> list[Lane]:
    """Return equal shares of this machine, one for each application at a time."""
    cores = sorted(os.sched_getaffinity(0))
    each = max(1, len(cores) // jobs)
    shares = [tuple(cores[at * each :][:each] or cores) for at in range(jobs)]
    return [Lane(share, at % gpus) for at, share in enumerate(shares)]


class Stopped(Exception):
    """Error: a step failed."""


class Walk:
    """The steps of one application, from its build to the patch.

    Args:
        folder: the application; all steps work on a copy.
        place: folder of the copy.
        make: the command that builds it.
        lane: the share of this machine that its commands may use.
    """

    def __init__(self, folder: Path, place: Path, make: Sequence[str], lane: Lane) -> None:
        self.folder = place / folder.name
        self.make = make
        self.lane = lane
        self.row = Row(folder.name)
        shutil.copytree(folder, self.folder)

    def step(self, name: str, *words: str, limit: float, statuses: Sequence[int] = (0,)) -> str:
        """Run a command and return its output.

        Raises:
            Stopped: the command ended with another status, or not in time.
        """
        begun = time.monotonic()
        try:
            done = subprocess.run(
                self.lane.words(words),
                cwd=self.folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            self._log(words, str(late.output or b"", "utf-8", "replace"))
            raise Stopped(f"{name}: not within {limit:g} s") from None
        finally:
            spent = self.row.seconds.get(name, 0.0)
            self.row.seconds[name] = spent + time.monotonic() - begun
        said = done.stdout + done.stderr
        self._log(words, said)
        if done.returncode not in statuses:
            raise Stopped(f"{name}: status {done.returncode}\n" + "\n".join(said.splitlines()[-6:]))
        return said

    def _log(self, words: Sequence[str], said: str) -> None:
        with self.folder.with_suffix(".log").open("a", encoding="utf-8") as log:
            log.write(f"$ {shlex.join(words)}\n{said}\n")

    def go(self, seconds: float, until: str, *, checked: bool) -> Row:
        """Run all steps until one fails.

        Args:
            seconds: time of the search.
            until: the last step.
            checked: check the target before the search.
        """
        try:
            self._go(seconds, until, checked=checked)
        except Stopped as stopped:
            self.row.said = str(stopped)
        return self.row

    def _go(self, seconds: float, until: str, *, checked: bool) -> None:
        row = self.row
        self.step("make", *self.make, limit=120)
        for words in ("init -q", "add -A -f .", "-c user.name=n -c user.email=e commit -qm all"):
            self.step("git", "git", *words.split(), limit=20)
        program = self._program()
        self.step("run", *program, limit=100)
        listed = self.step("capture", *GI_CUDA, "capture", "--", *program, limit=120)
        found = _KERNEL.search(" ".join(listed.split()))
        if found is None:
            raise Stopped(f"capture: no kernel\n{listed}")
        row.kernel = found["name"].strip("'")
        asked = ("capture", "--kernel", row.kernel, "--into", "target", "--", *program)
        self.step("capture", *GI_CUDA, *asked, limit=120)
        if until == "capture":
            return
        if checked:
            said = self.step("check", *GI_CUDA, "check", "target", "--backend", "cuda", limit=120)
            row.floor = (_FLOOR.findall(" ".join(said.split())) or [""])[-1]
        if until == "check":
            return
        search = ("evolve", "target", "--backend", "cuda", "--run", "run", "--time", f"{seconds:g}")
        said = self.step("evolve", *GI_CUDA, *search, limit=seconds + 120, statuses=(0, 1))
        for pattern, name in ((_FLOOR, "floor"), (_RATE, "rate"), (_GAIN, "gain")):
            matches = pattern.findall(" ".join(said.split()))
            setattr(row, name, matches[-1] if matches else getattr(row, name))
        if not row.gain:
            raise Stopped("evolve: no winner\n" + "\n".join(said.splitlines()[-8:]))
        row.changes = "\n".join(_changes(said))
        if until == "evolve":
            return
        adopt = ("patch", "run", "--application", "-o", "faster.patch")
        said = self.step("patch", *GI_CUDA, *adopt, limit=240)
        row.patch = "holds"
        told = [line for line in said.splitlines() if "application" in line]
        row.changes += "\n" + "\n".join(told[-3:])

    def _program(self) -> list[str]:
        """Return the command that runs the program, from its Makefile."""
        said = self.step("make", "make", "-n", "run", limit=20)
        return shlex.split(said.splitlines()[-1].split(">")[0])


def _changes(said: str) -> Iterator[str]:
    """Yield the changes of the winner, as evolve prints them."""
    lines = said.splitlines()
    if "its changes:" in lines:
        for line in lines[lines.index("its changes:") + 1 :]:
            if not line.startswith("  "):
                return
            yield line.strip()


def main() -> None:
    """Run all folders, and print a row for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each search")
    parser.add_argument("--make", default="make", help="how they are built")
    parser.add_argument("--unchecked", action="store_true", help="leave out `check`")
    parser.add_argument("--until", choices=("capture", "check", "evolve", "patch"), default="patch")
    parser.add_argument("--jobs", type=int, default=1, help="applications at a time")
    parser.add_argument("--gpus", type=int, default=1, help="that these share")
    parser.add_argument("--json", type=Path, help="a file for the rows")
    parser.add_argument("--keep", type=Path, help="where copies, and what was printed, stay")
    asked = parser.parse_args()
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
    print("application | kernel | noise % | individuals/s | held out | patch | seconds")
    free: SimpleQueue[Lane] = SimpleQueue()
    for lane in lanes(asked.jobs, asked.gpus):
        free.put(lane)

    def walked(folder: Path) -> Row:
        lane = free.get()
        try:
            walk = Walk(folder.resolve(), place, shlex.split(asked.make), lane)
            row = walk.go(asked.seconds, asked.until, checked=not asked.unchecked)
        finally:
            free.put(lane)
        print(row, flush=True)
        return row

    with tempfile.TemporaryDirectory(prefix="applications-") as scratch:
        place = asked.keep or Path(scratch)
        with ThreadPoolExecutor(asked.jobs) as threads:
            rows = list(threads.map(walked, asked.folders))
        if asked.json:
            asked.json.write_text(json.dumps([vars_of(one) for one in rows], indent=1))


def vars_of(row: Row) -> dict[str, object]:
    """Return a row as a JSON object."""
    return {name: getattr(row, name) for name in Row.__slots__}


if __name__ == "__main__":
    main()
