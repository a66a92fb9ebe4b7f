"""Whether a program prints the same with a patch as without.

Times, dates, addresses and whatever else differs from run to run of the unpatched program are no
sign of a fault. So several runs of that say which words of its output are to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_WORD = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|[^\s\d]+")
"""A number without its sign, or what stands between numbers and blanks."""

_SHOWN = 160
"""Characters of a line in a message."""

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Printed:
    """How output is read.

    Attributes:
        ignore: regular expressions of what does not count.
        number: a regular expression whose group is a time; "" where there is none.
    """

    ignore: tuple[str, ...] = ()
    number: str = ""

    def lines(self, output: bytes, folder: Path) -> Lines:
        """The lines of what was printed, without what does not count.

        Args:
            folder: the copy that the program ran in, whose name is no part of its output.
        """
        text = output.decode("utf-8", "surrogateescape").replace(str(folder), ".")
        if self.number:
            text = re.sub(self.number, _without_group, text, flags=re.M)
        for one in self.ignore:
            text = re.sub(one, "", text, flags=re.M)
        return text.splitlines()

    def numbers(self, *outputs: bytes) -> list[str]:
        """What the group matches, in the order in which it stands there."""
        texts = (output.decode("utf-8", "surrogateescape") for output in outputs)
        return [
            match[1] or "" for text in texts for match in re.finditer(self.number, text, flags=re.M)
        ]


def _without_group(match: re.Match[str]) -> str:
    begin, end = (at - match.start() for at in match.span(1))
    return match[0] if match[1] is None else match[0][:begin] + match[0][end:]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a program prints each time.

    Attributes:
        lines: for each line its words; None for a word, or a whole line, that differs from run to
            run.
        shown: the lines of the first run.
    """

    lines: tuple[tuple[str | None, ...] | None, ...]
    shown: tuple[str, ...]

    @property
    def compared(self) -> int:
        """How many words of a run are looked at."""
        return sum(word is not None for line in self.lines for word in line or ())

    @property
    def varying(self) -> int:
        """How many are not: a line whose number of words varies counts as one."""
        return sum(1 if line is None else sum(word is None for word in line) for line in self.lines)

    def difference(self, output: Lines) -> str:
        """What differs in a run, in words; "" where nothing does."""
        for number, (line, shown) in enumerate(zip(self.lines, self.shown, strict=True), 1):
            if number > len(output):
                break
            words = _WORD.findall(output[number - 1])
            same = line is None or (
                len(words) == len(line)
                and all(known in (None, word) for known, word in zip(line, words, strict=True))
            )
            if not same:
                return (
                    f"line {number} of its output is `{_short(output[number - 1])}`, and without"
                    f" the patch `{_short(shown)}`"
                )
        if len(output) != len(self.lines):
            return f"it prints {len(output)} lines, and without the patch {len(self.lines)}"
        return ""


def expected(outputs: Sequence[Lines]) -> Expected | None:
    """What all runs of a program have in common; None where they have not even as many lines."""
    if len({len(lines) for lines in outputs}) > 1:
        return None
    rows = zip(*([_WORD.findall(line) for line in lines] for lines in outputs), strict=True)
    return Expected(tuple(map(_common, rows)), tuple(outputs[0]))


def _common(lines: Sequence[list[str]]) -> tuple[str | None, ...] | None:
    if len(set(map(len, lines))) > 1:
        return None
    return tuple(words[0] if len(set(words)) == 1 else None for words in zip(*lines, strict=True))


def _short(line: str) -> str:
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
