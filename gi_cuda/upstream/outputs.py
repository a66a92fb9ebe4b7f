"""Whether a program prints the same with a patch as without.

Times, dates, addresses and whatever else differs from run to run of the unpatched program are no
sign of a fault. So several runs of that say which words of its output are to be looked at. Numbers
with a unit of time are not: rounded, they may be the same in all of these runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.spec.oracles import Oracle, Tolerance
from gi_cuda.upstream.steps import Settings

_WORD = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|[^\s\d]+")
"""A number without its sign, or what stands between numbers and blanks."""

_UNIT = (
    r"(?:(?:m|milli|u|µ|μ|micro|n|nano)?s(?:ecs?|econds?)?|[KMGT]?i?[Bb](?:ytes?)?/s(?:ec)?"
    r"|[KMGTP]?FLOPS?(?:/s(?:ec)?)?|fps)(?![\w/])"
)
_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_MEASURED = re.compile(
    rf"(?<![\w.]){_NUMBER}(?=\s*[(\[]?{_UNIT})|(?P<label>[(\[]{_UNIT}[)\]]\s*[:=]\s*){_NUMBER}",
    re.IGNORECASE,
)
"""A number with a unit of time, or of work in some time: behind it, or in parentheses before it."""

_REAL = re.compile(r"\d+(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)")
"""A number with a fraction or an exponent."""

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
        return _MEASURED.sub(lambda match: match["label"] or "", text).splitlines()

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
        relative: how far a number with a fraction may be off.
        settings: values of parameters: a patch may print the second of a pair for the first.
    """

    lines: tuple[tuple[str | None, ...] | None, ...]
    shown: tuple[str, ...]
    relative: float = 0.0
    settings: Settings = frozenset()

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
                len(words) == len(line) and all(map(self._is_alike, line, words))
            )
            if not same:
                return (
                    f"line {number} of its output is `{_short(output[number - 1])}`, and without"
                    f" the patch `{_short(shown)}`"
                )
        if len(output) != len(self.lines):
            return f"it prints {len(output)} lines, and without the patch {len(self.lines)}"
        return ""

    def _is_alike(self, known: str | None, word: str) -> bool:
        if known is None or known == word or (known, word) in self.settings:
            return True
        if not (self.relative and _REAL.fullmatch(known) and _REAL.fullmatch(word)):
            return False
        one, other = float(known), float(word)
        return abs(one - other) <= self.relative * max(one, other)


def relative_tolerance(oracle: Oracle) -> float:
    """Return how far results may be off, relative to themselves; 0 if each bit counts."""
    found: dict[tuple[str, ...], float] = {}
    for one in oracle.checks:
        if isinstance(one, Tolerance):  # of two for the same buffers one is for a few values
            found[one.buffers] = min(one.relative, found.get(one.buffers, one.relative))
    return max(found.values(), default=0.0)


def expected(
    outputs: Sequence[Lines], relative: float = 0.0, settings: Settings = frozenset()
) -> Expected | None:
    """Return the words that all runs of a program print; None if they print more lines in one run
    than in another.

    Args:
        relative, settings: as :class:`Expected` has them.
    """
    if len({len(lines) for lines in outputs}) > 1:
        return None
    rows = zip(*([_WORD.findall(line) for line in lines] for lines in outputs), strict=True)
    return Expected(tuple(map(_common, rows)), tuple(outputs[0]), relative, settings)


def _common(lines: Sequence[list[str]]) -> tuple[str | None, ...] | None:
    if len(set(map(len, lines))) > 1:
        return None
    return tuple(words[0] if len(set(words)) == 1 else None for words in zip(*lines, strict=True))


def _short(line: str) -> str:
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
