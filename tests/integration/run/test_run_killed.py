"""A run that is killed or stopped at any moment goes on as if nothing had been."""

from __future__ import annotations

import contextlib
import os
import random
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.evaluation import Evaluation
from gi_cuda.execute.model import Sampling, Survival, Verdict
from gi_cuda.genome import Genotype
from gi_cuda.laboratory import Bounds, Laboratory
from gi_cuda.run import DATABASE, Tools
from gi_cuda.search import PRESETS
from gi_cuda.search.evolution import Evolution
from gi_cuda.store import Individual, Phases, Store
from gi_cuda.stored import stored_baseline, stored_plan
from gi_cuda.subject import Subject

KILLS = 10
"""For each of two presets: twenty in all."""

POPULATION, GENERATIONS = 8, 10

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

Rows = Mapping[int, tuple[Any, ...]]


@dataclass(slots=True)
class Started:
    """A ``gi-cuda`` process, and the mark that its environment hands down to all it starts."""

    process: subprocess.Popen[str]
    mark: str

    def family(self) -> list[int]:
        """All living processes that it started, directly or not, and itself."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def outlive(self) -> None:
        """Wait until all of them are gone; they have to go by themselves."""
        deadline = time.monotonic() + 60
        while family := self.family():
            with contextlib.suppress(ProcessLookupError):
                ended = os.pidfd_open(family[0])
                select.select([ended], [], [], max(0.0, deadline - time.monotonic()))
                os.close(ended)
            assert time.monotonic() < deadline, f"still alive: {family}"


@contextlib.contextmanager
def start(*words: object, cwd: Path) -> Iterator[Started]:
    """Start ``gi-cuda``, in a process group of its own as a shell would."""
    mark = f"GI_CUDA_TEST={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "gi_cuda", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", name: value},
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
            yield Started(process, mark)
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
    compiled = {path: path.stat().st_mtime_ns for path in folder.glob("build/batch/*")}
    moments: list[Callable[[], bool]] = [
        # Some measurements have ended and others have begun.
        lambda: count(database, "evaluation") >= evaluated + more,
        # A generation has been bred and nothing of it measured.
        lambda: count(database, "generation") > bred,
        # The compiler is at work.
        lambda: any(
            path not in compiled or path.stat().st_mtime_ns != compiled[path]
            for path in folder.glob("build/batch/*.cpp")
        ),
    ]
    return rng.choices(moments, weights=[6, 1, 3])[0]


def until(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a moment; the process must not end before it comes."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            if happened():
                return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.002)
            assert process.stderr is not None
            raise AssertionError(f"the search ended too early: {process.stderr.read()}")


def kill_and_resume(preset: str, folder: Path, target: Path, cwd: Path) -> list[Rows]:
    """Kill a run ten times; what was stored at each death, and at the end."""
    rng = random.Random(preset)
    evolve = ("evolve", target, "--run", folder, "--preset", preset, "--seed", 3, "--workers", 1)
    sizes = ("--population", POPULATION, "--generations", GENERATIONS, "--jobs", 1)
    stored: list[Rows] = []
    for death in range(KILLS):
        words = ("resume", folder) if death else (*evolve, *sizes)
        with start(*words, cwd=cwd) as started:
            until(moment(rng, folder), started.process)
            started.process.kill()
            assert started.process.wait() == -signal.SIGKILL
            assert started.process.stderr is not None
            assert started.process.stderr.read() == ""
        started.outlive()
        stored.append(rows(folder / DATABASE))
    with start("resume", folder, cwd=cwd) as started:
        said, complaints = started.process.communicate()
        assert started.process.returncode == 0, complaints
    assert f"{len(stored[-1])} individuals are evaluated already" in said
    started.outlive()
    return [*stored, rows(folder / DATABASE)]


@needs_proc
def test_twenty_kills_lose_nothing_and_repeat_nothing(
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
            individuals = store.individuals()
            assert len(individuals) == POPULATION * GENERATIONS
            assert set(history[-1]) == {one.ident for one in individuals}
            assert all(generation.finished for generation in store.generations())
            if preset == "random":
                assert individuals == uninterrupted(store, scale, scale_tools, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == sorted(presets)


class Unmeasured:
    """A laboratory with the real phenotypes, where everything measures as the same."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.phenotypes = laboratory.phenotypes

    def evaluate(self, batch: Mapping[int, Genotype]) -> Iterator[tuple[int, Evaluation]]:
        for ident in batch:
            yield ident, Evaluation(True, Survival.NORMAL, 0.0, Verdict.SAME, 1.0)


