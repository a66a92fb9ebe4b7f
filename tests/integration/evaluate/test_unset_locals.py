"""Variants that read uninitialized locals are detected, whatever value these happened to have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference, record_reference
from gi_cuda.results.evaluation import Validation
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject
from tests.conftest import TARGETS

SET = "    int waste = 0;\n"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(TARGETS / "scale", "host")
    with open_tools(subject, tmp_path_factory.mktemp("locals"), workers=1, jobs=1) as opened:
        place = opened.scratch("recorded")
        (binary,) = compile_reference(subject, opened.compiler, [subject.reference], place)
        program = unmodified(subject).program(binary, opened.session.cases)
        record_reference(subject, opened.pool, program, opened.reference)
        yield opened


def changed(tools: Tools, text: str) -> Candidate:
    """The reference with something said where it sets a local."""
    whole = unmodified(tools.subject)
    assert SET in whole.text
    return replace(whole, text=whole.text.replace(SET, SET + text))


def reading(tools: Tools, text: str, read: str) -> Candidate:
    """The reference with a local more, and something of it in its answers."""
    unset = changed(tools, text)
    unset = replace(unset, text=unset.text.replace("mine;\n#", f"mine + {read};\n#"))
    assert f"+ {read};" in unset.text
    return unset


def test_what_is_right_as_long_as_a_local_is_poison_is_not_certified(tools: Tools) -> None:
    unset = reading(tools, "    int found;\n    if (n < 0) found = 1;\n", "(found == 0)")
    objection = tools.certification.unset_locals.objection(unset)
    assert objection.startswith("it reads locals that nothing sets")
    assert "out[0] is " in objection
    told = tools.certification.certified(unset, Validation(True))
    assert not told.correct
    assert told.message == objection


def test_what_is_right_with_all_that_is_tried_there_is_warned_of(tools: Tools) -> None:
    unset = reading(tools, "    int found;\n", "found / 2000000000")
    told = "it reads found, which nothing has set, as its compiler warns"
    assert tools.certification.unset_locals.objection(unset) == told


def test_what_sets_them_is_not_told(tools: Tools) -> None:
    assert tools.certification.unset_locals.objection(unmodified(tools.subject)) == ""
    assert tools.certification.unset_locals.objection(changed(tools, "    int found = n;\n")) == ""
