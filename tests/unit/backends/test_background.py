"""Follow a build in the background while its finished variants are processed."""

from __future__ import annotations

import select
from collections.abc import Iterator
from contextlib import closing
from threading import Event, current_thread

import pytest

from gi_cuda.backends.background import Background
from gi_cuda.backends.protocol.variants import BuildFailure, Built

LONG = 20.0


def failures(*idents: int) -> list[Built]:
    return [BuildFailure(ident, "") for ident in idents]


def wait(build: Background[Built]) -> list[Built]:
    """Wait for news of a build; return the variants built since."""
    assert select.select([build.news], [], [], LONG)[0]
    return list(build.take())


def test_all_that_is_built_comes_in_order() -> None:
    with closing(Background(iter(failures(1, 2, 3)))) as build:
        found: list[Built] = []
        while not build.ended:
            found += wait(build)
        assert found == failures(1, 2, 3)


def test_while_nothing_is_ready_there_is_no_news() -> None:
    ready = Event()

    def slow() -> Iterator[Built]:
        yield from failures(1)
        ready.wait()
        yield from failures(2)

    with closing(Background(slow())) as build:
        assert wait(build) == failures(1)
        assert select.select([build.news], [], [], 0) == ([], [], [])
        assert list(build.take()) == []
        assert not build.ended
        ready.set()
        found: list[Built] = []
        while not build.ended:
            found += wait(build)
        assert found == failures(2)


def test_more_news_than_the_pipe_holds_is_no_less_taken() -> None:
    with closing(Background(iter(failures(*range(100_000))))) as build:
        build._thread.join()
        assert wait(build) == failures(*range(100_000))
        assert build.ended


def test_an_error_comes_out_where_the_answers_are_taken() -> None:
    def broken() -> Iterator[Built]:
        yield from failures(1)
        raise RuntimeError("no compiler")

    def take_all() -> None:
        while not build.ended:
            wait(build)

    with (
        closing(Background(broken())) as build,
        pytest.raises(RuntimeError, match="no compiler"),
    ):
        take_all()


def test_a_build_that_is_closed_begins_nothing_more() -> None:
    begun, ready = [], Event()

    def built() -> Iterator[Built]:
        for ident in (1, 2, 3):
            begun.append(ident)
            yield from failures(ident)
            ready.wait()

    build = Background(built())
    wait(build)
    build._stop.set()
    ready.set()
    build.close()
    assert 3 not in begun


def test_all_that_comes_can_be_waited_for() -> None:
    with closing(Background(iter(failures(1, 2, 3)))) as build:
        assert list(build.each()) == failures(1, 2, 3)
        assert build.ended


def test_what_is_left_half_way_is_left_where_it_went_on() -> None:
    left = []

    def built() -> Iterator[Built]:
        try:
            while True:
                yield from failures(1)
        finally:
            left.append(current_thread())

    with closing(Background(built(), "builds")) as build:
        wait(build)
    assert [thread.name for thread in left] == ["builds"]
