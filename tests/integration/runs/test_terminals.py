"""Commands of a new user on terminals of 80 and 200 columns.

No word is broken, nothing is cut, and each command ends with the next one to type.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from gi_cuda.runs.stored import open_store
from tests.command import gi_cuda
from tests.integration.runs.conftest import WASTE, Finished, copy_scale
from tests.sweeps import broad

TARGET, RUN = "targets/scale", "runs/first"

MEASURING: tuple[tuple[object, ...], ...] = (
    ("init", f"{TARGET}/kernel.cu", "-o", "targets/mine", "--no-trial"),
    ("init", "--example", "bwt_exact"),
    ("check", TARGET),
    ("try", TARGET, WASTE, "BLOCK=128"),
    ("evolve", TARGET, "--population", 2, "--generations", 1),
    ("interactions", RUN),
    ("history", RUN),
    ("explain", RUN),
    ("compare", RUN, WASTE),
    ("patch", RUN, "-o", "faster.patch"),
    # These may take another winner, on a busy machine.
    ("minimize", RUN),
    ("validate", RUN),
)

KEPT = ("init", "explain")
"""The measuring commands that ``make test`` runs."""

LOOKING: tuple[tuple[object, ...], ...] = (
    ("--help",),
    ("evolve", "--help"),
    ("convert", TARGET, "--force"),
    ("convert", TARGET, "--explain"),
    ("mutate", TARGET, "--sample", 2),
    ("runs",),
    ("show", RUN),
    ("show", RUN, "--generation", 1),
    ("show", RUN, "--individual", 1),
    ("report", RUN, "--force"),
    ("doctor",),
    ("cache",),
)

COMMANDS = [
    *(
        pytest.param(words, 80, id=f"80 {words[0]}", marks=() if words[0] in KEPT else broad)
        for words in MEASURING
    ),
    *(pytest.param(words, 80, id=f"80 {words[0]}") for words in LOOKING),
    *(pytest.param(words, 200, id=f"200 {words[0]}") for words in LOOKING),
]
"""The narrow one is the hard one; what measures prints by the same means as what looks."""

UNBROKEN = re.compile(r"^( {2,}|\+|-|@@|index |diff --git |wrote )|/")
"""Lines that people copy, which are never broken: commands, notation, diffs, paths."""


@pytest.fixture(scope="module")
def place(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a target and a run of it."""
    folder = tmp_path_factory.mktemp("terminals")
    copy_scale(folder / TARGET)
    shutil.copytree(finished.folder, folder / RUN)
    with open_store(folder / RUN) as store:
        # Notation is never broken, so a table with a long one is as wide as that.
        (short, *_) = (one for one in store.individuals(0) if one.genotype == WASTE)
        winner = store.get("champion") | {"ident": short.ident, "genotype": WASTE}
        store.put(target=str(folder / TARGET), champion=winner)
    # What there is to see of a cache is there before anybody looks.
    kept = {"XDG_CACHE_HOME": str(folder / "cache"), "GI_CUDA_CACHE_SIZE": "100M"}
    done = gi_cuda("mutate", TARGET, "--sample", 2, "--compile", cwd=folder, **kept)
    assert done.returncode == 0, done.stderr
    return folder


def typed(words: Sequence[object], columns: int, cwd: Path) -> tuple[list[str], list[str]]:
    """Return the final lines on a terminal of some columns, and those on standard error."""
    terminal = {"COLUMNS": str(columns), "FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm"}
    done = gi_cuda(*words, cwd=cwd, XDG_CACHE_HOME=str(cwd / "cache"), **terminal)
    assert done.returncode == 0, done.stderr
    # Lines that were drawn over and over are those of progress.
    said = re.sub(r"(\r|\x1b\[\d*A)?\x1b\[2K", "\r", done.stdout)
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said)
    lines = [line.rpartition("\r")[2].rstrip() for line in said.split("\n")]
    return lines, done.stderr.split("\n")


def words_in(lines: Sequence[str]) -> set[str]:
    return {word for line in lines for word in re.findall(r"[^\W\d_]{4,}", line)}


@pytest.fixture(scope="module")
def wide(place: Path) -> Callable[[tuple[object, ...]], set[str]]:
    """The words that a command says where there is room for all of them."""

    @cache
    def said(words: tuple[object, ...]) -> set[str]:
        lines, _ = typed(words, 1000, place)
        return words_in(lines)

    return said


@pytest.mark.parametrize(("words", "columns"), COMMANDS)
def test_a_new_user_reads_it(
    words: tuple[object, ...],
    columns: int,
    place: Path,
    wide: Callable[[tuple[object, ...]], set[str]],
) -> None:
    lines, beside = typed(words, columns, place)
    beyond = [one for one in lines if len(one) > columns and not UNBROKEN.search(one)]
    assert not beyond, "\n".join(beyond)
    assert not any("…" in one for one in lines if words[0] != "convert")
    if "--help" not in words:
        (step,) = [one for one in (lines, beside) if any(line.startswith("next: ") for line in one)]
        assert step[-2].startswith(("  gi-cuda ", "  git "))
    if words in LOOKING:
        assert words_in(lines) <= wide(words)
