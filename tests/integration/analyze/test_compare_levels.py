"""``gi-cuda compare`` over levels, with the real compiler and a pretended GPU."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from gi_cuda.analyze.compare.contestants import Reader
from gi_cuda.cli import app
from gi_cuda.subject import Subject
from tests.sweeps import broad

from .conftest import pretended
from .planted import SCALE, Searched
from .test_imports import text_of, written

WASTE = "<_kernel.cu_27>"
"""The wasted work goes."""


def comparison(*words: object, folder: Path) -> tuple[list[dict[str, str]], str]:
    table = folder / "all.csv"
    done = CliRunner().invoke(app, ["compare", *map(str, words), "--csv", str(table), "--force"])
    assert done.exit_code == 0, (done.output, done.exception)
    with table.open(newline="") as file:
        return list(csv.DictReader(file)), done.output


class Compared(NamedTuple):
    """Results of a comparison.

    Attributes:
        words: the contestants, as on the command line.
        rows: rows of its table.
        said: its output.
        figures: folder of the figures.
    """

    words: list[str]
    rows: list[dict[str, str]]
    said: str
    figures: Path


@pytest.fixture(scope="module")
def compared(
    scale_source: Subject,
    scale_ptx: Subject,
    of_source: Path,
    planted_run: Path,
    searched: Searched,
    tmp_path_factory: pytest.TempPathFactory,
) -> Compared:
    """All kinds of contestants in one session; last, what came of a start and its module."""
    folder = tmp_path_factory.mktemp("compared")
    file = written(folder, text_of(SCALE))
    one = Reader(scale_source, folder / "imported", 1).read(str(file))
    assert one.candidate.binary is not None
    cubin = shutil.copyfile(one.candidate.binary.path, folder / "k.cubin")
    delete = f"<{next(rule for rule in scale_ptx.order if rule.startswith('_kernel.ptx'))}>"
    contestants = [of_source, planted_run, delete, file, cubin, f"{file}:BLOCK=128", WASTE]
    with pretended():
        contestants.append(module_of(planted_run, folder / "winner.ptx"))
        both = module_of(searched.folder, folder / "both.ptx")
        contestants += [searched.folder, f"{both}:BLOCK=128,CHECKED=1"]
        figures = folder / "figures"
        rows, said = comparison(*contestants, "--figures", figures, folder=folder)
    return Compared([str(one) for one in contestants], rows, said, figures)


def module_of(run: Path, file: Path) -> Path:
    """The winner's, as others get it."""
    words = ["patch", str(run), "--format", "ptx", "--output", str(file)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (done.output, done.exception)
    return file


@broad
def test_both_levels_and_files_are_measured_in_one_session(compared: Compared) -> None:
    rows = compared.rows
    assert [row["contestant"] for row in rows] == compared.words
    kinds = ["run", "PTX run", "PTX genotype", "PTX", "cubin", "PTX", "genotype", "PTX"]
    assert [row["kind"] for row in rows] == [*kinds, "PTX run", "PTX"]
    # It changes a barrier, and nobody looks for races on a GPU that is pretended.
    assert rows[0]["verdict"] == "unverified"
    assert rows[1]["verdict"] == "faster"
    assert rows[1]["search"] == "barracuda, PTX edits, 1 generations of 4"
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
    assert "copy of the reference" in compared.said
    assert {path.name for path in compared.figures.iterdir()} == {"race.svg", "race.png"}


@broad
def test_a_start_its_winner_and_its_module_have_one_reference(compared: Compared) -> None:
    three = [compared.rows[n] for n in (0, 8, 9)]
    start, winner, module = (float(row["train"]) for row in three)
    assert [row["verdict"] for row in three] == ["unverified", "faster", "faster"]
    assert winner == module >= start > 1.2
