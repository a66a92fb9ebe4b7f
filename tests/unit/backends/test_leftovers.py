"""Temporary files do not outlive their process, not even if it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pytest

from gi_cuda.backends.leftovers import (
    REMOVE,
    SETTLE,
    afterwards,
    own_temporary_folder,
    sweep,
)
from tests.processes import MARK, outlive

KILLED = """
import os, signal, sys
from pathlib import Path
from gi_cuda.backends.leftovers import REMOVE, SETTLE, afterwards, own_temporary_folder
one, other, third = map(Path, sys.argv[1:])
with own_temporary_folder(), afterwards(REMOVE, third), afterwards(SETTLE, one, other):
    third.mkdir()
    one.rename(other)
    one.mkdir()
    (one / "new").touch()
    Path(os.environ["TMPDIR"], "scratch").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "one").mkdir()
    mark = str(uuid.uuid4())
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *(tmp_path / name for name in ("one", "other", "third"))],
        env={**os.environ, MARK: mark, "TMPDIR": str(tmp_path / "tmp")},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    outlive(mark)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "tmp"}
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["new"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_folders_are_swept_away_beside_what_goes_on(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "missing", "other")]
    for folder in folders[::2]:
        (folder / "inside").mkdir(parents=True)
        (folder / "inside" / "file").touch()
    for folder in folders:
        sweep(folder)
    deadline = time.monotonic() + 60
    while any(folder.exists() for folder in folders):
        assert time.monotonic() < deadline
        os.sched_yield()


@pytest.mark.parametrize("taken", [True, False], ids=["its place is taken", "nothing came"])
def test_what_was_put_aside_comes_back_unless_its_place_is_taken(
    taken: bool, tmp_path: Path
) -> None:
    place, aside = tmp_path / "a run", tmp_path / "-aside"
    aside.mkdir()
    with afterwards(SETTLE, place, aside):
        if taken:
            (place / "new").mkdir(parents=True)
    assert not aside.exists()
    assert [one.name for one in place.iterdir()] == (["new"] if taken else [])


def test_a_lock_is_held_until_all_is_tidied_up(tmp_path: Path) -> None:
    held, ours = os.pipe()
    (tmp_path / "one").mkdir()
    with afterwards(REMOVE, tmp_path / "one", holding=[ours]):
        os.close(ours)
        os.set_blocking(held, False)
        with pytest.raises(BlockingIOError):  # somebody could still write
            os.read(held, 1)
    assert os.read(held, 1) == b""
    os.close(held)
    assert not (tmp_path / "one").exists()


def test_temporary_files_have_a_folder_of_their_own_for_a_while() -> None:
    before = tempfile.gettempdir()
    with own_temporary_folder():
        folder = Path(tempfile.gettempdir())
        assert os.environ["TMPDIR"] == str(folder)
        assert folder.parent == Path(before)
        (folder / "scratch").touch()
    assert not folder.exists()
    assert tempfile.gettempdir() == before
