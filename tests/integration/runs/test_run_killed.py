"""Runs that are killed or stopped at any moment resume as if nothing had happened."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.evaluate.batches.passes import Trial
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.levels import idle_types
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Individual, Phases
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.stored import DATABASE, left_alone, stored_baseline, stored_plan
from gi_cuda.runs.tools import Tools
from gi_cuda.search import PRESETS
from gi_cuda.search.loop import Evolution
from gi_cuda.search.recipes import Origin
from gi_cuda.store import Store
from gi_cuda.subject import Subject
from tests.command import AtWork, Done, begin, gi_cuda, quietly
from tests.processes import MARK, outlive
from tests.sweeps import broad

KILLS = 6
"""For each of two presets; ``benchmarks.kills`` has hundreds."""

POPULATION, GENERATIONS = 4, 9

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

Rows = Mapping[int, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Plain:
    """The plain command at work, with nothing loaded beforehand."""

    process: subprocess.Popen[str]

    def ended(self, patience: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        return self.process.returncode is not None

    def end(self) -> Done:
        texts = self.process.communicate()
        return Done(self.process.args, self.process.returncode, *texts)

    def kill(self) -> Done:
        self.process.kill()
        return self.end()


def beside_steps(stderr: str) -> list[str]:
    """The lines on standard error that are no steps, which are plain words and perhaps a time."""
    return [
        line for line in stderr.splitlines() if not re.fullmatch(r"[a-z][a-z ,.-]*(: \d+ s)?", line)
    ]


@contextlib.contextmanager
def begin_plain(*words: object, cwd: Path, **environment: str) -> Iterator[Plain]:
    """Start ``python -m gi_cuda``, in a process group of its own as a shell would."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "gi_cuda", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        process_group=0,
        # Where the tests themselves run in the background, Ctrl-C may be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        try:
            yield Plain(process)
        finally:
            if process.poll() is None:
                process.kill()


def rows(database: Path) -> Rows:
    """Every finished measurement, as stored."""
    with contextlib.closing(sqlite3.connect(database)) as db:
        return {row[0]: row for row in db.execute("SELECT * FROM evaluation")}


