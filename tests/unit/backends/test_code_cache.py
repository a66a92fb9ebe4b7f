"""The cache of compiled code: entries, their lifetime, damaged files."""

from __future__ import annotations

import multiprocessing
import pickle
import random
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.compile.caching.code_cache import (
    SIZE_VARIABLE,
    CodeCache,
    code_folder,
    name_of,
    open_cache,
    size_limit,
)
from gi_cuda.errors import UserError
from tests.sweeps import broad

ROOM = 2**30
FRESH = multiprocessing.get_context("spawn")


def quiet(said: str) -> None:
    raise AssertionError(said)


def opened(folder: Path, limit: int = ROOM, complain: Callable[[str], None] = quiet) -> CodeCache:
    return CodeCache(folder, limit, complain)


def kept(cache: CodeCache, data: bytes) -> bytes:
    """The name of a file that is put into a cache."""
    cache.keep({}, {name_of(data): data})
    return name_of(data)


def test_records_and_files_are_there_for_others(tmp_path: Path) -> None:
    name = kept(opened(tmp_path), b"code" * 1000)
    opened(tmp_path).keep({b"a": b"one", b"b": b""})
    other = opened(tmp_path)
    assert other.file(name) == b"code" * 1000
    assert other.records([b"a", b"b", b"c"]) == {b"a": b"one", b"b": b""}
    other.keep(hits=2, misses=1)
    used = opened(tmp_path).usage()
    assert (used.entries, used.files, used.hits, used.misses) == (2, 1, 2, 1)
    assert 0 < used.size < used.limit == ROOM


@given(st.binary(max_size=100_000))
def test_any_bytes_come_back(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    cache = opened(tmp_path_factory.getbasetemp() / "any")
    cache.keep({b"k": data})
    assert cache.file(kept(cache, data)) == data
    assert cache.records([b"k"]) == {b"k": data}


def test_what_was_not_used_for_longest_makes_room(tmp_path: Path) -> None:
    cache = opened(tmp_path, limit=400_000)
    noise = [random.Random(i).randbytes(20_000) for i in range(120)]
    first, *others = (kept(cache, data) for data in noise[:2])
    for data in noise[2:]:
        others.append(kept(cache, data))
        assert cache.file(first) == noise[0]
    assert cache.file(others[0]) is None
    assert cache.usage().size < 800_000


def damage(folder: Path, change: str) -> None:
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute(change)
    database.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE Cache SET value = zeroblob(length(value))",
        "UPDATE Cache SET value = substr(value, 1, length(value) - 1)",
        "UPDATE Cache SET value = CAST('text' AS TEXT)",
        "DELETE FROM Cache",
    ],
)
def test_what_is_damaged_is_not_there(tmp_path: Path, change: str) -> None:
    cache = opened(tmp_path)
    name = kept(cache, b"code" * 1000)
    cache.keep({b"a": b"one"})
    damage(tmp_path, change)
    assert cache.records([b"a"]) == {}
    assert cache.file(name) is None
    cache.keep({b"a": b"one"})
    assert cache.records([b"a"]) == {b"a": b"one"}


def test_a_file_that_is_gone_or_cut_off_is_not_there(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    noise = random.Random(1).randbytes(100_000)
    name = kept(cache, noise)
    (stored,) = tmp_path.rglob("*.val")
    stored.write_bytes(stored.read_bytes()[:-10])
    assert cache.file(name) is None
    stored.unlink()
    assert cache.file(name) is None
    assert kept(cache, noise) == name
    assert cache.file(name) == noise


class Trap:
    """An object that must not be unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return quiet, ("unpickled",)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.keep({b"a": b"one"})
    with sqlite3.connect(tmp_path / "cache.db") as database:
        database.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(Trap()),))
    database.close()
    assert cache.records([b"a"]) == {}


def test_what_cannot_be_used_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    said: list[str] = []
    cache = opened(tmp_path / "file" / "code", complain=said.append)
    name = kept(cache, b"code")
    cache.keep({b"a": b"one"})
    cache.keep(hits=1, misses=1)
    assert (cache.records([b"a"]), cache.file(name), cache.usage().entries) == ({}, None, 0)
    assert len(said) == 1
    assert str(tmp_path / "file" / "code") in said[0]


def test_no_database_at_all(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"this is no database" * 1000)
    said: list[str] = []
    broken = opened(tmp_path, complain=said.append)
    assert broken.records([b"a"]) == {}
    assert len(said) == 1
    opened(tmp_path).clear()
    mended = opened(tmp_path)
    mended.keep({b"a": b"one"})
    assert mended.records([b"a"]) == {b"a": b"one"}


def test_emptied_while_another_uses_it(tmp_path: Path) -> None:
    cache, other = opened(tmp_path), opened(tmp_path)
    cache.keep({b"a": b"one"})
    assert other.records([b"a"])
    cache.clear()
    assert other.records([b"a"]) == {}
    other.keep({b"b": b"two"})
    assert cache.records([b"b"]) == {b"b": b"two"}
    opened(tmp_path / "never made").clear()
    assert not (tmp_path / "never made").exists()


def fill(folder: Path, together: Barrier, own: int) -> None:
    cache = opened(folder)
    together.wait()
    for i in range(40):
        name = kept(cache, b"%d" % i * 5000)
        cache.keep({b"%d" % i: name, b"%d %d" % (own, i): name})
        assert cache.records([b"%d" % i]) == {b"%d" % i: name}
    cache.keep(hits=40)


def test_threads_make_it_at_once(tmp_path: Path) -> None:
    cache = opened(tmp_path / "new")
    gate = threading.Barrier(6)

    def write(key: bytes) -> None:
        gate.wait()
        cache.keep({key: key})
        cache.keep(hits=0, misses=1)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, [b"%d" % i for i in range(6)]))
    used = cache.usage()
    assert (used.entries, used.misses) == (6, 6)


@broad
def test_processes_fill_it_at_once(tmp_path: Path) -> None:
    together = FRESH.Barrier(2)
    several = [FRESH.Process(target=fill, args=(tmp_path, together, own)) for own in range(2)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert [one.exitcode for one in several] == [0, 0]
    cache = opened(tmp_path)
    assert len(cache.records(b"%d %d" % (own, i) for own in range(2) for i in range(40))) == 80
    for i, name in enumerate(cache.records(b"%d" % i for i in range(40)).values()):
        assert cache.file(name) == b"%d" % i * 5000
    assert cache.usage().hits == 80


@pytest.mark.parametrize(
    ("said", "size"),
    [("", 2 * 2**30), ("123", 123), ("5k", 5120), ("500M", 500 * 2**20), ("0", 0)],
)
def test_sizes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, size: int) -> None:
    monkeypatch.setenv(SIZE_VARIABLE, said)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert size_limit() == size
    cache = open_cache(quiet)
    assert (cache is None) == (size == 0)
    assert code_folder() == tmp_path / "gi-cuda" / "code"
    assert not code_folder().exists()


@pytest.mark.parametrize("said", ["much", "-1", "1.5G", "2GB"])
def test_what_is_no_size(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv(SIZE_VARIABLE, said)
    with pytest.raises(UserError, match=SIZE_VARIABLE):
        size_limit()
