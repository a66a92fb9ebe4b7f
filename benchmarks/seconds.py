"""Compare searches that have the same seconds: their progress, and their winners.

A search is ``TARGET:PRESET:SEED:SECONDS``. As many run at a time as there are ``--devices``, each
on one of them with processors of its own; compare only searches that ran under equal conditions.
The result of each is printed when it ends, and written to the file ``--out``. ``--draw`` makes a
table and a figure of result files, and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from statistics import median

from matplotlib import pyplot as plt

from gi_cuda.analyze.finalists.winner import stored_refusal, stored_winner
from gi_cuda.analyze.stored.milestones import milestones
from gi_cuda.results.evaluation import Outcome
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.stored import open_store
from gi_cuda.store import Store

_VALIDATES = "validating"
"""Begin of the line that a search prints when it ends and validation begins."""

_EARLY = 60.0
"""Seconds after which the early share of the gain is taken."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search to be run."""

    target: Path
    preset: str
    seed: int
    seconds: float

    @property
    def name(self) -> str:
        """Return the name of its run's folder."""
        return f"{self.target.name}-{self.preset}-{self.seed}-{self.seconds:g}"

    @classmethod
    def of(cls, words: str) -> Wanted:
        """Parse a search from the command line."""
        target, preset, seed, seconds = words.rsplit(":", 3)
        return cls(Path(target), preset, int(seed), float(seconds))


@dataclass(frozen=True, slots=True)
class Ran:
    """A search that was run.

    Attributes:
        individuals, faster: number of individuals, and of those that were certainly faster.
        reached: pairs of seconds of search, and the best certain speed-up on the train cases then.
        winner: on the held-out cases; None if none was confirmed, for the reason in ``refusal``.
        after: seconds from the end of the search to the end of the command.
    """

    target: str
    preset: str
    seed: int
    seconds: float
    individuals: int
    faster: int
    reached: tuple[tuple[float, float], ...]
    winner: SpeedUp | None
    cases: dict[str, float]
    refusal: str
    after: float

    @property
    def words(self) -> str:
        """Return a line that describes it."""
        held = f"none: {self.refusal}"
        if self.winner is not None:
            low, high = self.winner.low, self.winner.high
            each = ", ".join(f"{case} {value:.3f}" for case, value in self.cases.items())
            held = f"{self.winner.value:.3f} [{low:.3f}, {high:.3f}]: {each}"
        train, early = f"{self.at(self.seconds):.3f}", f"{self.early:.2f}"
        return (
            f"{self.target} {self.preset} {self.seed} {self.seconds:g} s: {self.individuals}"
            f" individuals, {self.faster} faster; train {train}, {early} of the gain after"
            f" {_EARLY:g} s; held out {held}; {self.after:.0f} s after it"
        )

    def at(self, seconds: float) -> float:
        """Return the best speed-up on the train cases after some seconds."""
        return max((value for when, value in self.reached if when <= seconds), default=1.0)

    @property
    def early(self) -> float:
        """Return the share of the gain that was reached after a minute."""
        gain = self.reached[-1][1] - 1 if self.reached else 0.0
        return (self.at(_EARLY) - 1) / gain if gain else 1.0


def searched(wanted: Wanted, device: int, cores: Sequence[int], folder: Path) -> Ran:
    """Run a search on a device with some processors; return its result."""
    words = f"{wanted.target} --backend cuda --edits full --preset {wanted.preset} --no-cache"
    numbers = f"--time {wanted.seconds:g} --seed {wanted.seed} --run {folder}"
    command = [sys.executable, "-m", "gi_cuda", "evolve", *f"{words} {numbers}".split()]
    begun = ended = time.monotonic()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": str(device)},
        preexec_fn=partial(os.sched_setaffinity, 0, cores),
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(_VALIDATES) and ended == begun:
                ended = time.monotonic()
    with open_store(folder) as store:
        return _came_to(wanted, store, time.monotonic() - ended)


def _came_to(wanted: Wanted, store: Store, after: float) -> Ran:
    evaluations = store.evaluations().values()
    found = [(one.seconds, one.speed_up) for one in milestones(store) if one.speed_up]
    winner = stored_winner(store)
    validation = winner.validation if winner else None
    return Ran(
        wanted.target.name,
        wanted.preset,
        wanted.seed,
        wanted.seconds,
        len(evaluations),
        sum(one.outcome is Outcome.FASTER for one in evaluations),
        tuple(found),
        validation.overall if validation else None,
        {name: one.value for name, one in ((validation and validation.cases) or {}).items()},
        stored_refusal(store),
        after,
    )


