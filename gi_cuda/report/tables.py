"""Print tables, lines and diffs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text


def table(
    title: str, *columns: Column | str, caption: str | None = None, between: int = 2
) -> Table:
    """Return an empty table in the common style.

    Args:
        title: heading of the table.
        columns: columns, or their headings.
        caption: text below the table.
        between: blanks between two columns.
    """
    return Table(
        *columns,
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        pad_edge=False,
        box=SIMPLE_HEAD,
        padding=(0, between - 1, 0, 0),
    )


def right(*headings: str) -> list[Column]:
    """Return right-aligned columns, for numbers.

    If a heading has several lines, all headings are aligned at the bottom.
    """
    vertical: Literal["top", "bottom"] = "bottom" if "\n" in "".join(headings) else "top"
    return [Column(heading, justify="right", vertical=vertical) for heading in headings]


def whole(*headings: str) -> list[Column]:
    """Return columns whose cells are never broken into lines, such as changes to be copied."""
    return [Column(heading, no_wrap=True) for heading in headings]


def folded(*headings: str) -> list[Column]:
    """Return columns whose cells may be broken into lines anywhere."""
    return [Column(heading, overflow="fold") for heading in headings]


WIDEST = 100_000
"""Largest width of a line or table outside of terminals, characters."""


def print_table(console: Console, rows: Table) -> None:
    """Print a table without cutting anything.

    In a pipe or file each row is one line. If a terminal is too narrow for words and unbreakable
    cells, lines exceed its width, and the terminal wraps them.
    """
    # Rich would wrap title and caption at the table's width, so they are printed separately.
    title, caption = rows.title, rows.caption
    rows.title = rows.caption = None
    if title is not None:
        say(console, str(title), "italic")
    unlimited = console.options.update(max_width=WIDEST)
    sizes = [_sizes(console, unlimited, column) for column in rows.columns]
    widest = Measurement.get(console, unlimited, rows).maximum
    between = widest - sum(most for _, most in sizes)
    before = console.width
    least = between + sum(least for least, _ in sizes)
    console.width = max(before, least) if console.is_terminal else widest
    for column, width in zip(rows.columns, _shared(console.width - between, sizes), strict=True):
        column.width = width
    try:
        console.print(rows)
    finally:
        console.width = before
    if caption is not None:
        say(console, str(caption), "dim italic")
        console.print()


def _sizes(console: Console, options: ConsoleOptions, column: Column) -> tuple[int, int]:
    """Return the smallest width of a column, and the width at which no cell is broken."""
    header = Measurement.get(console, options, column.header)
    cells = [Measurement.get(console, options, cell) for cell in column.cells]
    most = max(one.maximum for one in (header, *cells))
    if column.no_wrap:
        return most, most
    words = [header.minimum, *(one.minimum for one in cells)]
    # In a column that folds, words may be broken, so only the heading sets the smallest width.
    return (header.minimum if column.overflow == "fold" else max(words)), most


def _shared(room: int, sizes: Sequence[tuple[int, int]]) -> list[int]:
    """Distribute a width among columns.

    Every column gets its smallest width. The rest goes first to the columns that lack least.

    Args:
        room: total width.
        sizes: smallest and full width of each column.
    """
    widths = [least for least, _ in sizes]
    left = room - sum(widths)
    order = sorted(range(len(sizes)), key=lambda at: sizes[at][1] - sizes[at][0])
    for done, at in enumerate(order):
        more = min(sizes[at][1] - sizes[at][0], left // (len(order) - done))
        widths[at] += more
        left -= more
    return widths


def say(console: Console, words: str, style: str | None = None) -> None:
    """Print text without markup; on a terminal, wrap it between words."""
    if console.is_terminal:
        words = "\n".join(_between_words(line, console.width) for line in words.split("\n"))
    say_whole(console, words, style)


def say_whole(console: Console, line: str, style: str | None = None) -> None:
    """Print a line that users may copy, without wrapping it."""
    # emoji=False, because Rich would replace ":100:", as in "file.cu:100: error", by an emoji.
    console.print(line, style=style, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _between_words(line: str, width: int) -> str:
    """Wrap a line between words."""
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    lines = textwrap.wrap(
        line,
        width,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, in the plural with "s" unless the number is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def print_diff(console: Console, diff: str) -> None:
    """Print a unified diff, coloured on a terminal, without wrapping its lines."""
    for line in diff.splitlines():
        heading = line.startswith(("diff ", "--- ", "+++ "))
        style = "bold" if heading else _STYLES.get(line[:1])
        console.print(Text(line), style=style, soft_wrap=True)
