"""Fixtures for runs: the command line, a target in a git repository, and one finished run."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from gi_cuda.analyze.finalists.winner import Winner
from gi_cuda.evaluate.levels import idle_types
from gi_cuda.grammar.coverage.places import Outcome, Place
from gi_cuda.report.as_json import PRINTED
from gi_cuda.results.evaluation import Evaluation, Validation
from gi_cuda.results.generation import Individual, Phases, Tally
from gi_cuda.results.measurement import Survival
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.stored import DATABASE
from gi_cuda.search import Tabu
from gi_cuda.search.breeding import fill
from gi_cuda.search.recipes import Fresh
from gi_cuda.search.strategies.barracuda import PRESET, SETTINGS
from gi_cuda.store import Store, Tabued
from gi_cuda.subject import Subject
from tests.command import THOROUGH, gi_cuda
from tests.conftest import OWN_CACHE

SCALE = Path(__file__).parents[2] / "targets" / "scale"
WASTE = "<_kernel.cu_27>"
"""The edit that every search on this target should find: the wasted work goes."""

WASTED = "waste += tile[i % BLOCK]"


def printed(verb: str, *words: object) -> dict[str, Any]:
    """Return the JSON that a verb prints, after checking it against its schema."""
    done = gi_cuda(*verb.split(), *words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    adapter = TypeAdapter(PRINTED[verb.partition(" 0")[0]])
    again = adapter.dump_python(adapter.validate_python(found), mode="json")
    assert again.keys() == found.keys()
    return found


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that was evolved from the command line.

    Attributes:
        repository: a git work tree that holds the target.
        folder: the run's folder.
        said: the output of ``evolve``.
        seed: the seed of the search.
    """

    repository: Path
    folder: Path
    said: str
    seed: int

    @property
    def source(self) -> Path:
        return self.repository / "kernels" / "scale" / "kernel.cu"


def copy_scale(to: Path) -> Path:
    """Copy the small target, with more useless work.

    A variant without this work is faster on a busy machine, too.
    """
    shutil.copytree(SCALE, to, ignore=shutil.ignore_patterns("__pycache__"))
    kernel = to / "kernel.cu"
    text = kernel.read_text("utf-8")
    for short, long in (("i < 40 *", "i < 80 *"), (f"{WASTED};", f"{WASTED} / (i + 1);")):
        assert short in text
        text = text.replace(short, long)
    kernel.write_text(text, "utf-8")
    return to


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return a copy of the small target that a test may change."""
    return copy_scale(tmp_path / "scale")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_searched(subject: Subject) -> Subject:
    """Return the small target as a search on the host sees it.

    A sum never equals the number that it is compared with, so no case tests that line.
    """
    parsed, names = subject.parsed, subject.grammar.mutable
    counted = parsed.count_places(names)
    assert counted is not None
    unseen = {Place("IF_kernel.cu_29", Outcome.TRUE), Place("_kernel.cu_29", Outcome.REACHED)}
    seen = {*counted.places} - unseen
    untested = parsed.untested(names, counted.places, seen)
    return replace(subject, untested=untested, idle=idle_types("host"))


def good_seed(subject: Subject, population: int) -> int:
    """Return a seed whose first generation has the good edit, so that the search surely gains."""
    vary = PRESET.vary(as_searched(subject))
    for seed in range(1, 500):
        rng, tabu = random.Random(f"{seed}/0"), Tabu()
        children = [fill(Fresh(12), vary, tabu, SETTINGS, rng).child for _ in range(population)]
        if any(child and str(child.genotype) == WASTE for child in children):
            return seed
    raise AssertionError("no seed finds the good edit at once")


def with_winner(run: Path, genotype: str, folder: Path) -> Path:
    """Return a copy of a run in which one more individual is the winner."""
    shutil.copytree(run, folder)
    with Store(folder / DATABASE) as store:
        last = store.generations()[-1].number
        parents = tuple(one.ident for one in store.individuals(last)[:2])
        add_winner(store, genotype, "crossover", parents)
    return folder


def add_winner(store: Store, genotype: str, origin: str, parents: tuple[int, ...] = ()) -> int:
    """Add an individual in a generation of its own, as the winner; return its number."""
    ident, last = store.next_ident(), store.generations()[-1].number
    one = Individual(ident, last + 1, genotype, b"winner", None, origin, parents)
    store.add_generation(last + 1, Tally(1), [one], Tabued())
    store.add_evaluation(
        ident, Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, 0.05, 0.04, 0.06)
    )
    store.add_phases(last + 1, Phases(), finished=True)
    speed_up = SpeedUp(2.0, 1.9, 2.1)
    validation = Validation(True, "", speed_up, {"held-out": speed_up})
    store.put(champion=asdict(Winner(ident, genotype, validation)))
    return ident


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, scale: Subject) -> Finished:
    """Return a copy of a run: the small target in a git repository, three generations of twelve.

    The first test process makes the run, for all of them.
    """
    shared = Path(os.environ[OWN_CACHE], "finished")
    shared.mkdir(exist_ok=True)
    made, known = shared / "repository", shared / "known.json"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not known.exists():
            shutil.rmtree(made, ignore_errors=True)
            seed = good_seed(scale, 12)
            known.write_text(json.dumps({"seed": seed, "said": _evolved(made, seed)}))
    repository = tmp_path_factory.mktemp("evolved") / "repository"
    shutil.copytree(made, repository, symlinks=True)
    folder = repository / "runs" / "first"
    with closing(sqlite3.connect(folder / DATABASE)) as db, db:
        moved = (str(made), str(repository))
        db.execute("UPDATE meta SET value = replace(value, ?, ?)", moved)
    return Finished(repository, folder, **json.loads(known.read_text()))


def _evolved(repository: Path, seed: int) -> str:
    """Make a repository with the small target and a run of it; return the output of ``evolve``."""
    copy_scale(repository / "kernels" / "scale")
    git(repository, "init", "--quiet")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message=all")
    words = ["--run", "runs/first", "--preset", "barracuda", "--seed", seed]
    words += ["--population", 12, "--generations", 3]
    done = gi_cuda("evolve", "kernels/scale", *words, cwd=repository, **{THOROUGH: "1"})
    assert done.returncode == 0, done.stderr
    return done.stdout
