"""Comparison of a program's output with and without a patch."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.upstream.outputs import Printed, expected

HERE = Path("/tmp/original")


def lines(text: str) -> list[str]:
    return Printed().lines(text.encode(), HERE)


def test_what_differs_from_run_to_run_is_not_compared() -> None:
    known = expected([lines("sum 12, 0.31x\nat 0x7f02"), lines("sum 12, 0.29x\nat 0xaa")])
    assert known is not None
    assert known.difference(lines("sum 12, 7.5x\nat 0x1")) == ""
    assert known.difference(lines("sum 13, 7.5x\nat 0x1")) == (
        "line 1 of its output is `sum 13, 7.5x`, and without the patch `sum 12, 0.31x`"
    )
    assert known.compared == 4  # sum, 12, a comma, x
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


@pytest.mark.parametrize(
    "line",
    [
        "Average kernel execution time: {} (s)",
        "took {} ms in all",
        "Kernel time (us): {}",
        "time [sec] = {}",
        "{}us per launch",
        "Bandwidth: {} GB/s",
        "rate {} GFLOPS, error 0.5",
        "{} milliseconds",
    ],
)
def test_numbers_with_a_unit_of_time_do_not_count(line: str) -> None:
    """Rounded, they may be the same in all runs without the patch."""
    known = expected([lines(line.format("0.000579"))] * 2)
    assert known is not None
    assert known.difference(lines(line.format("12"))) == ""


@pytest.mark.parametrize(
    "line", ["{} steps", "x = {}", "mass: {} (solar)", "{} m/s", "s{}", "{} sums"]
)
def test_other_numbers_count(line: str) -> None:
    known = expected([lines(line.format("1.5"))] * 2)
    assert known is not None
    assert known.difference(lines(line.format("2.5")))


def test_numbers_with_a_fraction_may_be_off_as_far_as_the_oracle_allows() -> None:
    known = expected([lines("price 10.847914, 25 steps, norm 2.5e-07")] * 2, relative=1e-5)
    assert known is not None
    assert known.difference(lines("price 10.847921, 25 steps, norm 2.50001e-07")) == ""
    assert known.difference(lines("price 10.84813, 25 steps, norm 2.5e-07"))
    assert known.difference(lines("price 10.847914, 26 steps, norm 2.5e-07"))


def test_a_program_may_print_the_parameters_that_a_patch_changes() -> None:
    runs = [lines("blocks of 16 x 16, sum 16")] * 2
    known = expected(runs, settings=frozenset({("16", "32")}))
    assert known is not None
    assert known.difference(lines("blocks of 32 x 16, sum 16")) == ""
    assert known.difference(lines("blocks of 64 x 16, sum 16"))
