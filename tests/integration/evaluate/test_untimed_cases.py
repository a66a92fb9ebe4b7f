"""A case that is not timed counts for answers alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Measure
from gi_cuda.evaluate.candidates import build_candidates, candidate, unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference, record_reference
from gi_cuda.results.measurement import Measurement
from gi_cuda.runs.tools import open_tools
from gi_cuda.spec import CaseRole
from gi_cuda.subject import load_subject
from tests.conftest import TARGETS

ODD = """
[[case]]
name = "odd"
role = "train"
timed = false
args = { seed = 3, n = 33 }
"""


def test_its_answers_are_judged_and_its_time_is_not(tmp_path: Path) -> None:
    target = Path(shutil.copytree(TARGETS / "scale", tmp_path / "t"))
    with (target / "target.toml").open("a") as file:
        file.write(ODD)
    source = target / "kernel.cu"
    # Of a single item in the last block the answer is another one.
    text = source.read_text().replace(
        "out[at] = mine;", "out[at] = mine + (REPEAT == 2 && n == 33);"
    )
    source.write_text(text)
    subject = load_subject(target, "host")
    assert subject.cases(CaseRole.TRAIN) == ("train", "odd")
    with open_tools(subject, tmp_path / "run", workers=1, jobs=1) as tools:
        names = (*tools.train(), *tools.held_out())
        (binary,) = compile_reference(subject, tools.compiler, [subject.reference], tmp_path)
        reference = unmodified(subject).program(binary, names)
        record_reference(subject, tools.pool, reference, tools.reference)
        reference = unmodified(subject).program(binary, tools.train())
        wrong = candidate(subject, subject.read("REPEAT=2 BLOCK=32"))
        for one, right in ((candidate(subject, subject.read("BLOCK=32")), True), (wrong, False)):
            (built,) = build_candidates(tools.compiler, [one], tmp_path / "built")
            program = one.program(built, tools.train())
            answer = tools.pool.one(Measure(program, reference, Sampling(limit=10.0)))
            assert isinstance(answer, Measurement)
            assert answer.correct == right
            assert {sample.case for sample in answer.samples} == ({"train"} if right else set())
            assert answer.message.startswith("" if right else "odd: out[0] is ")
