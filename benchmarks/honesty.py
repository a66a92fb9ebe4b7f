"""Count how often noise is certified as a gain, and how often a winner's interval holds the truth.

``python -m benchmarks.honesty null`` searches on kernels of which no variant can be faster. Each
search is resumed twice. It counts certified winners: there should be none. With ``--forced`` each
look validates the best three individuals even if the search found none that is faster.
``python -m benchmarks.honesty planted`` searches on a kernel in which one value of a parameter does
5 % less work. The true gain of this value is measured at length, apart from the searches. The
intervals of at least 94 of 100 winners should hold it.

Each search is a process of its own, on a GPU of its own if there are several. It prints a line
when it ends. With ``--log FILE`` the same command continues an interrupted benchmark. ``--busy 2``
keeps two processors busy meanwhile. With ``null --preset adaptive`` lines change and kernels are
transformed as well; the kernel then takes hardly any time beside another one on a CPU.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from rich.console import Console

from benchmarks.honesty_target import DATA, NULL, SMALL, TARGET, WASTEFUL
from gi_cuda.analyze.finalists.finalists import select_winner
from gi_cuda.analyze.validate.looks import look_at_held_out
from gi_cuda.backends import set_one_thread
from gi_cuda.backends.compile.caching.code_cache import open_cache
from gi_cuda.backends.cuda.choice import VISIBLE
from gi_cuda.backends.table import backend_named
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.grammar import EDIT_SETS, convert, read_source, write_bnf, write_scope
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import Verdict, is_faster
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import Plan, open_store
from gi_cuda.search import PRESETS

Record: TypeAlias = dict[str, Any]
"""The result of a task, as a line of the log."""

ITEMS = {"host": (150_000, 120_001), "cuda": (4_000_000, 3_200_001)}
"""Items in the train case and in the held-out case; a launch takes at least some microseconds."""

WORK = {"host": 40, "cuda": 2_000}
"""Iterations of the loop with the planted gain; the loop takes most of the time."""

GENERATIONS = 2
"""Generations of a search before each look."""

FORCED = 3
"""Smallest number of individuals that a forced look validates."""

TRUTHS, TIMES = 4, 5
"""Number of runs that measure the true gain, and of validations in each run."""


@contextmanager
def busy(number: int) -> Iterator[None]:
    """Run some processes that use processors and memory while the block runs."""
    work = "import numpy as np\na = np.ones(4000000)\nwhile True: a *= 1.0000001"
    others = [subprocess.Popen([sys.executable, "-c", work]) for _ in range(number)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


@contextmanager
def made(
    kernel: str, values: Sequence[int], seed: int, backend: str, preset: str = "tune"
) -> Iterator[Path]:
    """Yield the folder of a run over the one parameter of a kernel, before its search.

    Args:
        values: values of the parameter; the last one is its default.
    """
    with tempfile.TemporaryDirectory(prefix="gi-cuda-honesty-") as scratch:
        folder = Path(scratch)
        (folder / "kernel.cu").write_text(kernel % values[-1] + SMALL)
        (folder / "data.py").write_text(DATA)
        (folder / "target.toml").write_text(TARGET % (list(values), values[-1], *ITEMS[backend]))
        how = PRESETS[preset]
        bnf, scope = folder / "small.bnf", folder / "small.scope"
        grammar = convert(read_source(folder / "kernel.cu"), ["small"], EDIT_SETS[how.edits])
        bnf.write_text(write_bnf(grammar))
        scope.write_text(write_scope(grammar))
        subject = open_subject(folder, backend, "source", edits=how.edits, bnf=bnf, scope=scope)
        settings = how.settings.having(min(60, len(values) - 1), GENERATIONS)
        plan = Plan(preset, settings, seed, 1 if backend == "cuda" else 2, 2)
        with create_run(subject, folder / "run", plan, cache=open_cache(print)):
            pass
        yield folder / "run"


def looked(folder: Path, look: int, *, forced: bool = False) -> SpeedUp | None:
    """Continue a search, validate on the held-out cases, and return the certified interval.

    Args:
        forced: validate the best even if the search found none that is faster.
    """
    with open_run(folder, open_cache(print)) as opened:
        run = opened.extended(look * GENERATIONS)
        for _ in run.evolution().run():
            pass
        if winner := select_winner(run):
            return winner.validation.overall
        kinds = (None, Verdict.UNCERTAIN, Verdict.SAME)
        best = [one for kind in kinds for one, _ in run.store.best(FORCED, kind)][:FORCED]
        if not best or not forced:
            return None
        wanted = [candidate(run.subject, run.subject.read(one.genotype)) for one in best]
        noise, found, _ = look_at_held_out(run, wanted)
        floor = run.baseline.floor
        certified = (one.overall for one in found if is_faster(one.overall, noise, floor))
        return next(certified, None)


def null(seed: int, backend: str, preset: str, looks: int, forced: bool) -> Record:
    """Search on a kernel without possible gain, and resume until a winner is certified."""
    name = list(NULL)[seed % len(NULL)]
    found: Counter[str] = Counter()
    certified = None
    with made(NULL[name], [*range(2, 401), 1], seed, backend, preset) as folder:
        for look in range(1, looks + 1):
            if (certified := looked(folder, look, forced=forced)) is not None:
                break
        with open_store(folder) as store:
            for generation in store.generations():
                found.update(
                    str(one.outcome) for one in store.evaluations(generation.number).values()
                )
    said = f"certified {certified} at look {look}" if certified else f"nothing in {looks} looks"
    record = {"certified": certified is not None, "right": sum(found.values())}
    return {"said": f"{name}: {said}; {dict(found)}", "faster": found["faster"], **record}


def planted(seed: int, backend: str, gain: float) -> Record:
    """Search on a kernel with a planted gain; return the winner's certified interval."""
    with made(WASTEFUL, planted_values(backend, gain), seed, backend) as folder:
        found = looked(folder, 1)
    if found is None:
        return {"said": "not certified"}
    return {"said": f"certified {found}", "low": found.low, "high": found.high}


