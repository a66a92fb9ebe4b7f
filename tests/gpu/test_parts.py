"""Variants split into several modules behave as in one module."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
    Rehearse,
)
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.results.measurement import Measurement
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject
from tests.integration.evaluate.test_lent_kernels import STEPS, both_ways, variants


def test_they_give_the_same_answers(tmp_path: Path) -> None:
    subject, sampling = load_subject(STEPS, "cuda", edits="full"), Sampling(limit=0.5)
    genotypes = variants(subject)
    with open_tools(subject, tmp_path / "tools", workers=2, jobs=8) as tools:
        whole, parts = both_ways(subject, tools.compiler, tmp_path)
        cases = tools.train()
        right: list[set[int]] = []
        for built in (whole, parts):
            programs = {
                n: Program(one, dict((genotypes.get(n) or subject.original).configuration), cases)
                for n, one in built.items()
                if isinstance(one, Binary)
            }
            if not right:
                tools.pool.one(Record(programs[0], tools.reference, 2, 10.0))
            asked = [(n, Measure(one, programs[0], sampling)) for n, one in programs.items()]
            answers = dict(tools.pool.map(asked))
            found = {n for n, a in answers.items() if isinstance(a, Measurement) and a.correct}
            right.append(found)
        together = Rehearse(
            tuple(replace(programs[n], cases=cases) for n in sorted(right[1])), sampling.untimed()
        )
        assert all(one.correct for one in tools.pool.one(together))
    assert right[0] == right[1]
    assert 5 < len(right[0]) < 45
