"""The benchmark of honesty: its counts, and continuation after an interruption."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import honesty


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=400)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_was_certified_where_nothing_is_faster(console: Console) -> None:
    one = {"right": 10, "faster": 0, "certified": False}
    found = {"search 0": one, "search 1": one | {"faster": 2, "certified": True}}
    honesty.say_null(found | {"search 2": {"said": "", "refused": True}}, console)
    assert said(console) == (
        "2 searches, 1 refused as too noisy; of 20 right individuals 2 called faster (10.00%);"
        " 1 certified\n"
    )


def test_how_many_intervals_hold_the_truth(console: Console) -> None:
    found: dict[str, honesty.Record] = {"truth 0": {"gains": [1.04, 1.05, 1.06]}}
    for number, (low, high) in enumerate([(1.04, 1.06), (1.05, 1.07), (1.051, 1.06), (1.0, 1.04)]):
        found[f"search {number}"] = {"low": low, "high": high}
    found["search 4"] = {"said": "not certified"}
    honesty.say_planted(found, console)
    assert "truth 1.0500 (3 validations, 1.0400 to 1.0600)" in said(console)
    assert "4 of 5 searches certified it, 0 refused" in said(console)
    assert "2 of 4 intervals hold it, 1 lie above it" in said(console)


def test_what_the_log_has_is_not_done_again(tmp_path: Path, console: Console) -> None:
    log = tmp_path / "log"
    log.write_text(json.dumps(["search 0", {"said": "before"}]) + "\n")
    tasks = {"search 0": partial(honesty.truth, 0, "none", 0.0)}  # would fail
    found = honesty.in_processes(tasks, 1, "host", log, console)
    assert found == {"search 0": {"said": "before"}}
    assert said(console) == ""


@pytest.mark.parametrize("backend", honesty.WORK)
def test_the_planted_value_does_less_work_by_what_it_is_to_gain(backend: str) -> None:
    less, whole = honesty.planted_values(backend, 0.05)
    assert whole / less == pytest.approx(1.05, abs=0.01)