def uninterrupted(killed: Store, subject: Subject, tools: Tools, folder: Path) -> list[Individual]:
    """The individuals of the same search without a pause. Random search asks for no times."""
    plan, baseline = stored_plan(killed), stored_baseline(killed)
    bounds = Bounds(baseline.loops, Sampling())
    laboratory = Laboratory(
        subject, tools.compiler, tools.pool, tools.train(), tools.scratch("x"), bounds
    )
    with Store(folder / "uninterrupted.db", create=True) as store:
        evolution = Evolution(
            store=store,
            laboratory=Unmeasured(laboratory),
            phases=Phases,
            strategy=PRESETS[plan.preset](plan.settings),
            variation=subject,
            settings=plan.settings,
            seed=plan.seed,
            stop=lambda: False,
        )
        for _ in evolution.run():
            pass
        return store.individuals()


@needs_proc
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(scale: Subject, tmp_path: Path) -> None:
    sizes = ("--population", 6, "--generations", 3)
    with start("evolve", scale.target.folder, "--run", "r", *sizes, cwd=tmp_path) as started:
        assert started.process.stdout is not None
        for line in started.process.stdout:
            if line.startswith("generation 0"):
                break
        os.killpg(started.process.pid, signal.SIGINT)  # as a terminal does: to the whole group
        said, complaints = started.process.communicate()
    assert started.process.returncode == 130
    assert complaints == ""
    kept = re.search(r"stopped; (\d+) evaluations are kept", said)
    assert kept is not None
    assert "gi-cuda resume r" in said
    started.outlive()
    before = rows(tmp_path / "r" / DATABASE)
    assert len(before) == int(kept[1])
    assert 6 <= len(before) < 18
    with start("resume", "r", cwd=tmp_path) as resumed:
        said, complaints = resumed.process.communicate()
        assert resumed.process.returncode == 0, complaints
    after = rows(tmp_path / "r" / DATABASE)
    assert before.items() <= after.items()
    assert len(after) == 18
    assert "all generations are done" in said


@needs_proc
def test_ctrl_c_before_the_search_leaves_nothing_behind(scale: Subject, tmp_path: Path) -> None:
    with start("evolve", scale.target.folder, "--run", "runs/r", cwd=tmp_path) as started:
        until(lambda: any(tmp_path.glob("runs/.*/build/baseline/*")), started.process)
        os.killpg(started.process.pid, signal.SIGINT)
        said, complaints = started.process.communicate()
    assert started.process.returncode == 130
    assert complaints == "gi-cuda: interrupted\n"
    assert "nothing is kept" in said
    started.outlive()
    assert list(tmp_path.iterdir()) == []


@needs_proc
def test_a_time_limit_stops_cleanly_and_still_validates(scale: Subject, tmp_path: Path) -> None:
    sizes = ("--population", 6, "--generations", 10_000, "--time", 1)
    with start("evolve", scale.target.folder, "--run", "r", *sizes, cwd=tmp_path) as started:
        said, complaints = started.process.communicate()
    assert started.process.returncode == 0, complaints
    assert "time is up; go on with: gi-cuda resume r" in said
    assert re.search("^winner: |^no individual is faster", said, re.M)
