"""Ideas from outside: files and a program, from the command line to the winner."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store
from tests.command import gi_cuda
from tests.conftest import TARGETS
from tests.sweeps import broad

KERNEL = (TARGETS / "scale" / "kernel.cu").read_text()
WASTE = """\
    for (int i = 0; i < 40 * REPEAT; i++) {
        waste += tile[i % BLOCK];
    }
"""
IDEA = (
    KERNEL.replace(WASTE, "")
    .replace("mine = twice(in[at]);", "mine = twice(in[at]) + 1;")
    .replace("#define BLOCK 64", "#define BLOCK 32")
)
"""One change that is good, one that is wrong, and a value."""

ASKED = """\
import json, sys
told = json.load(sys.stdin)
json.dump(told, open("told.json", "w"))
text = told["files"]["kernel.cu"]
rewritten = text.replace("int waste = 0;", "int waste = 1;")
json.dump([{"name": "another beginning", "source": rewritten}, "nonsense"], sys.stdout)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target, a folder with an idea and with what is none, and a program to be asked."""
    folder = tmp_path_factory.mktemp("ideas")
    shutil.copytree(TARGETS / "scale", folder / "t")
    (folder / "ideas").mkdir()
    (folder / "ideas" / "idea.cu").write_text(IDEA)
    (folder / "ideas" / "notes.txt").write_text("Leave the loop out.\n")
    (folder / "ask.py").write_text(ASKED)
    return folder


@pytest.fixture(scope="module")
def searched(place: Path) -> Any:
    sizes = ("--population", 8, "--generations", 1, "--run", "r")
    done = gi_cuda("evolve", "t", "--ideas", "ideas", *sizes, cwd=place)
    assert done.returncode == 0, done.stderr
    return done


def test_good_and_bad_changes_of_a_patch_are_told_apart(searched: Any, place: Path) -> None:
    assert "idea 1, idea.cu: 2 changes, BLOCK=32" in searched.stdout
    assert "left out notes.txt: there is no kernel" in searched.stdout
    with Store(place / "r" / DATABASE) as store:
        evaluated = store.evaluations()
        found = {one.genotype: evaluated[one.ident].outcome for one in store.individuals()}
    wrong, good = "<idea_kernel.cu_22><idea_K1h1>", "<idea_kernel.cu_26><idea_K1h2>"
    assert found[f"BLOCK=32 {wrong} {good}"] is found[f"BLOCK=32 {wrong}"] is Outcome.WRONG
    assert found[f"BLOCK=32 {good}"] is Outcome.FASTER
    changes = searched.stdout.split("its changes:")[1]
    assert good in changes
    assert wrong not in changes
    assert "takes change 2 of 2 of idea.cu" in changes


@broad
def test_a_patch_says_where_its_changes_come_from(searched: Any, place: Path) -> None:
    """And how far its answers are from the original's."""
    done = gi_cuda("patch", "r", "--format", "mail", "--sender", "A <a@b.c>", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "--ideas ideas/idea.cu" in done.stdout
    assert "of idea.cu" in done.stdout
    assert "are those of the original, bit for\nbit" in done.stdout


def test_a_program_is_told_and_asked(searched: Any, place: Path) -> None:
    command = shlex.join([sys.executable, "ask.py"])
    done = gi_cuda("resume", "r", "--generations", 2, "--ask", command, cwd=place)
    assert done.returncode == 0, done.stderr
    assert "idea 2, another beginning: 1 change" in done.stdout
    assert "left out answer 2: there is no kernel" in done.stdout
    told = json.loads((place / "told.json").read_text())
    assert told["kernels"] == ["scale"]
    assert told["profile"]["seconds"] > 0
    assert told["best"][0]["speed_up"] > 1
    assert told["best"][0]["patch"].startswith("diff --git")
    (first,) = told["ideas"]
    assert (first["name"], first["outcome"]) == ("idea.cu", "wrong")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ideas", "ideas/notes.txt"), "none of these is a patch of the target's source"),
        (("--ideas", "nowhere"), "cannot be read"),
        (("--ideas", "ideas", "--bnf", "a", "--scope", "b"), "cannot be read"),
    ],
)
def test_what_is_no_idea_is_an_error(words: tuple[str, ...], said: str, place: Path) -> None:
    done = gi_cuda("evolve", "t", "--run", "other", *words, cwd=place)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "other").exists()
