"""Answers of programs that supply ideas."""

from __future__ import annotations

import sys

import pytest

from gi_cuda.analyze.external_ideas import answers, ask
from gi_cuda.errors import UserError
from gi_cuda.subject.idea_files import Answer

PATCH = "--- a/k.cu\n+++ b/k.cu\n"

ANSWERS = {
    "nothing": (" \n", []),
    "a patch": (PATCH, [Answer("answer 1", PATCH)]),
    "a list of patches": ('["x", "y"]', [Answer("answer 1", "x"), Answer("answer 2", "y")]),
    "patches with names": ('[{"name": "fast", "patch": "x"}]', [Answer("fast", "x")]),
    "one with a name": ('{"name": "fast", "patch": "x"}', [Answer("fast", "x")]),
    "a source": (
        '[{"source": "int x;", "file": "k.cuh"}]',
        [Answer("answer 1", "int x;", "k.cuh")],
    ),
}

FAULTS = {
    "JSON that breaks off": ('["x"', "answers with JSON that cannot be read"),
    "a number": ("[1]", r"answers with something else than a patch \(answer 1\)"),
    "a key that is none": ('[{"diff": "x"}]', "something else than a patch"),
    "a name that is none": ('["x", {"patch": "x", "name": 1}]', r"\(answer 2\)"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_what_is_written_is_read(case: str) -> None:
    text, expected = ANSWERS[case]
    assert answers(text, "a program") == expected


@pytest.mark.parametrize("case", FAULTS)
def test_what_is_no_answer_is_told(case: str) -> None:
    text, expected = FAULTS[case]
    with pytest.raises(UserError, match=expected):
        answers(text, "a program")


def program(code: str) -> str:
    return f'"{sys.executable}" -c "{code}"'


def test_a_program_reads_json_and_writes_patches() -> None:
    code = "import json,sys; print(json.dumps([json.load(sys.stdin)['target']]))"
    assert ask(program(code), {"target": "k"}) == [Answer("answer 1", "k")]


def test_a_program_that_does_not_read_is_heard() -> None:
    told = {"files": "x" * 1_000_000}
    assert ask(program("print('a patch')"), told) == [Answer("answer 1", "a patch\n")]


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started() -> None:
    with pytest.raises(UserError, match=r"does not answer within 0\.1 s"):
        ask("sleep 600 | cat", {}, limit=0.1)


def test_a_program_that_fails_is_an_error() -> None:
    with pytest.raises(UserError, match="ends with status 3"):
        ask(program("raise SystemExit(3)"), {})