def count(database: Path, table: str) -> int:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
            return int(db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # not there yet


def moment(rng: random.Random, folder: Path) -> Callable[[], bool]:
    """A random moment of a search: a predicate that becomes true when it has come."""
    database = folder / DATABASE
    evaluated, bred = count(database, "evaluation"), count(database, "generation")
    more = rng.randint(1, 4)
    compiled = sources(folder)
    moments: list[Callable[[], bool]] = [
        # Some measurements have ended and others have begun.
        lambda: count(database, "evaluation") >= evaluated + more,
        # A generation has been bred and nothing of it measured.
        lambda: count(database, "generation") > bred,
        # The compiler is at work.
        lambda: bool(sources(folder).items() - compiled.items()),
    ]
    return rng.choices(moments, weights=[6, 1, 3])[0]


def sources(folder: Path) -> dict[str, int]:
    """Return the compiler's input files with their times; files come and go."""
    found: dict[str, int] = {}
    for place, _, names in os.walk(folder / "build" / "batch"):
        for name in names:
            path = os.path.join(place, name)
            with contextlib.suppress(FileNotFoundError):
                if name.endswith(".cpp"):
                    found[path] = os.stat(path).st_mtime_ns
    return found


def comes(happened: Callable[[], bool], started: Plain | AtWork) -> bool:
    """Wait for a moment; whether it came before the command ended."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            if happened():
                return True
        if started.ended(0.005):
            return False


def kill_and_resume(preset: str, folder: Path, target: Path, cwd: Path) -> list[Rows]:
    """Kill a run ten times; what was stored at each death, and at the end."""
    rng = random.Random(preset)
    evolve = ("evolve", target, "--run", folder, "--preset", preset, "--seed", 3, "--workers", 1)
    sizes = ("--population", POPULATION, "--generations", GENERATIONS, "--jobs", 1)
    stored: list[Rows] = []
    mark = str(uuid.uuid4())

    def killed() -> Done:
        if stored:
            command = begin("resume", folder, cwd=cwd, **{MARK: mark})
        else:
            command = begin_plain(*evolve, *sizes, cwd=cwd, **{MARK: mark})
        with command as started:
            return started.kill() if comes(moment(rng, folder), started) else started.end()

    for _ in range(KILLS):
        done = quietly(killed)
        assert done.returncode == -signal.SIGKILL, f"the search ended too early: {done.stderr}"
        assert not beside_steps(done.stderr)
        outlive(mark)
        stored.append(rows(folder / DATABASE))
    done = gi_cuda("resume", folder, cwd=cwd, **{MARK: mark})
    assert done.returncode == 0, done.stderr
    assert f"{len(stored[-1])} individuals are evaluated already" in done.stdout
    outlive(mark)
    return [*stored, rows(folder / DATABASE)]


@broad
@needs_proc
def test_kills_lose_nothing_and_repeat_nothing(
    scale: Subject, scale_tools: Tools, tmp_path: Path
) -> None:
    target = scale.target.folder
    presets = ("barracuda", "random")
    with ThreadPoolExecutor(2) as both:
        jobs = [
            both.submit(kill_and_resume, preset, tmp_path / preset, target, tmp_path)
            for preset in presets
        ]
        histories = [job.result() for job in jobs]
    for preset, history in zip(presets, histories, strict=True):
        # What was measured once stays as it is: storing it twice is refused by the database, and
        # a row that was measured anew would differ in its times.
        for before, after in pairwise(history):
            assert before.items() <= after.items()
        with Store(tmp_path / preset / DATABASE) as store:
            every = store.individuals()
            # What is right of wrong finalists comes after the search.
            individuals = [one for one in every if one.origin != Origin.REPAIR]
            assert len(individuals) == POPULATION * GENERATIONS
            assert set(history[-1]) == {one.ident for one in every}
            assert all(generation.finished for generation in store.generations())
            if preset == "random":
                assert individuals == uninterrupted(store, scale, scale_tools, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == sorted(presets)


class Unmeasured:
    """An evaluator with the real phenotypes, where everything measures as the same."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.prepare = evaluator.prepare

    def evaluate(
        self, batch: Mapping[int, Trial], stop: object, more: object
    ) -> Iterator[tuple[int, Evaluation]]:
        for ident in batch:
            yield ident, Evaluation(True, Survival.NORMAL, 0.0, Verdict.SAME, 1.0)


def uninterrupted(killed: Store, subject: Subject, tools: Tools, folder: Path) -> list[Individual]:
    """The individuals of the same search without a pause. Random search asks for no times."""
    plan, baseline = stored_plan(killed), stored_baseline(killed)
    preset = PRESETS[plan.preset]
    subject = replace(subject, untested=left_alone(killed), idle=idle_types("host"))
    bounds = Bounds(baseline.loops, Sampling())
    evaluator = Evaluator(subject, tools.equipment(), bounds)
    with Store(folder / "uninterrupted.db", create=True) as store:
        evolution = Evolution(
            store=store,
            evaluator=Unmeasured(evaluator),
            phases=Phases,
            strategy=preset.strategy(plan.settings),
            variation=preset.vary(subject),
            settings=plan.settings,
            seed=plan.seed,
            stop=lambda: False,
        )
        for _ in evolution.run():
            pass
        return store.individuals()


@needs_proc
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(scale: Subject, tmp_path: Path) -> None:
    """A signal to a group of processes, and the next command: only the program shows both."""
    sizes = ("--population", 6, "--generations", 3)
    words = ("evolve", scale.target.folder, "--run", "r", *sizes)
    mark = str(uuid.uuid4())

    def interrupted() -> Done:
        with begin_plain(*words, cwd=tmp_path, **{MARK: mark}) as started:
            assert started.process.stdout is not None
            if any(line.startswith("generation 0") for line in started.process.stdout):
                # As a terminal does: to the whole group.
                os.killpg(started.process.pid, signal.SIGINT)
            return started.end()

    stopped = quietly(interrupted)
    assert stopped.returncode == 130, stopped.stderr
    assert not beside_steps(stopped.stderr)
    kept = re.search(r"stopped; (\d+) evaluations are kept", stopped.stdout)
    assert kept is not None
    assert "gi-cuda resume r" in stopped.stdout
    outlive(mark)
    before = rows(tmp_path / "r" / DATABASE)
    assert len(before) == int(kept[1])
    assert 6 <= len(before) < 18
    resumed = gi_cuda("resume", "r", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    after = rows(tmp_path / "r" / DATABASE)
    assert before.items() <= after.items()
    # What is right of a winner that is not, as a whole, is an individual that nobody bred.
    repaired = count(tmp_path / "r" / DATABASE, "individual WHERE origin = 'repair'")
    assert len(after) - repaired == 18
    assert "all generations are done" in resumed.stdout


@needs_proc
def test_ctrl_c_before_the_search_leaves_nothing_behind(scale: Subject, tmp_path: Path) -> None:
    words = ("evolve", scale.target.folder, "--run", "runs/r")
    mark = str(uuid.uuid4())
    with begin_plain(*words, cwd=tmp_path, **{MARK: mark}) as started:
        assert comes(lambda: any(tmp_path.glob("runs/.*/build/baseline/*")), started)
        os.killpg(started.process.pid, signal.SIGINT)
        stopped = started.end()
    assert stopped.returncode == 130
    assert beside_steps(stopped.stderr) == ["gi-cuda: interrupted"]
    assert "nothing is kept" in stopped.stdout
    outlive(mark)
    assert list(tmp_path.iterdir()) == []


def test_a_time_limit_stops_cleanly_and_still_validates(scale: Subject, tmp_path: Path) -> None:
    sizes = ("--population", 6, "--generations", 10_000, "--time", 3)
    done = gi_cuda("evolve", scale.target.folder, "--run", "r", *sizes, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "time is up; go on with: gi-cuda resume r" in done.stdout
    assert re.search("^winner: |^no individual is faster", done.stdout, re.M)
