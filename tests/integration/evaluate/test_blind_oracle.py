"""Nothing is certified if the oracle accepts wrong answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference, record_reference
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject
from tests.conftest import TARGETS


@pytest.mark.parametrize(("tolerance", "blind"), [("0.1", False), ("1e12", True)])
def test_a_tolerance_that_is_wider_than_all_answers(
    tolerance: str, blind: bool, tmp_path: Path
) -> None:
    shutil.copytree(TARGETS / "scale", tmp_path / "scale")
    file = tmp_path / "scale" / "target.toml"
    text = file.read_text()
    assert '[oracle]\nkind = "exact"' in text
    wide = f'[oracle]\nkind = "tolerance"\nabsolute = {tolerance}\nrelative = 0.0'
    file.write_text(text.replace('[oracle]\nkind = "exact"', wide))
    subject = load_subject(tmp_path / "scale", "host")
    with open_tools(subject, tmp_path / "run", workers=1, jobs=2) as tools:
        (binary,) = compile_reference(subject, tools.compiler, [subject.reference], tmp_path)
        program = unmodified(subject).program(binary, tools.session.cases)
        record_reference(subject, tools.pool, program, tools.reference)
        told = tools.certification.blind.objection
        assert ("the oracle accepts zeros or anything else in place of out" in told) == blind
        assert tools.certification.quick_objection(unmodified(subject)) == told
