"""How tables, lines and diffs are printed."""

from __future__ import annotations

from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text


def table(
    title: str, *columns: Column | str, caption: str | None = None, wide: bool = False
) -> Table:
    """An empty table in the style of all of them.

    Args:
        wide: with more room between the columns.
    """
    return Table(
        *columns,
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        pad_edge=False,
        box=SIMPLE_HEAD,
        padding=(0, 1) if wide else (0, 1, 0, 0),
    )


def right(*headings: str) -> list[Column]:
    """Columns of numbers; where a heading has several lines, all headings end on the last one."""
    vertical: Literal["top", "bottom"] = "bottom" if "\n" in "".join(headings) else "top"
    return [Column(heading, justify="right", vertical=vertical) for heading in headings]


def whole(*headings: str) -> list[Column]:
    """Columns whose cells are never broken into lines, such as changes, which people copy."""
    return [Column(heading, no_wrap=True) for heading in headings]


def folded(*headings: str) -> list[Column]:
    """Columns whose cells may be broken into lines anywhere."""
    return [Column(heading, overflow="fold") for heading in headings]


_WIDEST = 100_000
"""Columns that a table takes at most where no terminal limits it."""


def print_table(console: Console, rows: Table) -> None:
    """Print a table with nothing left out of it.

    In a pipe or file each row is one line. On a terminal that is too narrow for what must not be
    broken, words among it, lines go beyond its width, and the terminal breaks them.
    """
    unlimited = console.options.update(max_width=_WIDEST)
    for column in rows.columns:
        if column.overflow != "fold":
            sizes = [Measurement.get(console, unlimited, c) for c in (column.header, *column.cells)]
            column.min_width = max(one.maximum if column.no_wrap else one.minimum for one in sizes)
    needed = Measurement.get(console, unlimited, rows)
    before = console.width
    console.width = max(before, needed.minimum) if console.is_terminal else needed.maximum
    try:
        console.print(rows)
    finally:
        console.width = before


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print a line just as it is: nothing in it is markup, and only the terminal breaks it."""
    # Without emoji=False line 100 of a file, between two colons, is one.
    console.print(line, style=style, highlight=False, markup=False, emoji=False, soft_wrap=True)


def counted(number: int, noun: str) -> str:
    """So many of something, in words: the noun takes an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def print_diff(console: Console, diff: str) -> None:
    """A unified diff, coloured on a terminal, its lines never broken."""
    for line in diff.splitlines():
        heading = line.startswith(("diff ", "--- ", "+++ "))
        style = "bold" if heading else _STYLES.get(line[:1])
        console.print(Text(line), style=style, soft_wrap=True)
