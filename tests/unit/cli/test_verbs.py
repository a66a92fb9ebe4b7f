"""The list of verbs: fast, complete, with suggestions after a typing mistake."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import gi_cuda.cli
from gi_cuda.cli import app
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Individual, Tally
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.store import Store, Tabued

SLOW = ("numpy", "pydantic", "matplotlib", "tree_sitter", "scipy", "lark")

VERBS = {name for verbs in gi_cuda.cli._VERBS.values() for name in verbs}


@pytest.mark.parametrize("words", ["import gi_cuda", "gi_cuda.cli.main()"])
def test_the_help_loads_nothing_slow(words: str) -> None:
    """Seconds depend on the machine; what they would go into does not."""
    program = (
        "import sys, gi_cuda.cli\nsys.argv = ['gi-cuda', '--help']\n"
        f"try:\n    {words}\nexcept SystemExit:\n    pass\n"
        f"print('loaded:', *(one for one in {SLOW} if one in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr == "loaded:\n"


def test_each_module_with_a_command_is_a_verb() -> None:
    folder = Path(gi_cuda.cli.__file__).parent
    modules = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if "\ndef command(" in path.read_text()
    }
    assert modules == set(gi_cuda.cli._MODULES.values())
    assert set(gi_cuda.cli._MODULES) == VERBS | set(gi_cuda.cli._FORMER)
    assert all(import_module(f"gi_cuda.cli.{one}").command for one in modules)


def test_each_verb_has_a_line_that_80_columns_hold() -> None:
    said = CliRunner().invoke(app, ["--help"], terminal_width=80).output
    for verb in VERBS:
        assert any(line.split()[1:2] == [verb] for line in said.splitlines()), verb
    for verbs in gi_cuda.cli._VERBS.values():
        for about in verbs.values():
            assert about in said


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_the_help_says_types_as_words_and_keeps_square_brackets(verb: str) -> None:
    said = " ".join(CliRunner().invoke(app, [verb, "--help"], terminal_width=200).output.split())
    assert not re.search(r"<(path|int|float|str)|INTEGER|\b(RANGE|FLOAT)\b", said)
    module = import_module(f"gi_cuda.cli.{gi_cuda.cli._MODULES.get(verb, verb)}")
    plain = typer.Typer()
    plain.command()(module.command)
    for one in typer.main.get_command(plain).params:
        for words in re.findall(r"\[[\w.]+\]", getattr(one, "help", None) or ""):
            assert words in said


def test_help_is_a_verb_too() -> None:
    for words, same in ((["help"], ["--help"]), (["help", "show"], ["show", "--help"])):
        asked, done = (CliRunner().invoke(app, one) for one in (words, same))
        assert asked.exit_code == 0
        assert asked.output == done.output


@pytest.mark.parametrize("former", gi_cuda.cli._FORMER)
def test_a_verb_that_became_an_option_works_by_both_names(former: str) -> None:
    verb, option = gi_cuda.cli._FORMER[former]
    old, new = (CliRunner().invoke(app, [*one, "--help"]) for one in ([former], [verb, option]))
    assert new.exit_code == old.exit_code == 0
    assert new.stdout == old.stdout
    assert new.stderr == old.stderr == ""
    assert option in CliRunner().invoke(app, [verb, "--help"]).stdout


def test_a_former_name_gives_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old, new = (CliRunner().invoke(app, one) for one in (["cache"], ["doctor", "--cache"]))
    assert (old.exit_code, old.stdout) == (new.exit_code, new.stdout)
    assert old.stderr == "`gi-cuda cache` is now: gi-cuda doctor --cache\n"
    assert new.stderr == ""


def test_a_mistyped_verb_gets_a_suggestion() -> None:
    done = CliRunner().invoke(app, ["shwo", "runs/one"])
    assert done.exit_code == 2
    assert "Did you mean 'show'?" in done.output


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("gi-cuda ev", {"evolve"}),
        ("gi-cuda evolve --backend ", {"auto", "host", "cuda"}),
        ("gi-cuda evolve --backend nothing --level p", {"ptx"}),
        ("gi-cuda patch --format m", {"mail"}),
        ("gi-cuda init --example tissue_s", {"tissue_spread"}),
        ("gi-cuda check ", {"targets/one"}),
        ("gi-cuda show ru", {"runs/one-1"}),
        ("gi-cuda patch runs/one-1 --individual ", {"1"}),
        ("gi-cuda show tar", {"targets/"}),
    ],
)
def test_shells_complete_verbs_values_targets_runs_and_individuals(
    typed: str, offered: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("targets/one", "runs/one-1"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "targets/one/target.toml").write_text("")
    with Store(tmp_path / "runs/one-1/run.db", create=True) as store:
        one = Individual(1, 0, "<_kernel.cu_1>", b"1", None, "random", ())
        store.add_generation(0, Tally(1), [one], Tabued())
        faster = Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, 0.9, 0.89, 0.91)
        store.add_evaluation(1, faster)
    words = typed.split(" ")
    environment = {
        "_GI_CUDA_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = CliRunner().invoke(app, [], env=environment, prog_name="gi-cuda")
    assert set(done.output.split()) == offered
