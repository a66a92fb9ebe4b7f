"""A run as records: with ``--json``, and in Python."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import gi_cuda
from gi_cuda.analyze.history import words
from gi_cuda.errors import UserError
from gi_cuda.report.as_json import PRINTED
from tests.command import gi_cuda as command
from tests.integration.runs.conftest import Finished


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(finished.folder, tmp_path / "run"))


def printed(verb: str, *words: object) -> dict[str, Any]:
    """What a verb prints as JSON, which fits its schema and has every key of it."""
    done = command(*verb.split(), *words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    adapter = TypeAdapter(PRINTED[verb.partition(" 0")[0]])
    again = adapter.dump_python(adapter.validate_python(found), mode="json")
    assert again.keys() == found.keys()
    return found


def test_every_verb_that_looks_at_a_run(run: Path) -> None:
    shown = printed("show", run)
    minimized = printed("minimize", run)
    kept = {one["change"] for one in minimized["minimized"]["minimization"]["kept"]}
    assert kept
    again = printed("show", run)
    assert again["winner"]["minimized"]
    assert again["winner"]["found"]["genotype"] == shown["winner"]["genotype"]
    assert again["winner"]["validation"] == minimized["minimized"]["validation"]
    validated = printed("validate", run, "--sanitizers", "none")
    assert validated["accepted"]
    assert printed("show", run)["acceptance"] == validated["acceptance"]
    assert printed("interactions", run)["interactions"]["singles"]
    history = printed("history", run)
    assert {one["change"] for one in history["added"]} == kept
    assert all(Path(one).is_file() for one in history["figures"])
    assert {one["change"] for one in printed("explain", run)["changes"]} == kept
    (contestant,) = printed("compare", run)["contestants"]
    assert contestant["changes"] == len(kept)


def test_one_generation_and_one_individual(run: Path) -> None:
    some = printed("show --generation", 1, run)["individuals"]
    one = printed("show --individual", some[0]["individual"], run)
    assert one["individual"] == some[0]
    assert one["diff"] == gi_cuda.open_run(run).diff(some[0]["individual"])


def test_what_needs_no_run(finished: Finished) -> None:
    assert "host" in printed("doctor")["usable"]
    checked = printed("check", finished.source.parent)
    assert checked["baseline"]["seconds"] > 0
    assert checked["broken"]["message"]


def test_what_was_shown_before_minimizing_is_not_mixed_with_what_is_left(run: Path) -> None:
    assert command("minimize", run).returncode == 0
    said = command("show", run).stdout
    winner = printed("show", run)["winner"]
    overall = "{value:.3f} [{low:.3f}, {high:.3f}]".format(**winner["validation"]["overall"])
    assert f"minimized, speed-up on held-out cases {overall}" in said
    assert list(winner["changes"]) == words(winner["genotype"])
    assert all(winner["changes"].values())
    lines = [line for both in winner["changes"].items() for line in both]
    told = said[said.index("its changes:") :].splitlines()[1:]
    assert [one.strip() for one in told[: len(lines)]] == lines


def test_python_has_what_is_shown(run: Path) -> None:
    opened = gi_cuda.open_run(run)
    record, everybody = opened.record(best=3), opened.individuals()
    assert len(everybody) == sum(sum(one.outcomes.values()) for one in opened.generations())
    assert record.individuals[0] in everybody
    assert record.winner is not None
    assert record.winner.diff
    timed = {one.individual for one in opened.measurements()}
    assert {one.individual for one in everybody if one.speed_up} <= timed
    sure = [one.sure for one in record.generations if one.sure]
    assert sure == sorted(sure)


def test_the_documented_example(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text("utf-8")
    example = re.findall(r"```python\n(.*?)```", text, re.S)[0]
    (run.parent / "runs").mkdir()
    run.rename(run.parent / "runs" / "bwt_exact-1")
    monkeypatch.chdir(run.parent)
    exec(example, {})
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("individual ")
    assert int(said[-1]) > len(said) - 2  # several pairs of each that was timed


def test_frames(run: Path) -> None:
    pandas = pytest.importorskip("pandas")
    opened = gi_cuda.open_run(run)
    frame = opened.generations().frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["outcomes.faster"].sum() == sum(
        one.outcome == "faster" for one in opened.individuals()
    )


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run is stored here"):
        gi_cuda.open_run(tmp_path)
