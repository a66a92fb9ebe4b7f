"""Runs that no longer fit their target or options: refused with one message, without losses."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gi_cuda.store import Store
from tests.command import gi_cuda
from tests.integration.cli.refusing import EVOLVE, SCALE, is_refused, tree


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a target ``t`` and a tiny run ``run`` of it that has no winner.

    It took the place of another, and of what a process left that was killed as it made one."""
    folder = tmp_path_factory.mktemp("ran")
    shutil.copytree(SCALE, folder / "t", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "run").mkdir()
    with Store(folder / "run" / "run.db", create=True) as store:
        store.put(champion="another")
    (folder / "run" / "mine").touch()
    (folder / ".run.making" / "reference").mkdir(parents=True)
    sizes = ("--population", "2", "--generations", "1")
    done = gi_cuda(*EVOLVE, "--force", *sizes, cwd=folder)
    assert done.returncode == 0, done.stderr
    with Store(folder / "run" / "run.db") as store:
        store.put(champion=None)
    return folder


def test_a_forced_run_is_a_new_one_and_clears_what_a_killed_process_left(ran: Path) -> None:
    assert {path.name for path in ran.iterdir()} == {"t", "run"}
    assert not (ran / "run" / "mine").exists()
    with Store(ran / "run" / "run.db") as store:
        assert len(store.evaluations()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (EVOLVE, ("run: there is a run already", "gi-cuda resume", "--force")),
        (("patch", "run", "--individual", "7"), ("no individual 7", "gi-cuda show")),
        (("patch", "run", "--output", "t/kernel.cu"), ("t/kernel.cu: the file exists", "--force")),
        (("show", "run", "--individual", "7"), ("no individual 7: it has 1 to 2",)),
        (("evolve", "run"), ("there is no target here: it is a run", "gi-cuda resume run")),
        (("patch", "none"), ("none: no run is stored here", "the runs here: run")),
        (("minimize",), ("no run is named", "the runs here: run")),
        (
            ("history", "run", "--figures", "t/kernel.cu"),
            ("t/kernel.cu: cannot be written: Not a directory",),
        ),
        (
            ("interactions", "run", "--figures", "t/kernel.cu/x"),
            ("t/kernel.cu/x: cannot be written: Not a directory",),
        ),
        (
            ("compare", "run", "--figures", "t/kernel.cu"),
            ("t/kernel.cu: cannot be written: Not a directory",),
        ),
        (("compare", "run", "--csv", "t"), ("t: it is a folder",)),
        (
            ("validate", "run", "--export", "t/data.py/x"),
            ("t/data.py/x: cannot be written: Not a directory",),
        ),
        (("show", "run", "--generation", "7"), ("no generation 7",)),
    ],
    ids=lambda value: " ".join(value[:4]),
)
def test_a_run_is_never_overwritten_and_never_asked_for_what_it_lacks(
    words: tuple[str, ...], said: tuple[str, ...], ran: Path
) -> None:
    before = tree(ran)
    is_refused(gi_cuda(*words, cwd=ran), *said)
    assert tree(ran) == before


def test_after_a_report_of_runs_without_winners_they_are_searched_further(
    ran: Path, tmp_path: Path
) -> None:
    """``compare`` would have no winner to measure."""
    shutil.copytree(ran / "run", ran / "second")
    try:
        done = gi_cuda("report", "run", "second", "-o", tmp_path / "two.html", cwd=ran)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("next: search further\n  gi-cuda resume run --generations 2\n")
    finally:
        shutil.rmtree(ran / "second")


def test_a_folder_in_the_place_of_a_figure(ran: Path, tmp_path: Path) -> None:
    (tmp_path / "sizes.png").mkdir()
    done = gi_cuda("history", "run", "--figures", tmp_path, cwd=ran)
    is_refused(done, "sizes.png: it is a folder")
    assert [path.name for path in tmp_path.iterdir()] == ["sizes.png"]


@pytest.mark.parametrize("verb", ["resume", "patch"])
@pytest.mark.parametrize("file", ["kernel.cu", "target.toml", "data.py"])
def test_a_target_that_changed_is_not_mixed_with_old_results(
    verb: str, file: str, ran: Path
) -> None:
    text = (ran / "t" / file).read_bytes()
    marks = {"kernel.cu": b"// changed\n", "target.toml": b'[warps]\nmasks = "device"\n'}
    mark = marks.get(file, b"# changed\n")
    (ran / "t" / file).write_bytes(text + mark)
    try:
        before = tree(ran)
        done = gi_cuda(verb, "run", cwd=ran)
        is_refused(done, f"t/{file}: the target changed since this run began (written 20")
        assert "gi-cuda show run" in done.stderr
        assert tree(ran) == before
    finally:
        (ran / "t" / file).write_bytes(text)


def test_what_is_stored_of_a_target_that_changed_is_still_shown(ran: Path) -> None:
    text = (ran / "t" / "data.py").read_bytes()
    (ran / "t" / "data.py").write_bytes(text + b"# changed\n")
    try:
        for options in ((), ("--individual", "1")):
            done = gi_cuda("show", "run", *options, cwd=ran)
            assert (done.returncode, done.stderr) == (0, "")
            assert "t/data.py: the target changed since this run began" in done.stdout
            assert done.stdout.count("no diff: ") == 1
    finally:
        (ran / "t" / "data.py").write_bytes(text)


def test_a_target_that_is_gone(ran: Path) -> None:
    (ran / "t").rename(ran / "moved")
    try:
        is_refused(gi_cuda("resume", "run", cwd=ran), str(ran / "t"), "there is no target here")
    finally:
        (ran / "moved").rename(ran / "t")


def test_a_database_of_another_format_or_program_is_left_as_it_is(ran: Path) -> None:
    shutil.copytree(ran / "run", ran / "newer")
    with Store(ran / "newer" / "run.db") as store:
        store.put(schema=99)
    (ran / "other").mkdir()
    with closing(sqlite3.connect(ran / "other" / "run.db")) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = tree(ran)
    is_refused(gi_cuda("resume", "newer", cwd=ran), "newer/run.db", "format 99", "new run")
    is_refused(gi_cuda("resume", "other", cwd=ran), "other/run.db", "not a run database")
    assert tree(ran) == before


def test_force_with_a_target_that_fails_its_baseline_keeps_the_run(ran: Path) -> None:
    kernel = ran / "t" / "kernel.cu"
    good = kernel.read_text()
    kernel.write_text(good.replace("int mine = 0;", "int mine = nothing;"))
    before = tree(ran)
    try:
        is_refused(gi_cuda(*EVOLVE, "--force", cwd=ran), "kernel.cu", "nothing")
        assert tree(ran) == before
    finally:
        kernel.write_text(good)


@pytest.mark.usefixtures("no_gpu")
def test_no_gpu_and_force_keep_the_run_that_is_there(ran: Path) -> None:
    before = tree(ran)
    is_refused(gi_cuda(*EVOLVE, "--force", "--backend", "cuda", cwd=ran), "gi-cuda doctor")
    assert tree(ran) == before
