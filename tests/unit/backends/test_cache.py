"""Texts that are made once per machine."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pytest

from gi_cuda.backends.compile.caching.cache import cached, cached_text


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gi-cuda" / "texts"


def never() -> str:
    raise AssertionError("it is there already")


def test_a_text_is_made_once(folder: Path) -> None:
    assert cached_text("texts", "one", lambda: "a\udce9\n", 3) == "a\udce9\n"
    assert cached_text("texts", "one", never, 3) == "a\udce9\n"
    assert cached_text("texts", "empty", lambda: "", 3) == ""
    assert cached_text("texts", "empty", never, 3) == ""
    assert sorted(path.name for path in folder.iterdir()) == ["empty", "one"]


def test_what_is_not_known_is_asked_again(folder: Path) -> None:
    assert cached_text("texts", "one", lambda: None, 3) is None
    assert cached_text("texts", "one", lambda: "known", 3) == "known"


def test_those_that_were_used_last_are_kept(folder: Path) -> None:
    for age, name in enumerate(["first", "second", "third"]):
        cached_text("texts", name, lambda name=name: name, 3)  # type: ignore[misc]
        os.utime(folder / name, (age, age))
    assert cached_text("texts", "first", never, 3) == "first"
    cached_text("texts", "fourth", lambda: "fourth", 3)
    assert sorted(path.name for path in folder.iterdir()) == ["first", "fourth", "third"]


def test_of_folders_those_that_were_used_last_are_kept(folder: Path) -> None:
    def make(path: Path) -> None:
        path.mkdir()
        (path / "inside").write_text("")

    for age, name in enumerate(["first", "second", "third"]):
        assert cached(name, make, folder, 3) == folder / name
        os.utime(folder / name, (age, age))
    assert cached("first", Path.touch, folder, 3) == folder / "first"
    cached("fourth", Path.touch, folder, 3)
    assert sorted(path.name for path in folder.iterdir()) == ["first", "fourth", "third"]


def test_without_a_place_to_keep_it_a_text_is_made_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cached_text("texts", "one", lambda: "once", 3) == "once"
    assert cached_text("texts", "one", lambda: "twice", 3) == "twice"


def test_of_threads_that_ask_at_once_one_makes_it() -> None:
    made, asked = list[int](), Barrier(4)
    begun, over = Event(), Event()

    def make() -> str:
        made.append(1)
        begun.set()
        assert over.wait(60)
        return "text"

    def ask(_: int) -> str | None:
        asked.wait()
        return cached_text("texts", "one", make, 3)

    with ThreadPoolExecutor(4) as threads:
        found = threads.map(ask, range(4))
        assert begun.wait(60)
        over.set()
        assert list(found) == ["text"] * 4
    assert made == [1]
