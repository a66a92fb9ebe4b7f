"""What a program prints with a patch is held against what it prints without."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.upstream.outputs import Printed, expected

HERE = Path("/tmp/original")


def lines(text: str) -> list[str]:
    return Printed().lines(text.encode(), HERE)


def test_what_differs_from_run_to_run_is_not_compared() -> None:
    known = expected([lines("sum 12, 0.31s\nat 0x7f02"), lines("sum 12, 0.29s\nat 0xaa")])
    assert known is not None
    assert known.difference(lines("sum 12, 7.5s\nat 0x1")) == ""
    assert known.difference(lines("sum 13, 7.5s\nat 0x1")) == (
        "line 1 of its output is `sum 13, 7.5s`, and without the patch `sum 12, 0.31s`"
    )
    assert known.compared == 4  # sum, 12, a comma, s
    assert known.varying == 2  # a number, and a line whose number of words varies


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("a 1\nb", ""),
        ("a  1 \r\nb", ""),
        ("a 1", "it prints 1 lines, and without the patch 2"),
        ("a 1\nb\nc", "it prints 3 lines, and without the patch 2"),
        ("a -1\nb", "line 1 of its output is `a -1`"),
        ("a 1.0\nb", "line 1 of its output is `a 1.0`"),
        ("a 1 1\nb", "line 1 of its output is `a 1 1`"),
        ("a nan\nb", "line 1 of its output is `a nan`"),
        ("", "it prints 0 lines"),
    ],
)
def test_all_else_is(output: str, said: str) -> None:
    known = expected([lines("a 1\nb")] * 3)
    assert known is not None
    difference = known.difference(lines(output))
    assert said in difference
    assert bool(said) is bool(difference)


def test_lines_that_come_and_go_cannot_be_compared() -> None:
    assert expected([lines("a\nb"), lines("a")]) is None


def test_what_does_not_count_is_left_out() -> None:
    printed = Printed(ignore=(r"\[.*?\]", "^# .*"), number=r"took (\S+) ms|slept (?:\S+)")
    text = b"[12:30] read /tmp/original/in.txt\n# hello\nkernel took 1.25 ms, \xff\n"
    assert printed.lines(text, HERE) == [" read ./in.txt", "", "kernel took  ms, \udcff"]
    assert printed.numbers(text, b"took 3 ms\nslept 4") == ["1.25", "3", ""]
