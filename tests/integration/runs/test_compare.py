"""``gi-cuda compare``: winners, genotypes and patches in one measurement."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.runs.stored import open_store
from tests.command import gi_cuda

from .conftest import SCALE, WASTE

WRONG = "<_kernel.cu_22>"
"""Nothing is read."""


@pytest.fixture(scope="module")
def patch(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The winner as a mail, whose new defaults are the winner's configuration."""
    file = tmp_path_factory.mktemp("patches") / "winner.mbox"
    words = ["--format", "mail", "--configuration", "defaults", "--output", file]
    done = gi_cuda("patch", finished.folder, *words, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    return file


def test_all_kinds_of_contestants(finished: Any, patch: Path, tmp_path: Path) -> None:
    """A target, a patch, a genotype and parameters measured against each other in one process."""
    contestants = [finished.folder, patch, WASTE, "BLOCK=128", WRONG]
    words = ["--csv", tmp_path / "all.csv", "--figures", tmp_path / "figures"]
    place = finished.repository
    done = gi_cuda("compare", *contestants, *words, cwd=place)
    assert done.returncode == 0, done.stderr
    assert "copy of the reference" in done.stdout
    assert f"{WRONG}: wrong: held-out: " in done.stdout
    assert "barracuda, paper edits, 3 generations of 12, seed" in done.stdout
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["contestant"] for row in rows] == [str(one) for one in contestants]
    by_run, by_patch, waste, block, wrong = rows
    for row in (by_run, by_patch, waste):
        assert float(row["train_low"]) > 1
        assert float(row["held_out_low"]) > 1
        assert not row["failure"]
    assert block["what"] == "BLOCK=128"
    assert wrong["failure"].startswith("wrong: held-out: ")
    assert wrong["train"] == wrong["held_out"] == ""
    with open_store(finished.folder) as store:
        assert int(by_run["evaluations"]) == len(store.evaluations())
        assert by_run["what"] == store.get("champion")["genotype"]
    # The two are one program.
    run, patched = (float(row["held_out"]) for row in (by_run, by_patch))
    assert patched == pytest.approx(run, rel=0.25)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"race.svg", "race.png"}


def refused(*words: object, cwd: Path) -> str:
    done = gi_cuda("compare", *words, cwd=cwd)
    assert done.returncode == 2, done
    assert done.stderr.startswith("gi-cuda: error: ")
    assert "Traceback" not in done.stderr
    return done.stderr


def test_what_cannot_be_compared_is_refused(finished: Any, patch: Path, tmp_path: Path) -> None:
    assert "--target" in refused(WASTE, cwd=finished.repository)
    said = refused(f"{finished.folder}:9999", cwd=finished.repository)
    assert f"{finished.folder}: the run has no individual 9999" in said
    said = refused(finished.folder, "nothing like it", cwd=finished.repository)
    assert "neither a run, nor a patch, nor PTX, a cubin or LLVM-IR, nor a genotype" in said
    said = refused(finished.folder, "<_kernel.cu_9999>", cwd=finished.repository)
    assert "9999" in said
    said = refused(finished.folder, "BLOCK=128 REPEAT=2", cwd=finished.repository)
    assert "enough is enough" in said
    assert "no run is stored here" in refused(tmp_path, "--target", SCALE, cwd=finished.repository)
    other = tmp_path / "other"
    shutil.copytree(SCALE, other)
    said = refused(finished.folder, "--target", other, cwd=finished.repository)
    assert "the run is of another target" in said
    old = tmp_path / "old.mbox"
    old.write_text(patch.read_text().replace("waste += tile", "wasted += tile"))
    said = refused(old, "--target", finished.source.parent, cwd=finished.repository)
    assert f"{old}: a/kernels/scale/kernel.cu, hunk " in said
    elsewhere = tmp_path / "elsewhere.patch"
    elsewhere.write_text("--- a/a.cu\n+++ b/a.cu\n@@ -1 +1 @@\n-a\n+b\n" * 2)
    said = refused(elsewhere, "--target", finished.source.parent, cwd=finished.repository)
    assert "the diff changes a/a.cu, which is not among the files of the original" in said
    (tmp_path / "there.csv").write_text("precious")
    said = refused(finished.folder, "--csv", tmp_path / "there.csv", cwd=finished.repository)
    assert "--force" in said
    assert (tmp_path / "there.csv").read_text() == "precious"
