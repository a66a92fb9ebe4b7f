"""Following a build while others look after what has been built."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from gi_cuda.backends.compile.background import BackgroundBuild
from gi_cuda.backends.protocol.variants import BuildFailure, Built


def failures(*idents: int) -> list[Built]:
    return [BuildFailure(ident, "") for ident in idents]


def test_all_that_is_built_comes_in_order_and_nothing_between() -> None:
    ahead = BackgroundBuild(iter(failures(1, 2, 3)))
    assert [one for one in ahead if one] == failures(1, 2, 3)
    assert ahead.seconds > 0


def test_while_nothing_is_ready_nobody_is_kept_waiting() -> None:
    ready = Event()

    def slow() -> Iterator[Built]:
        yield from failures(1)
        ready.wait()
        yield from failures(2)

    found = iter(BackgroundBuild(slow()))
    assert next(one for one in found if one) == failures(1)[0]
    assert next(found) is None
    ready.set()
    assert [one for one in found if one] == failures(2)


def test_an_error_comes_out_where_the_answers_are_read() -> None:
    def broken() -> Iterator[Built]:
        yield from failures(1)
        raise RuntimeError("no compiler")

    with pytest.raises(RuntimeError, match="no compiler"):
        list(BackgroundBuild(broken()))


def test_a_build_that_is_closed_begins_nothing_more() -> None:
    begun, ready = [], Event()

    def build() -> Iterator[Built]:
        for ident in (1, 2, 3):
            begun.append(ident)
            yield from failures(ident)
            ready.wait()

    ahead = BackgroundBuild(build())
    found = iter(ahead)
    next(one for one in found if one)
    ahead._stop.set()
    ready.set()
    ahead.close()
    assert 3 not in begun
