"""``gi-cuda compare`` over levels, with the real compiler and a pretended GPU."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.analyze.contestants import Reader
from gi_cuda.cli import app
from gi_cuda.levels import load_evolvable
from gi_cuda.ptx_subject import PtxSubject
from gi_cuda.subject import Subject

from .test_imports import SCALE, texts, written
from .test_ptx_after_search import SOURCE_WINNER, a_run, planted

WASTE = "<_kernel.cu_27>"
"""The wasted work goes."""

pytestmark = pytest.mark.usefixtures("toolkit", "gpu")


def comparison(*words: object, folder: Path) -> tuple[list[dict[str, str]], str]:
    table = folder / "all.csv"
    done = CliRunner().invoke(app, ["compare", *map(str, words), "--csv", str(table), "--force"])
    assert done.exit_code == 0, (done.output, done.exception)
    with table.open(newline="") as file:
        return list(csv.DictReader(file)), done.output


def test_both_levels_and_files_are_measured_in_one_session(tmp_path: Path) -> None:
    subject = load_evolvable(SCALE, "cuda", edits="full")
    module_subject = load_evolvable(SCALE, "cuda", "ptx")
    assert isinstance(subject, Subject)
    assert isinstance(module_subject, PtxSubject)
    source = a_run(subject, tmp_path / "source", SOURCE_WINNER)
    ptx = a_run(module_subject, tmp_path / "ptx", str(planted(module_subject)))
    file = written(tmp_path, texts(SCALE)["alone"])
    scratch = tmp_path / "imported"
    one = Reader(subject, scratch, 1).read(str(file))
    assert one.candidate.binary is not None
    cubin = shutil.copyfile(one.candidate.binary.path, tmp_path / "k.cubin")
    module = tmp_path / "winner.ptx"
    words = ["patch", str(ptx), "--format", "ptx", "--output", str(module)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (done.output, done.exception)
    delete = f"<{next(rule for rule in module_subject.order if rule.startswith('_kernel.ptx'))}>"
    contestants = [source, ptx, delete, file, cubin, f"{file}:BLOCK=128", WASTE]
    contestants.append(module)
    words = ["--figures", tmp_path / "figures"]
    rows, said = comparison(*contestants, *words, folder=tmp_path)
    assert [row["contestant"] for row in rows] == [str(one) for one in contestants]
    kinds = ["run", "PTX run", "PTX genotype", "PTX", "cubin", "PTX", "genotype", "PTX"]
    assert [row["kind"] for row in rows] == kinds
    assert rows[0]["verdict"] == rows[1]["verdict"] == "faster"
    assert rows[1]["search"] == "barracuda, PTX edits"
    # What is made of the reference itself is the reference.
    assert [row["verdict"] for row in rows[3:6]] == ["same"] * 3
    assert [float(row["train"]) for row in rows[3:6]] == [1] * 3
    assert rows[5]["what"] == "BLOCK=128"
    assert rows[6]["verdict"] == "faster"
    # The winner's module is the winner.
    assert rows[7]["train"] == rows[1]["train"]
    for row in rows:
        assert int(row["registers"]) > 0
        assert int(row["code"]) > 0
    for row in rows[:2]:
        assert int(row["evaluations"]) > 0
        assert float(row["seconds"]) > 0
    assert "copy of the reference" in said
    print(said)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"race.svg", "race.png"}
