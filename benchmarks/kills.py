"""Kill searches at random moments, and check that no finished work is lost.

Starts searches on a small target on the host, kills one of their processes at a random time, and
checks what remains: processes, temporary folders, the run, and the run that was to be replaced.
Prints a line for each kill that broke a promise, and the number of kills of each kind.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "tests" / "targets" / "scale"
MARK = "GI_CUDA_KILLS"
RUN = "r"
PATIENCE = 90.0
"""Seconds after a kill in which all processes have to end."""

MAIN = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM}
MAIN |= {"SIGHUP": signal.SIGHUP, "Ctrl-C": signal.SIGINT}
VICTIMS = (*MAIN, "worker", "fork server", "preloaded", "compiler")
PHASES = ("baseline", "force", "search", "validation")
_COMPILERS = (b"cc1plus", b"c++", b"g++", b"clang", b"as", b"ld", b"collect2")

Rows = Mapping[int, tuple[Any, ...]]
GoOn = Callable[[Path], subprocess.CompletedProcess[str]]


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill of a process.

    Attributes:
        phase: phase of the command: the baseline of a new run, the baseline of a run that is to
            replace another (``force``), the search, or validation.
        victim: a signal for the command itself, or the kind of its processes that gets SIGKILL.
        delay: seconds after the phase began.
    """

    phase: str
    victim: str
    delay: float


