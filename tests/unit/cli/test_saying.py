"""Output of verbs while they work, and on variants that fail."""

from __future__ import annotations

import io
import re
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from gi_cuda.analyze.finalists.shortfall import Shortfall, padding_words
from gi_cuda.cli import app
from gi_cuda.cli.console import console, working
from gi_cuda.cli.files import check_figures, check_new
from gi_cuda.cli.search.searching import next_steps
from gi_cuda.evaluate.sampling import Trials
from gi_cuda.genome import Genotype
from gi_cuda.report import progress
from gi_cuda.report.results.winner import device_words, print_next_steps
from gi_cuda.report.targets.mutate import print_failures
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.store import Store
from gi_cuda.subject import Subject


class Listener(io.StringIO):
    """Standard error that tells when it was written to once more."""

    def __init__(self) -> None:
        super().__init__()
        self.reminded = threading.Event()

    def flush(self) -> None:
        if self.getvalue().count("\n") > 1:
            self.reminded.set()


def test_where_there_is_no_terminal_work_is_told_of_in_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Listener()
    monkeypatch.setattr(progress, "REMINDED", 0.001)
    monkeypatch.setattr(sys, "stderr", said)
    with working("measuring"):
        assert said.reminded.wait(60)
    first, *others = said.getvalue().splitlines()
    assert first == "measuring"
    assert all(re.fullmatch(r"measuring: \d+ s", line) for line in others)
    assert capsys.readouterr().out == ""


class Diffs:
    """The part of a subject's interface that shows variants."""

    def diff(self, genotype: str) -> str:
        return f"the diff of {genotype}"


def test_variants_that_do_not_compile_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    genotypes: list[Genotype] = [f"<_k.cu_{number}>" for number in range(30)]  # type: ignore[misc]
    failed = {number: f"k.cu:{number}: error: no\nnote" for number in range(2, 14)}
    print_failures(Diffs(), Trials(30, tuple(genotypes), failed))  # type: ignore[arg-type]
    said = capsys.readouterr().out
    assert "# does not compile: <_k.cu_2>\n# k.cu:2: error: no\nthe diff of <_k.cu_2>\n" in said
    assert "note" not in said
    assert said.count("# does not compile") == 10
    assert said.endswith("# and 2 more that do not compile\n")


@pytest.mark.parametrize("words", [[], ["evolve"], ["convert"]])
def test_the_help_gives_flags_no_type(words: list[str]) -> None:
    done = CliRunner().invoke(app, [*words, "-h"])
    assert done.exit_code == 0
    assert "--help" in done.output
    assert "bool" not in done.output.lower()


def test_a_place_is_tried_before_anything_is_written(tmp_path: Path) -> None:
    check_new(tmp_path / "deep" / "down" / "file.csv", force=False)
    check_figures(tmp_path / "deep", ["best"])
    assert list(tmp_path.iterdir()) == []


def test_what_may_find_more_is_a_command_that_can_be_typed(scale: Subject) -> None:
    store = Store(Path(":memory:"), create=True)
    plan = Plan("barracuda", SETTINGS.having(9, 1), 1, 1, 1)
    store.put(plan=asdict(plan))
    tools = SimpleNamespace(subject=replace(scale, edits="paper"))
    run = Run(Path("runs/one"), plan, None, store, tools)  # type: ignore[arg-type]
    said = list(next_steps(run))
    assert said[0] == "more generations: gi-cuda resume runs/one"
    again = f"gi-cuda evolve {scale.target.folder}"
    assert said[1:] == [
        f"more kinds of changes: {again} --edits all",
        f"a larger population: {again} --population 36",
    ]


def test_a_search_without_a_winner_says_what_it_had(capsys: pytest.CaptureFixture[str]) -> None:
    print_next_steps(console, 0, "", ["more generations: gi-cuda resume r --generations 8"])
    said = capsys.readouterr().out
    assert "none was certainly faster on the train cases either" in said
    assert "  more generations: gi-cuda resume r --generations 8\n" in said
    print_next_steps(console, 3, "", [])
    assert capsys.readouterr().out.startswith("3 faster on the train cases, none of the best on ")
    short = Shortfall(7, 1.44, SpeedUp(1, 0.99, 1.01), padding_words(0.69, 1.0))
    print_next_steps(console, 3, "", [], short)
    told = " ".join(capsys.readouterr().out.split())
    assert "speed-up 1.440 on the train cases, 1.000 [0.990, 1.010] on the held-out ones" in told
    assert "0.69 times as many threads" in told
    print_next_steps(console, 3, "individual 7: wrong", [])
    assert "none of the best is right:\n  individual 7: wrong\n" in capsys.readouterr().out
    assert device_words("host", "Xeon") == "Xeon, a CPU (host back end)"
    assert device_words("cuda", "H200") == "H200"
