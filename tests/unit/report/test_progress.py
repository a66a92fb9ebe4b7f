"""What a command is at is said to those who wait for it, beside what it finds."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gi_cuda.report.progress import Steps


def test_without_a_terminal_steps_are_lines_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = io.StringIO()
    with Steps(Console(file=said, width=80)) as tell:
        tell("first [1/2]")
        tell("second")
    assert capsys.readouterr().err == "first [1/2]\nsecond\n"
    assert said.getvalue() == ""


def test_on_a_terminal_the_step_is_in_one_moving_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = io.StringIO()
    with Steps(Console(file=said, width=80, force_terminal=True)) as tell:
        tell("first")
    assert "first" in said.getvalue()
    assert capsys.readouterr().err == ""