def drawn(number: int, seed: int) -> Iterator[Kill]:
    """Yield kills of every kind in every phase, at random times."""
    rng = random.Random(seed)
    for one in range(number):
        phase = PHASES[one % len(PHASES)]
        victim = VICTIMS[one // len(PHASES) % len(VICTIMS)]
        yield Kill(phase, victim, rng.uniform(0.0, 3.0 if phase in ("baseline", "force") else 1.5))


@dataclass(slots=True)
class Bench:
    """A working folder, with a finished run that is copied for each kill.

    Attributes:
        folder: the working folder.
        finished: the finished run.
        go_on: resumes an interrupted run.
        late: number of kills that did not happen because the command had ended.
    """

    folder: Path
    finished: Path
    go_on: GoOn
    late: int = 0

    @classmethod
    def make(cls, folder: Path, go_on: GoOn) -> Bench:
        """Make the finished run."""
        (folder / "tmp").mkdir()
        words = ["evolve", TARGET, "--run", "finished", "--population", 4, "--generations", 3]
        done = subprocess.run(_line(words), cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        return cls(folder, folder / "finished", go_on)

    def broken(self, kill: Kill) -> list[str]:
        """Do a kill; return the promises that were broken."""
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        run = place / RUN
        if kill.phase != "baseline":
            shutil.copytree(self.finished, run)
        before = rows(run)
        started = _Started.start(_words(kill.phase), place, self.folder / "tmp")
        self.late += not started.kill(kill, run)
        return [
            *_ends_well(kill, *started.end()),
            *_leaves_nothing(started, place, self.folder / "tmp"),
            *_keeps(kill, run, before, self.go_on),
        ]


def _words(phase: str) -> list[object]:
    sizes = ["--population", 4, "--generations", 4]
    match phase:
        case "search":
            return ["resume", RUN, "--generations", 8]
        case "validation":
            return ["resume", RUN]
        case "force":
            return ["evolve", TARGET, "--run", RUN, *sizes, "--force", "--seed", 7]
    return ["evolve", TARGET, "--run", RUN, *sizes]


def _line(words: list[object]) -> list[str]:
    return [sys.executable, "-u", "-m", "gi_cuda", *map(str, words)]


@dataclass(frozen=True, slots=True)
class _Started:
    """A running command, whose processes have a mark in their environment."""

    process: subprocess.Popen[str]
    mark: str
    streams: tuple[Path, Path]

    @classmethod
    def start(cls, words: list[object], place: Path, temporary: Path) -> _Started:
        mark = str(uuid.uuid4())
        streams = (place.parent / "stdout", place.parent / "stderr")
        environment = {**os.environ, MARK: mark, "TMPDIR": str(temporary), "COLUMNS": "200"}
        environment |= {"GI_CUDA_CACHE_SIZE": "0", "PYTHONPATH": str(ROOT)}
        with streams[0].open("w") as out, streams[1].open("w") as err:
            process = subprocess.Popen(
                _line(words),
                cwd=place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                text=True,
                process_group=0,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        return cls(process, mark, streams)

    def kill(self, kill: Kill, run: Path) -> bool:
        """Kill the victim; return False if it had ended."""
        began = self._began(kill.phase, run)
        while self.process.poll() is None and not began():
            time.sleep(0.01)
        self._sleep(kill.delay)
        hit = False
        while self.process.poll() is None and not (hit := self._hit(kill)):
            time.sleep(0.005)
        if kill.victim not in MAIN and kill.phase == "search":
            self._sleep(1.0)
            self._send(signal.SIGINT)  # what goes on would take long
        return hit

    def end(self) -> tuple[int | None, str]:
        """Wait; return exit status (None if it does not end) and standard error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        return self.process.returncode, self.streams[1].read_text()

    def _began(self, phase: str, run: Path) -> Callable[[], bool]:
        said = self.streams[0]
        if phase == "validation":
            return lambda: "all generations" in said.read_text()
        if phase == "search":
            return lambda: "resuming" in said.read_text()
        return lambda: any(run.parent.glob(f".{RUN}.*making*"))

    def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def _hit(self, kill: Kill) -> bool:
        """Kill the victim, if it exists now."""
        if kill.victim == "SIGKILL":
            self.process.kill()
            return True
        if kill.victim in MAIN:
            self._send(MAIN[kill.victim])
            return True
        for pid in self.family():
            with contextlib.suppress(OSError):
                if _kind(pid) == kill.victim:
                    os.kill(pid, signal.SIGKILL)
                    return True
        return False

    def family(self) -> list[int]:
        """Return all living processes that have the mark."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found


def _kind(pid: int) -> str:
    """Return the kind of a process of the command: ``worker``, ``compiler``, ...; "" if unknown."""
    line = _program(pid)
    if b"fork_server" in line:
        # Workers are forked from a fork server, and that is forked as well.
        alike = 0
        while _program(pid := _parent(pid)) == line:
            alike += 1
        return ("preloaded", "fork server", "worker")[alike]
    return "compiler" if os.path.basename(line.split(b"\0")[0]) in _COMPILERS else ""


def _program(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def rows(run: Path) -> Rows:
    """Return every finished measurement of a run; none if there is no run."""
    if not (run / "run.db").exists():
        return {}
    with contextlib.closing(sqlite3.connect(run / "run.db")) as db:
        return {row[0]: row for row in db.execute("SELECT * FROM evaluation")}


def _ends_well(kill: Kill, status: int | None, said: str) -> Iterator[str]:
    allowed = {"SIGKILL": {-9, 0}}.get(kill.victim, {0, 1, 2, 130})
    if status not in allowed:
        yield f"exit status {status}"
    if "Traceback" in said:
        yield f"a traceback: {said.strip().splitlines()[-1]}"
    if status in (1, 2) and "gi-cuda: " not in said:
        yield "no message"


def _leaves_nothing(started: _Started, place: Path, temporary: Path) -> Iterator[str]:
    deadline = time.monotonic() + PATIENCE
    while (left := started.family()) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in left:
        yield f"process {pid} is left"
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for folder in (place, temporary):
        for path in folder.iterdir():
            if path != place / RUN:
                yield f"{path.relative_to(folder)} is left"
                shutil.rmtree(path, ignore_errors=True)
    if (place / RUN / "build").exists():
        yield "the run's build folder is left"


def _keeps(kill: Kill, run: Path, before: Rows, go_on: GoOn) -> Iterator[str]:
    """Yield broken promises: finished work is changed or lost, the run cannot be resumed."""
    if not run.exists():
        if kill.phase != "baseline":
            yield "the run is gone"
        return
    stored = rows(run)
    if kill.phase != "force" and not before.items() <= stored.items():
        yield "what was finished is lost or changed"
    done = go_on(run)
    if done.returncode:
        yield f"it does not go on: {done.stderr.strip()}"
    after = rows(run)
    if not stored.items() <= after.items():
        yield "something is evaluated twice"
    with contextlib.closing(sqlite3.connect(run / "run.db")) as db:
        (bred,) = db.execute("SELECT COUNT(*) FROM individual").fetchone()
        (open_,) = db.execute("SELECT COUNT(*) FROM generation WHERE NOT finished").fetchone()
    if len(after) != bred or open_:
        yield f"of {bred} individuals {len(after)} are evaluated; {open_} generations not finished"


def plainly(run: Path) -> subprocess.CompletedProcess[str]:
    """Resume a run as a user does."""
    return subprocess.run(
        _line(["resume", run]),
        env={**os.environ, "GI_CUDA_CACHE_SIZE": "0", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counted: Counter[tuple[str, str]] = Counter()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch:
        bench = Bench.make(Path(scratch), plainly)
        for kill in drawn(options.number, options.seed):
            broken = bench.broken(kill)
            counted[kill.phase, kill.victim] += 1
            failures += bool(broken)
            for one in broken:
                print(f"{kill}: {one}", flush=True)
    for (phase, victim), number in sorted(counted.items()):
        print(f"{phase:>12} {victim:<12} {number}")
    print(f"{options.number} kills, {bench.late} of them too late; {failures} broke a promise")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
