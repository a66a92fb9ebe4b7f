"""Tune on a GPU: beside Kernel Tuner, or all of a space.

    python -m benchmarks.tuning_live beside T1... --strategies NAME... --ours 40 --theirs 120
    python -m benchmarks.tuning_live sweep TARGET... --check --sweep 150 --bayes 30

``beside`` makes a target of each T1 file, checks it, and tunes it with ``gi-cuda tune``. Then
Kernel Tuner tunes the same T1 file by its own T1 interface, on the same data, and verifies against
the same answers. A wrong answer ends Kernel Tuner as a rule; here such a configuration counts as
failed. Seconds count from the start of each command. The best configuration of either tool is
timed again by gi-cuda, in one process; each tool's own times are scaled by what that gave for its
best. Kernel Tuner is not a dependency of this project.

``sweep`` measures all configurations of targets, or as many as there is time for. It writes caches
of Kernel Tuner, which :mod:`benchmarks.tuning` replays.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from gi_cuda.analyze.stored.tuning_results import measured
from gi_cuda.backends.table import open_backend
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.genome import Genotype
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import DATABASE, Plan
from gi_cuda.search import find_preset
from gi_cuda.spec import CaseRole
from gi_cuda.spec.parameters import Value
from gi_cuda.subject import load_subject
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.records.exports import kernel_tuner_cache, write_json
from gi_cuda.tune.t1.json_node import read_json

GI_CUDA = (sys.executable, "-m", "gi_cuda")
NEAR = 1.05
"""A search has arrived when its best time is within this factor of the best time known."""
GRACE = 90.0
"""Seconds that a tool may take beyond the time of its search."""

POINTS = 20_000_000
"""Points of pnpoly, as in its T1 file."""


def pnpoly_arguments(folder: Path, points: int = POINTS) -> list[dict[str, Any]]:
    """Return the arguments of pnpoly, whose T1 file has none, and write its points to a folder.

    No vertex has a coordinate of a point: the kernel's methods differ where one has.
    """
    places = np.random.default_rng(0).integers(0, 512, 2 * points)
    ((2 * places + 1) / 1024).astype(np.float32).tofile(folder / "points.bin")
    vector = {"MemoryType": "Vector", "Size": points}
    return [
        {"Name": "bitmap", "Type": "int32", "AccessType": "WriteOnly", "Output": 1, **vector},
        {
            "Name": "points",
            "Type": "float2",
            "AccessType": "ReadOnly",
            "FillType": "BinaryRaw",
            "DataSource": str((folder / "points.bin").resolve()),
            **vector,
        },
        {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": points},
        {
            "Name": "d_vertices",
            "Type": "float2",
            "MemoryType": "Symbol",
            "AccessType": "ReadOnly",
            "FillType": "Random",
            "Size": 600,
        },
    ]


@dataclass(frozen=True, slots=True)
class Tried:
    """A configuration that a tool measured.

    Attributes:
        seconds: when its result was there, since the tool's start.
        milliseconds: its time, as the tool measured it; None: the configuration failed.
    """

    seconds: float
    milliseconds: float | None
    configuration: Mapping[str, Value]


def tried(cache: Path, begun: float) -> list[Tried]:
    """Read a cache of Kernel Tuner whose results have timestamps, in the order of these.

    Args:
        begun: start of the tool, in seconds since 1970.
    """
    root = read_json(cache).value
    found = []
    for one in root["cache"].values():
        if one["timestamp"]:
            at = datetime.fromisoformat(one["timestamp"]).timestamp()
            given = one.get("time")
            took = float(given) if isinstance(given, int | float) and given < 1e19 else None
            values = {name: one[name] for name in root["tune_params_keys"]}
            found.append(Tried(at - begun, took, values))
    return sorted(found, key=lambda one: one.seconds)


def best(found: Sequence[Tried]) -> Tried | None:
    """Return the fastest of some configurations; None: all failed."""
    right = [one for one in found if one.milliseconds is not None]
    return min(right, key=lambda one: one.milliseconds or 0.0, default=None)


def arrival(found: Sequence[Tried], scale: float, goal: float) -> tuple[float, int] | None:
    """Return the seconds and the number of evaluations until a time is at most the goal.

    Args:
        scale: factor from the tool's own times to those of the goal.
    """
    for number, one in enumerate(found, 1):
        if one.milliseconds is not None and one.milliseconds * scale <= goal:
            return one.seconds, number
    return None


def told(command: Sequence[str], log: Path, limit: float, given: bytes | None = None) -> int:
    """Run a command and append what it prints to a file; return its status, 124 after the limit."""
    with log.open("ab") as file:
        file.write(f"$ {' '.join(command)}\n".encode())
        file.flush()
        try:
            done = subprocess.run(
                command,
                input=given,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124
    return done.returncode


def timed_again(run: Path, configurations: Sequence[Mapping[str, Value]]) -> list[float | None]:
    """Return the milliseconds of configurations, each the median of three evaluations in turn;
    None: not right. Parameters that the run's target leaves at one value keep it."""
    with open_run(run) as opened:
        space, subject = opened.subject.space, opened.subject
        fixed = {one.name: one.values[0] for one in space.parameters if len(one.values) == 1}
        batch = {
            number: Genotype(space.chosen({**values, **fixed}), subject.original.edits)
            for number, values in enumerate(configurations, 1)  # 0 is the reference
        }
        found: dict[int, list[float]] = {number: [] for number in batch}
        for _ in range(3):
            evaluator = opened.tools.evaluator(opened.baseline, PastResults({}))
            for number, one in evaluator.evaluate(evaluator.prepare(batch)):
                if one.ratio is not None:
                    found[number].append(one.ratio * opened.baseline.seconds * 1e3)
    return [statistics.median(some) if some else None for some in found.values()]


