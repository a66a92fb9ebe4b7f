"""Runs survive another process, and machines that lack a requirement."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.kills import Bench, Kill
from gi_cuda.errors import UserError
from gi_cuda.runs.lock import FILE, locked
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import DATABASE
from gi_cuda.subject import Subject
from tests.command import Done, begin, gi_cuda, quietly
from tests.sweeps import broad, sweep

SIZES = ("--population", 4, "--generations", 2)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A finished run."""
    return Bench.make(tmp_path_factory.mktemp("bench"), lambda run: gi_cuda("resume", run))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    "kill",
    sweep(
        [
            Kill("search", "fork server", 0.5),
            Kill("baseline", "SIGKILL", 0.8),
            Kill("force", "SIGHUP", 1.0),
            Kill("validation", "compiler", 0.0),
        ],
        Kill("search", "fork server", 0.5),
    ),
    ids=lambda kill: f"{kill.victim} in {kill.phase}",
)
def test_kills_break_no_promise(kill: Kill, bench: Bench) -> None:
    """Processes that are really killed: nothing finished is lost, and the run goes on."""
    assert bench.broken(kill) == []


def is_refused(done: Done, *said: str) -> None:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for words in said:
        assert words in done.stderr


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_a_run_that_another_process_works_on_is_not_overwritten(
    bench: Bench, scale: Subject, tmp_path: Path
) -> None:
    shutil.copytree(bench.finished, tmp_path / "r")
    with locked(tmp_path / "r"):
        before = tree(tmp_path)
        words = ("evolve", scale.target.folder, "--run", "r", *SIZES, "--force")
        for line in (words, ("resume", "r")):
            done = gi_cuda(*line, cwd=tmp_path)
            is_refused(done, "r: another process is at work on this run", str(os.getpid()))
            assert tree(tmp_path) == before


def test_of_two_searches_into_one_folder_the_second_is_refused(
    scale: Subject, tmp_path: Path
) -> None:
    words = ("evolve", scale.target.folder, "--run", "r", *SIZES)
    lock = tmp_path / ".r.making" / FILE
    with begin(*words, cwd=tmp_path) as first:
        while not (lock.exists() and lock.read_text()):
            assert not first.ended(0.01)
        done = gi_cuda(*words, cwd=tmp_path)
        is_refused(done, f"another process is making this run: {first.process.pid} on", "--run r")


def test_what_is_written_where_a_run_was_is_removed_as_well(bench: Bench, tmp_path: Path) -> None:
    folder = shutil.copytree(bench.finished, tmp_path / "r")

    def spoiled() -> None:
        with open_run(folder):
            shutil.rmtree(folder)
            (folder / "build" / "generation3").mkdir(parents=True)
            raise RuntimeError("a compiler cannot write")

    with pytest.raises(UserError, match="the run was removed"):
        spoiled()
    assert not folder.exists()


def test_a_run_that_is_removed_as_it_is_written_is_said_to_be(
    scale: Subject, tmp_path: Path
) -> None:
    words = ("evolve", scale.target.folder, "--run", "r", "--population", 4, "--generations", 500)

    def removed() -> Done:
        with begin(*words, cwd=tmp_path) as started:
            while "generation 0" not in (started.said.read_text() if started.said.exists() else ""):
                if started.ended(0.01):
                    return started.end()
            while (tmp_path / "r").exists():  # what is written meanwhile is met half-way
                shutil.rmtree(tmp_path / "r", ignore_errors=True)
            return started.end()

    is_refused(quietly(removed), "r: the run was removed")
    assert not (tmp_path / "r").exists()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own; a skip where none can be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip(f"no file system can be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, left: int) -> Path:
    """Fill a file system but for so many bytes; what is to be removed to have room again."""
    file = folder / "filler"
    with file.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))
    os.truncate(file, file.stat().st_size - left)
    return file


@broad
def test_a_full_disk_is_said_and_the_search_goes_on_once_there_is_room(
    bench: Bench, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", "30M") as disk:
        shutil.copytree(bench.finished, disk / "r")
        words = ("resume", disk / "r", "--generations", 5)
        filler = fill(disk, 0)
        is_refused(gi_cuda(*words), "disk is full")
        filler.unlink()
        with closing(sqlite3.connect(disk / "r" / DATABASE)) as db:
            (kept,) = db.execute("SELECT COUNT(*) FROM evaluation").fetchone()
        assert kept >= 12
        done = gi_cuda(*words)
        assert done.returncode == 0, done.stderr


def test_a_full_disk_for_temporary_files_is_said(scale: Subject, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "30M") as disk:
        filler = fill(disk, 1 << 16)
        done = gi_cuda("check", scale.target.folder, TMPDIR=str(disk))
        is_refused(done, "disk is full")
        assert list(disk.iterdir()) == [filler]


def test_places_where_nothing_can_be_written(bench: Bench, scale: Subject, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "30M") as disk:
        shutil.copytree(bench.finished, disk / "r")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        words = ("evolve", scale.target.folder, *SIZES, "--run")
        for line in (("resume", disk / "r"), (*words, disk / "s"), (*words, disk / "r", "--force")):
            done = gi_cuda(*line)
            is_refused(done)
            assert "writ" in done.stderr or "Read-only" in done.stderr


@pytest.mark.parametrize("name", ["x" * 255, "x" * 300, "circle/r"], ids=["255", "300", "circle"])
def test_names_that_no_folder_can_have(name: str, scale: Subject, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    words = ("evolve", scale.target.folder, *SIZES, "--run", name)
    is_refused(gi_cuda(*words, cwd=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["circle"]


def test_a_population_that_no_memory_holds_is_refused(scale: Subject, tmp_path: Path) -> None:
    words = ("evolve", scale.target.folder, "--population", 10**14)
    is_refused(gi_cuda(*words, cwd=tmp_path), "--population")
