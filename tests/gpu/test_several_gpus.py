"""Several GPUs of one machine, each with a clock of its own. All but one need two."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.backends.cuda.choice import VISIBLE
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
)
from gi_cuda.backends.protocol.session import DeviceId
from gi_cuda.backends.table import ALL
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Lost, Pool, Task
from gi_cuda.cluster.stations import evaluated_on_each
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.reference.baseline import compile_reference, establish
from gi_cuda.evaluate.reference.copies import COPIES
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import open_store, stored_plan
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject
from tests.command import gi_cuda

SCALE = Path(__file__).parent.parent / "targets" / "scale"
LAST = "        out[at] = mine;\n"
CREW = Crew(2, extra=1)

TEXTS = {
    "fine": LAST,
    "endless": "        for (;;) { __threadfence(); }\n",
    "crash": "        out[at + ((size_t)1 << 40)] = mine;\n",
    "wrong": "",
}

GENOTYPES = {
    1: "<_kernel.cu_12>",
    2: "<for2_kernel.cu_26>",
    3: "BLOCK=32",
    4: "<_kernel.cu_31>",
    5: "<_kernel.cu_27>",
    6: "<_kernel.cu_22>",
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(SCALE, "cuda")
    folder = tmp_path_factory.mktemp("several")
    with open_tools(subject, folder, workers=1, jobs=4, devices=ALL) as tools:
        yield tools


@pytest.fixture(scope="module")
def both(tools: Tools) -> Tools:
    """The same, where there are two GPUs of one kind."""
    if len(tools.backend.devices) < 2:
        pytest.skip("there are no two GPUs of one kind")
    return tools


@pytest.fixture(scope="module")
def programs(tools: Tools) -> dict[str, Program]:
    """The reference, whose answers are recorded, and variants that end in several ways."""
    source = tools.subject.grammar.source.text
    texts = {"reference": source} | {n: source.replace(LAST, text) for n, text in TEXTS.items()}
    binaries = compile_reference(
        tools.subject, tools.compiler, list(texts.values()), tools.scratch("several")
    )
    configuration = dict(tools.subject.original.configuration)
    made = {
        name: Program(binary, configuration, tools.train())
        for name, binary in zip(texts, binaries, strict=True)
    }
    whole = replace(made["reference"], cases=(*tools.train(), *tools.held_out()))
    tools.pool.one(Record(whole, tools.reference, 2, 10.0))
    return made


def measure(programs: dict[str, Program], name: str, limit: float = 0.1) -> Measure:
    sampling = Sampling(screen=3, most=3, limit=limit)
    return Measure(programs[name], programs["reference"], sampling)


def test_a_gpu_that_is_not_there_is_left(
    tools: Tools, programs: dict[str, Program], capfd: pytest.CaptureFixture[str]
) -> None:
    devices = (tools.session.device, DeviceId(99, "GPU 99", {VISIBLE: "99"}))
    with Pool[int](tools.session, CREW, devices) as pool:
        answers = dict(pool.map((n, measure(programs, "fine")) for n in range(6)))
        assert all(isinstance(one, Measurement) and one.correct for one in answers.values())
        assert len(answers) == 6
        assert 99 not in pool.devices
    assert "GPU 99 is not used any more" in capfd.readouterr().err


def test_each_is_right_and_variants_are_told_apart_on_all(
    both: Tools, programs: dict[str, Program]
) -> None:
    answers = both.pool.each(measure(programs, "fine"))
    assert len(answers) == len(both.backend.devices)
    assert all(isinstance(one, Measurement) and one.correct for one in answers.values())
    names = [*TEXTS] * 8
    found = dict(both.pool.map((n, measure(programs, x)) for n, x in enumerate(names)))
    for number, name in enumerate(names):
        answer = found[number]
        if name in ("endless", "crash"):
            assert isinstance(answer, Lost), name
            survival = Survival.HUNG if name == "endless" else Survival.CRASHED
            assert answer.survival is survival, answer.message
        else:
            assert isinstance(answer, Measurement), name
            assert answer.correct == (name == "fine")


def test_what_hangs_on_one_keeps_nothing_from_another(
    both: Tools, programs: dict[str, Program]
) -> None:
    pool = both.pool
    pool.each(measure(programs, "fine"))
    first, second, *_ = pool.devices
    pool.submit(Task(1, measure(programs, "endless", 60.0)), second)
    answered = []
    for number in range(2, 6):
        pool.submit(Task(number, measure(programs, "fine")), first)
        while not (answers := pool.wait()):
            pass
        answered += answers
    pool.abandon()
    assert [key for key, _ in answered] == [2, 3, 4, 5]
    assert all(isinstance(one, Measurement) and one.correct for _, one in answered)


def test_the_baseline_times_the_reference_on_each(both: Tools, tmp_path: Path) -> None:
    with Pool[int](both.session, CREW, both.backend.devices) as pool:
        baseline = establish(both.subject, both.compiler, pool, tmp_path, both.reference)
        used = len(pool.devices)  # one whose times differ much more than another's is left
    assert len(baseline.on_each) == (used if used > 1 else 0)
    assert baseline.seconds == max(baseline.on_each, default=baseline.seconds)
    assert len(baseline.copies) == COPIES * used


def test_a_batch_is_judged_on_all_as_on_one(both: Tools, programs: dict[str, Program]) -> None:
    subject = both.subject
    limits = {loop.ident: 10_000 for loop in subject.grammar.loops}
    bounds = Bounds(limits, Sampling(screen=2, step=1, most=2))
    genotypes = {n: subject.read(text) for n, text in GENOTYPES.items()}
    found = []
    with Pool[int](both.session, CREW) as pool:
        for tools in (both, replace(both, pool=pool)):
            evaluator = Evaluator(subject, tools.equipment(), bounds)
            records = evaluator.evaluate(evaluator.prepare(genotypes))
            found.append({n: (one.survival, one.right) for n, one in records})
    assert found[0] == found[1]
    assert len(set(found[0].values())) > 1


def test_a_search_has_a_process_for_each(both: Tools, tmp_path: Path) -> None:
    numbers = ["--preset", "random", "--population", 24, "--generations", 2, "--seed", 5]
    done = gi_cuda("evolve", SCALE, "--backend", "cuda", *numbers, "--run", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    with open_store(tmp_path / "run") as store:
        assert len(store.evaluations()) == len(store.individuals()) == 48
        assert stored_plan(store).devices == tuple(both.pool.devices)
    with open_run(tmp_path / "run") as run, evaluated_on_each(run) as evaluator:
        pids = [one.process.pid for one in evaluator.members._stations]
        genotypes = {n: both.subject.read(text) for n, text in GENOTYPES.items()}
        prepared = evaluator.prepare(genotypes)
        found = {}
        for ident, evaluation in evaluator.evaluate(prepared):
            found[ident] = (evaluation.survival, evaluation.right)
            if len(found) == 1:
                os.kill(pids[0], signal.SIGKILL)
        local = run.evaluator()
        alone = local.evaluate(local.prepare(genotypes))
        assert found == {ident: (one.survival, one.right) for ident, one in alone}
