"""Tables keep texts that users copy."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from gi_cuda.grammar import EDIT_SETS, convert, read_source
from gi_cuda.grammar.frontends.cuda.rules.statement_account import account
from gi_cuda.report.results.show import generations_table
from gi_cuda.report.tables import print_table, right, say, say_whole, table, whole
from gi_cuda.report.targets.convert import lines_table
from gi_cuda.results.evaluation import Outcome
from gi_cuda.results.generation import Generation, Phases, Tally

CHANGE = "<_a_rather_long_file_name.cu_126>+<_a_rather_long_file_name.cu_948>"
REASON = "without it the train cases take twice the time that they took before it was made"


def printed(*, terminal: bool, width: int = 40) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None)
    rows = table("changes that stay", *whole("change"), "why")
    rows.add_row(Text(CHANGE), Text(REASON))
    print_table(console, rows)
    assert console.width == width
    return out.getvalue().splitlines()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_change_is_never_broken(terminal: bool) -> None:
    assert any(CHANGE in line for line in printed(terminal=terminal))


def test_in_a_pipe_a_row_is_a_line() -> None:
    assert any(CHANGE in line and REASON in line for line in printed(terminal=False))
    said = " ".join(line.replace(CHANGE, "") for line in printed(terminal=True)[4:])
    assert said.split() == REASON.split()


@pytest.mark.parametrize("width", [30, 44, 60, 80, 200])
def test_no_word_is_broken_and_nothing_is_cut(width: int) -> None:
    words = ["generations", "uncertain", "1.139", "[1.064,", "1.204]", "a", "processor"]
    rows = table("a title", *whole("run"), "of words", *right("number"))
    rows.add_row("runs/one", Text(" ".join(words)), "12")
    rows.add_row("runs/another-one", Text("short"), "1234567890")
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    print_table(console, rows)
    said = out.getvalue().split()
    assert {*words, "short", "runs/one", "runs/another-one", "1234567890"} <= {*said}
    # What does not fit goes beyond the terminal, and no further than it must.
    least = len("runs/another-one generations 1234567890") + 4
    assert max(map(len, out.getvalue().splitlines())) <= max(width, least)


def test_columns_of_a_generation_say_what_was_made_and_what_was_a_duplicate() -> None:
    out = io.StringIO()
    one = Generation(1, True, Tally(12, 3, 2), Phases(), {Outcome.FASTER: 4, Outcome.NOT_BUILT: 1})
    print_table(Console(file=out, width=120), generations_table([one], [0.5]))
    lines = out.getvalue().splitlines()
    assert "duplicates by genotype and by text" in lines[0]
    heading = " ".join(" ".join(lines[1:4]).split())
    assert re.search(r"gen .*made .*geno .*text .*comp", heading)
    row = next(line for line in lines if "2.000" in line)
    assert row.split()[:4] == ["1", "12", "3", "2"]


@pytest.mark.parametrize("width", [40, 80])
def test_lines_go_on_between_words_and_those_to_copy_are_whole(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    line = "  " + "what a search found in the time that it had, in words, " * 3 + REASON
    say(console, line)
    said = out.getvalue().splitlines()
    assert " ".join(said).split() == line.split()
    assert max(map(len, said)) <= width
    assert all(one.startswith("    ") for one in said[1:])
    say_whole(console, line)
    assert out.getvalue().splitlines()[-1] == line


@pytest.mark.parametrize("width", [20, 90, 400])
def test_every_rule_and_reason_is_shown_at_any_width(width: int, tmp_path: Path) -> None:
    path = tmp_path / "a_rather_long_file_name.cu"
    path.write_text(
        "__global__ void k(int *a, int n) {\n  const int at = threadIdx.x;\n"
        "  if (at < n) a[at] = a[at] * 2 + a[0] * 3 + a[1] * 4 + a[2] * 5;\n  return;\n}\n"
    )
    types = EDIT_SETS["paper"]
    source = read_source(path)
    grammar, parts = convert(source, None, types), account(source, None, types)
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    print_table(console, lines_table(grammar, parts, width))
    for rule in grammar.rules:
        if any(part.whole and part.rules[0] == rule.name for part in parts):
            assert f"<{rule.name}>" in out.getvalue()
    for part in parts:
        assert part.reason in out.getvalue()
    longest = max(map(len, out.getvalue().splitlines()))
    assert longest <= max(width, 110)
    assert ("a[2] * 5;" in out.getvalue()) is (width == 400)
