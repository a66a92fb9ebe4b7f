"""What leaves out an input is told, however little that changes; what does not is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject
from tests.conftest import TARGETS


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(TARGETS / "inputs", "host")
    with open_tools(subject, tmp_path_factory.mktemp("inputs"), workers=1, jobs=1) as opened:
        yield opened


@pytest.mark.parametrize(("number", "name"), [(1, "kind"), (2, "trail"), (3, "lean"), (4, "gain")])
def test_an_input_that_is_left_out_is_named(tools: Tools, number: int, name: str) -> None:
    variant = candidate(tools.subject, tools.subject.read(f"LEFT_OUT={number}"))
    assert f"zeros in place of the input {name}" in tools.dependence.complaint(variant)


def test_a_limit_that_no_case_reaches_is_not_left_out(tools: Tools) -> None:
    variant = candidate(tools.subject, tools.subject.read("LEFT_OUT=5"))
    assert "1 in place of the input most" in tools.dependence.complaint(variant)


def test_what_uses_all_of_them_is_not_told(tools: Tools) -> None:
    assert tools.dependence.complaint(unmodified(tools.subject)) == ""
