"""Searches on machines of several kinds: here two C++ compilers, of which one defines ``OTHER``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dask
import pytest
from distributed import Nanny, Scheduler, SpecCluster

from gi_cuda.analyze.finalists.winner import how_to_go_on
from gi_cuda.cluster.kinds import kinds_of
from gi_cuda.cluster.meeting import Meeting, meeting_at
from gi_cuda.cluster.package import package_of
from gi_cuda.cluster.portable import evaluated_on_kinds
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.results.evaluation import Outcome
from gi_cuda.results.kinds import Objective
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import find_preset
from tests.command import ensure_running, gi_cuda
from tests.integration.runs.conftest import copy_scale
from tests.sweeps import broad

OTHER = Path(__file__).with_name("other-compiler")
TRUE_THERE = "tile[threadIdx.x] = mine;"
PLAN = Plan("random", find_preset("random", "").settings.having(8, 1), 5, 1, 1)


@pytest.fixture(scope="module")
def meeting() -> Iterator[Meeting]:
    """A cluster of two workers of two kinds."""
    ensure_running()
    worker = {"cls": Nanny, "options": {"nthreads": 1}}
    other = {"cls": Nanny, "options": {"nthreads": 1, "env": {"CXX": str(OTHER)}}}
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        SpecCluster({0: worker, 1: other}, scheduler) as made,
    ):
        yield meeting_at(made.scheduler_address)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run on a kernel that holds a statement which only the other kind needs."""
    folder = tmp_path_factory.mktemp("kinds")
    copy_scale(folder / "scale")
    kernel = folder / "scale" / "kernel.cu"
    text = kernel.read_text()
    assert TRUE_THERE in text
    factors = "#ifdef OTHER\n#define FACTOR 2\n#else\n#define FACTOR 1\n#endif\n"
    doubled = f"mine *= FACTOR;\n    mine /= FACTOR;\n    {TRUE_THERE}"
    kernel.write_text(factors + text.replace(TRUE_THERE, doubled))
    plan = replace(PLAN, objective=Objective.WORST)
    with create_run(open_subject(folder / "scale", "host"), folder / "run", plan) as made:
        yield made


def _line(run: Run, text: str) -> str:
    """The rule of a statement."""
    grammar = run.subject.grammar
    return next(f"<{rule.name}>" for rule in grammar.rules if grammar.text(rule.name) == text)


@broad
def test_what_is_right_on_one_kind_alone_is_wrong(meeting: Meeting, run: Run) -> None:
    said: list[str] = []
    wrong = run.subject.read(_line(run, "mine /= FACTOR;"))
    waste = run.subject.read(_line(run, "waste += tile[i % BLOCK] / (i + 1);"))
    with evaluated_on_kinds(meeting, said.append, run) as evaluator:
        own, other = evaluator.kinds
        batch = {1: run.subject.original, 2: wrong, 3: waste}
        found = dict(evaluator.evaluate(evaluator.prepare(batch)))
        candidates = [unmodified(run.subject), *(candidate(run.subject, g) for g in (wrong, waste))]
        same, fails, faster = replace(run, others=evaluator).glance(candidates)
    assert "of another kind" in other
    assert [one.partition(": worker")[0] for one in said] == [
        f"evaluating on {own}",
        f"evaluating on {other}",
    ]
    assert sorted(found) == [1, 2, 3]
    assert found[2].outcome is Outcome.WRONG
    assert found[2].message.startswith(f"on {other}: train: out[")
    for ident in (1, 3):
        assert found[ident].right
        assert {one.case for one in found[ident].samples} == {
            f"train on {own}",
            f"train on {other}",
        }
    assert not fails.correct
    assert fails.message.startswith(f"on {other}: wrong: held-out: out[")
    assert same.correct
    assert faster.cases is not None
    assert faster.cases.keys() == {f"held-out on {own}", f"held-out on {other}"}
    assert faster.overall is not None
    assert faster.overall.value == min(one.value for one in faster.cases.values())
    assert run.glance([candidate(run.subject, wrong)])[0].correct, "on its own kind"


def test_a_run_goes_on_with_the_kinds_that_it_began_with(meeting: Meeting, run: Run) -> None:
    kinds = run.store.get("kinds")
    run.store.put(kinds=["GPU One", "GPU Two"])
    with (
        pytest.raises(UserError, match="the run is for GPU One and GPU Two; the workers are"),
        evaluated_on_kinds(meeting, lambda _: None, run),
    ):
        pass
    run.store.put(kinds=kinds)
    assert how_to_go_on(run.store, run.folder) == f"gi-cuda resume {run.folder} --cluster ADDRESS"


def test_the_kinds_of_a_cluster(meeting: Meeting, run: Run) -> None:
    own = package_of(run).tools
    first, second = kinds_of(meeting, "host", own)
    assert first.tools == own
    assert second.tools == {**own, "compiler": "g++ of another kind"}
    assert second.name == f"{own['device']} (compiler g++ of another kind)"
    with pytest.raises(
        UserError, match="none of its workers is of the search's own kind, a toaster"
    ):
        kinds_of(meeting, "host", {**own, "device": "a toaster"})
    with pytest.raises(UserError, match=r"has another gi-cuda: its build is \w+, here it is 0"):
        kinds_of(meeting, "host", {**own, "build": "0"})


@broad
def test_a_search_from_the_command_line(meeting: Meeting, run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.subject.target.folder, tmp_path / "scale")
    numbers = [
        "--preset",
        "random",
        "--population",
        6,
        "--generations",
        1,
        "--objective",
        "geomean",
    ]
    address = meeting.options["address"]
    done = gi_cuda(
        "evolve", tmp_path / "scale", "--run", tmp_path / "run", *numbers, "--cluster", address
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("evaluating on ") == 2
    assert "generation 0: 6 evaluated" in done.stdout
    shown = gi_cuda("show", tmp_path / "run", "--json")
    assert "--objective geomean --cluster ADDRESS" in shown.stdout
    more = gi_cuda("resume", tmp_path / "run", "--generations", 2)
    assert more.returncode == 2
    assert "geomean takes machines of several kinds that measure" in more.stderr


def test_it_takes_workers_that_measure(tmp_path: Path) -> None:
    words = ["evolve", tmp_path, "--objective", "worst"]
    alone = gi_cuda(*words)
    assert alone.returncode == 2
    assert "--objective: worst takes machines of several kinds that measure" in alone.stderr
    assert "name their scheduler by --cluster" in alone.stderr
    compiled = gi_cuda(*words, "--cluster", "tcp://127.0.0.1:1", "--cluster-compiles")
    assert compiled.returncode == 2
    assert "leave --cluster-compiles out" in compiled.stderr