def beside(t1: Path, strategy: str, out: Path, options: argparse.Namespace) -> str:
    """Tune a T1 file by both tools; return the rows to print."""
    folder = options.work / t1.stem
    folder.mkdir()
    log, target, run = out / f"{t1.stem}.log", folder / "target", folder / "run"
    described, note = t1.resolve(), ""
    content = json.loads(t1.read_text())
    spec = content["KernelSpecification"]
    if not spec["Arguments"] and spec["KernelName"] == "cn_pnpoly":
        spec["Arguments"] = pnpoly_arguments(folder, options.points)
        spec["ProblemSize"] = [options.points]
        spec["KernelFile"] = str((t1.parent / spec["KernelFile"]).resolve())
        described, note = folder / t1.name, "; the T1 file has no arguments, they were added"
        described.write_text(json.dumps(content))
    steps = [
        ("init", [*GI_CUDA, "init", "--t1", str(described), "-o", str(target)]),
        ("check", [*GI_CUDA, "check", str(target), "--backend", options.backend]),
    ]
    for name, command in steps:
        begun = time.time()
        status = told(command, log, GRACE)
        print(f"{t1.stem}: {name} status {status}, {time.time() - begun:.1f} s", flush=True)
    rows, found = [f"{t1.stem}{note}"], {}
    for tool, seconds in (("gi-cuda", options.ours), (f"Kernel Tuner {strategy}", options.theirs)):
        cache, begun = out / f"{t1.stem}-{tool.split()[0]}.json", time.time()
        if tool == "gi-cuda":
            command = [*GI_CUDA, "tune", str(target), "--backend", options.backend]
            command += ["--time", f"{seconds:g}", "--run", str(run)]
            status = told([*command, "--kernel-tuner-cache", str(cache)], log, seconds + GRACE)
        else:
            job = {
                "t1": described,
                "target": target,
                "case": load_subject(target, options.backend).cases(CaseRole.TRAIN)[0],
                "run": run,
                "cache": cache,
                "strategy": strategy,
                "seconds": seconds,
                "verify": not options.unverified,
            }
            command = [sys.executable, "-m", "benchmarks.tuning_live_theirs"]
            status = told(command, log, seconds + GRACE, pickle.dumps(job))
        print(f"{t1.stem}: {tool} status {status}, {time.time() - begun:.1f} s", flush=True)
        found[tool] = tried(cache, begun) if cache.is_file() else []
    bests = {tool: one for tool, some in found.items() if (one := best(some)) is not None}
    again = {tool: one.milliseconds for tool, one in bests.items()}
    if (run / DATABASE).is_file():
        configurations = [one.configuration for one in bests.values()]
        again = dict(zip(bests, timed_again(run, configurations), strict=True))
    known = min((took for took in again.values() if took), default=0.0)
    for tool, some in found.items():
        right = sum(one.milliseconds is not None for one in some)
        words = [f"  {tool}: {len(some)} evaluations, {right} right"]
        if some:
            words.append(f"the first after {some[0].seconds:.1f} s")
        if tool in bests and (took := again[tool]):
            own = bests[tool].milliseconds or took
            reached = arrival(some, took / own, known * NEAR)
            words.append(f"best {own:.4g} ms by itself, {took:.4g} ms timed again")
            words.append(
                f"within {NEAR:g} x of {known:.4g} ms after {reached[0]:.1f} s and {reached[1]}"
                if reached
                else f"never within {NEAR:g} x of {known:.4g} ms"
            )
            words.append(" ".join(f"{n}={v}" for n, v in bests[tool].configuration.items()))
        rows.append(", ".join(words))
    return "\n".join(rows)


