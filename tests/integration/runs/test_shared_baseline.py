"""Baselines taken from another run with the same target, devices and tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import PRESETS
from gi_cuda.subject import Subject, load_subject
from tests.integration.cli.refusing import SCALE

PLAN = Plan("random", PRESETS["random"].settings.having(4, 1), 1, 1, 1)


def made(subject: Subject, folder: Path, plan: Plan, others: list[Path]) -> tuple[object, str]:
    """The baseline of a run that is made, and all that was done for it."""
    steps: list[str] = []
    tell: Callable[[str], None] = steps.append
    with create_run(subject, folder, plan, tell=tell, others=others) as run:
        assert run.evaluator()  # it can go on
        return run.baseline, "\n".join(steps)


def test_a_baseline_is_taken_over_where_nothing_differs(tmp_path: Path) -> None:
    subject = load_subject(SCALE, "host")
    first, second = tmp_path / "first", tmp_path / "second"
    baseline, steps = made(subject, first, PLAN, [])
    assert "timing copies" in steps
    taken, steps = made(subject, second, replace(PLAN, seed=2), [first])
    assert taken == baseline
    assert f"taking the baseline of {first}" in steps
    assert "timing" not in steps
    others = {
        "measurements at a time": (subject, replace(PLAN, workers=2)),
        "kinds of changes": (load_subject(SCALE, "host", edits="full"), PLAN),
    }
    for what, (other, plan) in others.items():
        _, steps = made(other, tmp_path / what, plan, [first, second])
        assert "taking" not in steps, what
