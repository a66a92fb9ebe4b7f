"""Helpers for tests of ``gi-cuda init``: the targets that it writes, and its output."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.baseline import establish, try_broken
from gi_cuda.runs.tools import open_tools
from gi_cuda.spec import Target, load_case, load_target
from gi_cuda.subject import load_subject
from tests.command import ATTEMPTS, NOISY

SOURCES = Path(__file__).parent / "sources"


HEADERS = ("-I", str(SOURCES / "include"))


def init(name: str, folder: Path, *options: str) -> Target:
    """Return the target that init writes, after making all of its inputs once."""
    words = ["init", str(SOURCES / name), "--no-trial", "-o", str(folder), *options]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    target = load_target(folder)
    for case in target.cases:
        if "host" in case.backends:
            load_case(target, case)
    return target


def roles(target: Target) -> dict[str, str]:
    return {buffer.name: str(buffer.role) for buffer in target.buffers}


def sizes(target: Target) -> dict[str, str]:
    return {buffer.name: buffer.size.text for buffer in target.buffers if buffer.size}


def passes(folder: Path, scratch: Path) -> None:
    """Check a target: the reference runs, and a broken variant is caught."""
    subject = load_subject(folder, "host")
    with open_tools(subject, scratch, workers=1, jobs=1) as tools:
        arguments = (subject, tools.compiler, tools.pool)
        # A launch takes some microseconds; what disturbed it is over soon.
        for left in reversed(range(ATTEMPTS)):
            try:
                scratch = tools.scratch(f"baseline{left}")
                baseline = establish(*arguments, scratch, tools.reference, copies=1)
                break
            except UserError as error:
                if not left or not any(said in error.what for said in NOISY):
                    raise
        assert set(baseline.penalties.values()) == {0}
        caught = try_broken(*arguments, tools.scratch("broken"), baseline)
    assert caught.penalty


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / next(iter(files))


def said(source: Path, folder: Path, *options: str) -> list[str]:
    """Return the lines that init prints about a target that it writes."""
    done = CliRunner().invoke(
        app,
        ["init", str(source), "--no-trial", "-o", str(folder), *options],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def refused(tmp_path: Path, *words: str) -> str:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError) as caught:
        CliRunner().invoke(
            app, ["init", *words, "--output", str(tmp_path / "out")], catch_exceptions=False
        )
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"
    return str(caught.value)