# -- whole spaces ---------------------------------------------------------------------------------


def sweep(target: Path, seconds: float, cache: Path, options: argparse.Namespace) -> str:
    """Measure as many configurations of a target as there is time for; return the row to print."""
    subject = load_subject(target, options.backend)
    preset = f"tune-{options.searcher}"
    settings = find_preset(preset, "--searcher").settings
    cores, on = len(os.sched_getaffinity(0)), open_backend(options.backend)
    several = len(on.devices)
    settings = replace(
        settings,
        population=options.population * several,
        cohorts=options.cohorts * several,
    )
    workers = on.workers(0, cores)
    folder = options.work / cache.stem
    started = time.perf_counter()
    with create_run(subject, folder, Plan(preset, settings, 1, workers, cores)) as run:
        begun = time.perf_counter()
        evolution = run.evolution(stop=lambda: time.perf_counter() - begun > seconds)
        for _ in evolution.run():
            pass
        took = time.perf_counter() - begun
        rows, device = list(measured(run.store, subject)), run.tools.backend.device()
    values = {one.name: one.values for one in subject.space.parameters}
    write_json(cache, kernel_tuner_cache(values, rows, subject.target.name, device))
    size = Grid.of_space(subject.space).size
    right = [one.cost for one in rows if one.cost is not None]
    return (
        f"{subject.target.name}: {len(rows)} of {size} measured ({len(rows) / size:.1%}),"
        f" {len(right)} right, {took:.1f} s after {begun - started:.1f} s of baseline,"
        f" {len(rows) / took:.1f} a second, reference {rows[0].cost:.4g} ms,"
        f" best {min(right):.4g} ms"
    )


def sweep_all(options: argparse.Namespace) -> None:
    """Check targets, sweep their spaces, and search them; print a row for each."""
    for target in options.files:
        log, name = options.out / f"{target.name}.log", target.name
        if options.check:
            begun = time.time()
            command = [*GI_CUDA, "check", str(target), "--backend", options.backend]
            status = told(command, log, GRACE)
            print(f"{name}: check status {status}, {time.time() - begun:.1f} s", flush=True)
        if options.sweep:
            cache = options.out / f"{name}.json"
            print(sweep(target, options.sweep, cache, options), flush=True)
        if options.bayes:
            cache, begun = options.out / f"{name}-bayes.json", time.time()
            command = [*GI_CUDA, "tune", str(target), "--backend", options.backend]
            command += [
                "--time",
                f"{options.bayes:g}",
                "--run",
                str(options.work / f"{name}-bayes"),
            ]
            status = told(
                [*command, "--kernel-tuner-cache", str(cache)], log, options.bayes + GRACE
            )
            found = tried(cache, begun) if cache.is_file() else []
            fastest = best(found)
            print(
                f"{name}: bayes status {status}, {len(found)} evaluations,"
                f" best {fastest.milliseconds if fastest else None} ms"
                f" after {fastest.seconds if fastest else 0:.1f} s",
                flush=True,
            )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("beside", "sweep"))
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="T1 files, or targets")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--out", type=Path, default=Path("tuning-live"), help="for results")
    parser.add_argument("--work", type=Path, help="a folder for runs and data, which are large")
    parser.add_argument("--ours", type=float, default=40.0, help="seconds of gi-cuda tune")
    parser.add_argument("--theirs", type=float, default=120.0, help="seconds of Kernel Tuner")
    parser.add_argument("--strategies", nargs="+", default=["hybrid_vndx"], help="one for each T1")
    parser.add_argument("--unverified", action="store_true", help="Kernel Tuner does not verify")
    parser.add_argument("--points", type=int, default=POINTS, help="of pnpoly")
    parser.add_argument("--check", action="store_true", help="check each target first")
    parser.add_argument("--sweep", type=float, default=0.0, help="seconds of each sweep")
    parser.add_argument(
        "--searcher", default="exhaustive", help="random: a sample of a large space"
    )
    parser.add_argument("--population", type=int, default=256, help="configurations under way")
    parser.add_argument("--cohorts", type=int, default=4, help="parts in which these are asked for")
    parser.add_argument("--bayes", type=float, default=0.0, help="seconds of gi-cuda tune")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tuning-live-", dir=options.work) as work:
        options.out, options.work = options.out.resolve(), Path(work).resolve()
        if options.command == "sweep":
            sweep_all(options)
            return
        strategies = options.strategies * len(options.files)
        for file, strategy in zip(options.files, strategies, strict=False):
            print(beside(file, strategy, options.out, options), flush=True)


if __name__ == "__main__":
    main()