def truth(number: int, backend: str, gain: float) -> Record:
    """Measure the planted gain, by validations one after the other, each in new processes."""
    values = planted_values(backend, gain)
    with made(WASTEFUL, values, number, backend) as folder, open_run(folder) as run:
        one = candidate(run.subject, run.subject.read(f"TAG={values[0]}"))
        found = [run.validate([one])[0].overall for _ in range(TIMES)]
    gains = [one.value for one in found if one is not None]
    return {"said": " ".join(f"{one:.4f}" for one in gains), "gains": gains}


def planted_values(backend: str, gain: float) -> list[int]:
    """Return two numbers of loop iterations: one that takes less time by the gain, the default."""
    return [round(WORK[backend] / (1 + gain)), WORK[backend]]


Task: TypeAlias = "partial[Record]"


def in_processes(
    tasks: Mapping[str, Task], processes: int, backend: str, log: Path | None, console: Console
) -> dict[str, Record]:
    """Run tasks in parallel, print a line for each when it ends, and return the results.

    Args:
        log: file with results of earlier runs, to which new ones are appended.
    """
    lines = log.read_text("utf-8").splitlines() if log is not None and log.is_file() else []
    done: dict[str, Record] = dict(json.loads(line) for line in lines)
    context = multiprocessing.get_context("spawn")
    gpus = len(backend_named(backend).gpus())
    there = os.environ.get(VISIBLE, "").split(",") if VISIBLE in os.environ else range(gpus)
    names, queue = [str(one) for one in there], context.Queue()
    processes = processes or max(1, len(names))
    for at in range(processes):
        queue.put(names[at % len(names)] if names else "")
    with ProcessPoolExecutor(processes, context, _begin, (queue,)) as pool:
        waiting = {pool.submit(_done, task): key for key, task in tasks.items() if key not in done}
        for future in as_completed(waiting):
            key = waiting[future]
            done[key] = future.result()
            console.print(f"{key}: {done[key]['said']}", highlight=False)
            if log is not None:
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, done[key]]) + "\n")
    return {key: done[key] for key in tasks}


def _begin(queue: Queue[str]) -> None:
    """Make a process ready for tasks: let it see a single GPU."""
    set_one_thread()
    if name := queue.get():
        os.environ[VISIBLE] = name


def _done(task: Task) -> Record:
    try:
        return task()
    except UserError as error:  # too noisy to begin
        return {"said": f"refused: {error.what}", "refused": True}


def say_null(found: Mapping[str, Record], console: Console) -> None:
    """Print how often a winner was certified."""
    done = [one for one in found.values() if "refused" not in one]
    right, faster = (sum(one[name] for one in done) for name in ("right", "faster"))
    console.print(
        f"{len(done)} searches, {len(found) - len(done)} refused as too noisy; of {right} right"
        f" individuals {faster} called faster ({faster / max(1, right):.2%});"
        f" {sum(one['certified'] for one in done)} certified",
        highlight=False,
    )


def say_planted(found: Mapping[str, Record], console: Console) -> None:
    """Print the true gain, and how many intervals hold it."""
    gains = [gain for one in found.values() for gain in one.get("gains", ())]
    intervals = [(one["low"], one["high"]) for one in found.values() if "low" in one]
    refused = sum("refused" in one for one in found.values())
    searches = sum(key.startswith("search") for key in found)
    if not gains or not intervals:
        console.print(f"nothing to compare: {refused} refused as too noisy", highlight=False)
        return
    true = float(np.median(gains))
    held = sum(low <= true <= high for low, high in intervals)
    above = sum(low > true for low, _ in intervals)
    width = float(np.median([high / low - 1 for low, high in intervals]))
    console.print(
        f"truth {true:.4f} ({len(gains)} validations, {min(gains):.4f} to {max(gains):.4f});"
        f" {len(intervals)} of {searches} searches certified it, {refused} refused as too noisy;"
        f" {held} of {len(intervals)} intervals hold it, {above} lie above it; median width"
        f" {width:.2%}",
        highlight=False,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", choices=("null", "planted"))
    parser.add_argument("--backend", default="host", choices=WORK)
    parser.add_argument("--searches", type=int, help="200 for null, 100 for planted")
    parser.add_argument("--processes", type=int, default=0, help="side by side; one for each GPU")
    parser.add_argument("--log", type=Path, help="a file; what is in it is not done again")
    parser.add_argument("--preset", default="tune", help="null: how to search")
    parser.add_argument("--looks", type=int, default=3, help="null: validations of each search")
    parser.add_argument(
        "--forced", action="store_true", help=f"null: validate the best {FORCED} at each look"
    )
    parser.add_argument("--gain", type=float, default=0.05, help="planted: what there is to gain")
    parser.add_argument("--busy", type=int, default=0, help="processes that compute meanwhile")
    options = parser.parse_args()
    console = Console(width=110)
    on, nothing = options.backend, options.question == "null"
    if nothing:
        tasks = {
            f"search {seed}": partial(null, seed, on, options.preset, options.looks, options.forced)
            for seed in range(options.searches or 200)
        }
    else:
        tasks = {f"truth {n}": partial(truth, n, on, options.gain) for n in range(TRUTHS)}
        tasks |= {
            f"search {seed}": partial(planted, seed, on, options.gain)
            for seed in range(options.searches or 100)
        }
    with busy(options.busy):
        found = in_processes(tasks, options.processes, on, options.log, console)
    (say_null if nothing else say_planted)(found, console)


if __name__ == "__main__":
    main()
