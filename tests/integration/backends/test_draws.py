"""Redrawn scalars, which have another value in each recorded run.

Answers are judged in the first draw, and at the end in another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
    Recorded,
)
from gi_cuda.evaluate.reference.baseline import compile_reference, establish, try_broken
from gi_cuda.results.measurement import Measurement
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject

DRAWS = Path(__file__).parents[2] / "targets" / "draws"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(DRAWS, "host")
    with open_tools(subject, tmp_path_factory.mktemp("draws"), workers=1, jobs=1) as tools:
        yield tools


def programs(tools: Tools, texts: list[str], name: str) -> list[Program]:
    binaries = compile_reference(tools.subject, tools.compiler, texts, tools.scratch(name))
    configuration = dict(tools.subject.original.configuration)
    return [Program(binary, configuration, tools.train()) for binary in binaries]


def test_the_seed_goes_up_from_run_to_run_within_its_type(tools: Tools) -> None:
    (reference,) = programs(tools, [tools.subject.reference], "recorded")
    recorded = tools.pool.one(Record(reference, tools.reference, 4, 10.0))
    assert isinstance(recorded, Recorded)
    assert recorded.penalties == {"train": 0.0}
    with np.load(tools.reference / "train.npz") as stacks:
        runs = stacks["out"]
    assert runs[:, 0].tolist() == [254, 255, 0, 1]
    assert np.array_equal(runs, runs[:, :1] + np.arange(100, dtype=np.uint8))


def test_what_is_judged_is_judged_in_the_first_draw(tools: Tools) -> None:
    source = tools.subject.reference
    other = source.replace("= seed;", "= seed + 1;")
    reference, copy, wrong = programs(tools, [source, source, other], "judged")
    tools.pool.one(Record(reference, tools.reference, 3, 10.0))
    sampling = Sampling(screen=5, most=5, limit=1.0)
    fine = tools.pool.one(Measure(copy, reference, sampling))
    assert isinstance(fine, Measurement)
    # Right again after five pairs in five draws.
    assert fine.correct, fine.message
    assert len(fine.samples) == 5
    caught = tools.pool.one(Measure(wrong, reference, sampling))
    assert isinstance(caught, Measurement)
    # What is right in the second draw is not right in the first.
    assert "out[0] is 255, expected 254" in caught.message


def test_what_is_right_in_the_first_draw_alone_is_wrong(tools: Tools) -> None:
    source = tools.subject.reference
    reference, lazy = programs(tools, [source, source.replace("= seed;", "= 254;")], "lazy")
    tools.pool.one(Record(reference, tools.reference, 3, 10.0))
    caught = tools.pool.one(Measure(lazy, reference, Sampling(screen=5, most=5, limit=1.0)))
    assert isinstance(caught, Measurement)
    assert caught.penalty
    assert "out[0] is 254, expected 255" in caught.message
    assert "in another draw" in caught.message


def test_a_baseline_with_an_exact_oracle(tools: Tools) -> None:
    subject = tools.subject
    folder = tools.scratch("baseline")
    baseline = establish(subject, tools.compiler, tools.pool, folder, tools.reference)
    assert baseline.penalties == {"train": 0.0, "held-out": 0.0}
    assert try_broken(subject, tools.compiler, tools.pool, folder, baseline).message
