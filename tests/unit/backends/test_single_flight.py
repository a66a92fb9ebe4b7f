"""Values that several threads ask for are computed once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gi_cuda.backends.compile.caching.single_flight import once


def test_who_asks_the_same_meanwhile_waits_and_others_do_not() -> None:
    asked: list[str] = []
    both, go_on = threading.Barrier(2), threading.Event()

    @once(maxsize=None)
    def length(word: str) -> int:
        asked.append(word)
        both.wait(60)  # two words are looked at at the same time
        go_on.wait(60)
        return len(word)

    with ThreadPoolExecutor(6) as threads:
        words = ["one", "three", "one", "three", "one", "three"]
        answers = threads.map(length, words)
        while len(asked) < 2:
            pass
        go_on.set()
        assert list(answers) == [len(word) for word in words]
    assert sorted(asked) == ["one", "three"]


def test_what_could_not_be_found_out_is_tried_again() -> None:
    tried: list[int] = []

    @once(maxsize=1)
    def found(number: int, *, least: int = 0) -> int:
        tried.append(number)
        if len(tried) == 1:
            raise OSError("not yet")
        return number + least

    with pytest.raises(OSError, match="not yet"):
        found(3)
    assert [found(3), found(3), found(3, least=2), found(3)] == [3, 3, 5, 3]
    assert tried == [3] * 4