def run_all(some: Sequence[Wanted], devices: int, cores: int, out: Path, runs: Path) -> None:
    """Run searches, as many at a time as there are devices.

    Args:
        out: file to which results are written.
        runs: folder of the runs.
    """
    places: SimpleQueue[int] = SimpleQueue()
    mine = sorted(os.sched_getaffinity(0))
    for device in range(devices):
        places.put(device)
    done: list[Ran] = []

    def run_one(wanted: Wanted, folder: Path) -> None:
        device = places.get()
        own = mine[device * cores : (device + 1) * cores]
        try:
            ran = searched(wanted, device, own, folder)
        finally:
            places.put(device)
        done.append(ran)
        print(ran.words, flush=True)
        out.write_text(json.dumps([asdict(one) for one in done]))

    with ThreadPoolExecutor(devices) as threads:
        folders = (runs / one.name for one in some)
        for _ in threads.map(run_one, some, folders):
            pass


def read(files: Sequence[Path]) -> list[Ran]:
    """Return the searches in some files, by target and preset."""
    found = []
    for file in files:
        for record in json.loads(file.read_text()):
            winner = record.pop("winner")
            reached = tuple(map(tuple, record.pop("reached")))
            found.append(
                Ran(**record, reached=reached, winner=SpeedUp(**winner) if winner else None)
            )
    return sorted(found, key=lambda one: (one.target, one.preset, one.seed))


def table(some: Sequence[Ran]) -> Iterator[str]:
    """Yield a line of a table for each target and preset: speed-ups held out and on train cases."""
    yield "| target | preset | held out, by seed | median | train | individuals |"
    yield "|---|---|---|---|---|---|"
    for (target, preset), group in groupby(some, key=lambda one: (one.target, one.preset)):
        ran = list(group)
        held = [one.winner.value if one.winner else 1.0 for one in ran]
        train = ", ".join(f"{one.at(one.seconds):.3f}" for one in ran)
        numbers = ", ".join(f"{one.individuals}" for one in ran)
        shown = ", ".join(f"{value:.3f}" for value in held)
        yield f"| `{target}` | `{preset}` | {shown} | {median(held):.3f} | {train} | {numbers} |"


def draw(some: Sequence[Ran], path: Path) -> None:
    """Draw the progress of searches on the train cases: a panel per target, a colour per preset."""
    targets = list(dict.fromkeys(one.target for one in some))
    presets = list(dict.fromkeys(one.preset for one in some))
    figure, panels = plt.subplots(1, len(targets), figsize=(5 * len(targets), 3.6), squeeze=False)
    for axes, target in zip(panels[0], targets, strict=True):
        for number, preset in enumerate(presets):
            label: str | None = preset
            for one in some:
                if (one.target, one.preset) == (target, preset):
                    points = [(0.0, 1.0), *one.reached, (one.seconds, one.at(one.seconds))]
                    points = [point for point in points if point[0] <= one.seconds]
                    axes.step(*zip(*points, strict=True), f"C{number}", where="post", label=label)
                    label = None
        axes.set_title(target)
        axes.set_xlabel("seconds of search")
    panels[0][0].set_ylabel("speed-up on the train cases, at least")
    panels[0][0].legend(loc="lower right", frameon=False, fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("searches", nargs="*", type=Wanted.of, metavar="TARGET:PRESET:SEED:SECONDS")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--cores", type=int, default=16, help="processors of each search")
    parser.add_argument("--out", type=Path, default=Path("seconds.json"))
    parser.add_argument("--runs", type=Path, help="where their runs are kept; otherwise none is")
    parser.add_argument("--draw", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--figure", type=Path, default=Path("seconds.png"))
    options = parser.parse_args()
    if options.draw:
        some = read(options.draw)
        print(*table(some), sep="\n")
        draw(some, options.figure)
        return
    with tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch:
        runs = options.runs or Path(scratch)
        run_all(options.searches, options.devices, options.cores, options.out, runs)


if __name__ == "__main__":
    main()
