"""Faster individuals are confirmed in a second process; without possible gain nothing wins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.honesty_target import COPY
from gi_cuda.analyze.finalists.finalists import select_winner
from gi_cuda.analyze.validate.looks import failed_looks, look_at_held_out
from gi_cuda.backends.protocol.requests import SharedMeasurement
from gi_cuda.backends.workers.pool import Task
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.genome import Delete, Genotype
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies import tune
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.subject import load_subject

WASTE = Delete("_kernel.cu_27")

DATA = """
import numpy as np


def case(n):
    return {"in": np.arange(n, dtype=np.float32), "n": n}
"""

TARGET = """
target = { name = "null", source = "kernel.cu", kernels = ["copy"] }
parameter = [{ name = "TAG", values = { from = 1, to = 99 }, default = 1 }]
buffer = [
    { name = "in", type = "float32", size = "n", role = "input" },
    { name = "out", type = "float32", size = "n", role = "output" },
]
scalar = [{ name = "n", type = "int32" }]
launch = [{ kernel = "copy", grid = "(n + 63) / 64", block = "64", args = ["in", "out", "n"] }]
oracle = { kind = "exact" }
case = [
    { name = "train", role = "train", args = { n = 30000 } },
    { name = "held-out", role = "held-out", args = { n = 20000 } },
]
"""


@pytest.mark.parametrize(("floor", "processes"), [(0.1, [False, True]), (0.001, [False])])
def test_what_looks_faster_is_measured_in_a_second_process(
    floor: float, processes: list[bool], target: Path, tmp_path: Path
) -> None:
    """Unless it is faster by more than ten times the noise floor."""
    asked: list[bool] = []
    subject = load_subject(target, "host")
    with create_run(subject, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 1, 1)) as run:
        evaluator, pool = run.evaluator(), run.tools.pool
        sampling = replace(evaluator.bounds.sampling, floor=floor)
        evaluator.bounds = replace(evaluator.bounds, sampling=sampling)
        send = pool.submit

        def submit(task: Task[Any], device: int | None = None) -> int:
            if isinstance(task.request, SharedMeasurement):
                asked.append(task.alone)
            return send(task, device)

        pool.submit = submit  # type: ignore[method-assign]
        faster = Genotype(run.subject.original.configuration, (WASTE,))
        ((_, found),) = evaluator.evaluate(evaluator.prepare({1: faster}))
    assert found.selectable
    assert asked == processes


def test_where_nothing_can_be_gained_no_winner_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "null"
    folder.mkdir()
    (folder / "kernel.cu").write_text(COPY % 1)
    (folder / "data.py").write_text(DATA)
    (folder / "target.toml").write_text(TARGET)
    plan = Plan("tune", tune.PRESET.settings.having(30, 1), 1, 2, 2)
    with create_run(load_subject(folder, "host"), tmp_path / "run", plan) as run:
        for _ in run.evolution().run():
            pass
        (generation,) = run.store.generations()
        found = run.store.evaluations(generation.number).values()
        assert len(found) == 30
        assert all(one.right and not one.selectable for one in found)
        assert select_winner(run) is None
        # What is measured on the held-out cases and fails is counted, by whoever asks.
        one = candidate(run.subject, run.subject.read("TAG=7"))
        _, found, failed = look_at_held_out(run, [one])
        assert [each.correct for each in found] == [True]
        assert failed == failed_looks(run) == 1
