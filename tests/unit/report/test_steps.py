"""What a command is at is said, and only to those who wait for it."""

from __future__ import annotations

import io
import time

from rich.console import Console

from gi_cuda.report.steps import Steps


def test_only_a_long_step_is_worth_a_line() -> None:
    said = io.StringIO()
    with Steps(Console(file=said, width=80), patience=0.05) as tell:
        tell("quick")
        tell("slow [1/2]")
        time.sleep(0.3)
        tell("quick again")
    time.sleep(0.1)
    assert said.getvalue() == "slow [1/2] ...\n"


def test_on_a_terminal_every_step_is_shown() -> None:
    said = io.StringIO()
    console = Console(file=said, width=80, force_terminal=True)
    with Steps(console, patience=0.0) as tell:
        tell("first")
        time.sleep(0.2)
        tell("second")
        time.sleep(0.2)
    assert "first" in said.getvalue()
    assert "second" in said.getvalue()
    assert "second ..." not in said.getvalue()
