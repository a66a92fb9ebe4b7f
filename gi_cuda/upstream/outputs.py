"""Compare the outputs of a program without and with a patch.

Times, dates and addresses differ from run to run of the unpatched program, without a fault. So only
words that are equal in several runs of the unpatched program are compared. Numbers with a unit of
time are never compared, because rounded times may be equal in all of these runs by chance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.spec.oracles import Oracle, Tolerance
from gi_cuda.upstream.steps import Settings

_WORD = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|[^\s\d]+")
"""A word of output: a number without its sign, or a run of characters without digits and blanks."""

_UNIT = (
    r"(?:(?:m|milli|u|µ|μ|micro|n|nano)?s(?:ecs?|econds?)?|[KMGT]?i?[Bb](?:ytes?)?/s(?:ec)?"
    r"|[KMGTP]?FLOPS?(?:/s(?:ec)?)?|fps)(?![\w/])"
)
_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_MEASURED = re.compile(
    rf"(?<![\w.]){_NUMBER}(?=\s*[(\[]?{_UNIT})|(?P<label>[(\[]{_UNIT}[)\]]\s*[:=]\s*){_NUMBER}",
    re.IGNORECASE,
)
"""A number with a unit of time or of throughput. The unit follows the number, or precedes it in
parentheses."""

_REAL = re.compile(r"\d+(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)")
"""A number with a fraction or an exponent."""

_SHOWN = 160
"""Largest number of characters of a line in a message."""

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Printed:
    """A reader of a program's output.

    Attributes:
        ignore: regular expressions of text that is not compared.
        number: a regular expression whose first group is a time; "" if there is none.
    """

    ignore: tuple[str, ...] = ()
    number: str = ""

    def lines(self, output: bytes, folder: Path) -> Lines:
        """Return the lines of an output, without ignored text and times.

        Args:
            output: bytes that the program printed.
            folder: the folder that the program ran in; its path is replaced by ``.``.
        """
        text = output.decode("utf-8", "surrogateescape").replace(str(folder), ".")
        if self.number:
            text = re.sub(self.number, _without_group, text, flags=re.M)
        for one in self.ignore:
            text = re.sub(one, "", text, flags=re.M)
        return _MEASURED.sub(lambda match: match["label"] or "", text).splitlines()

    def numbers(self, *outputs: bytes) -> list[str]:
        """Return the matches of the group of `number`, in the order of the outputs."""
        texts = (output.decode("utf-8", "surrogateescape") for output in outputs)
        return [
            match[1] or "" for text in texts for match in re.finditer(self.number, text, flags=re.M)
        ]


def _without_group(match: re.Match[str]) -> str:
    begin, end = (at - match.start() for at in match.span(1))
    return match[0] if match[1] is None else match[0][:begin] + match[0][end:]


@dataclass(frozen=True, slots=True)
class Expected:
    """Output that a program prints in every run.

    Attributes:
        lines: the words of each line; None for a word that differs from run to run, and for a line
            whose number of words does.
        shown: the lines of the first run.
        relative: relative tolerance of numbers with a fraction.
        settings: pairs of old and new values of parameters. The patched program may print the new
            value in place of the old one.
    """

    lines: tuple[tuple[str | None, ...] | None, ...]
    shown: tuple[str, ...]
    relative: float = 0.0
    settings: Settings = frozenset()

    @property
    def compared(self) -> int:
        """Number of words that are compared."""
        return sum(word is not None for line in self.lines for word in line or ())

    @property
    def varying(self) -> int:
        """Number of words that are not compared. A line with a varying number of words counts as
        one word."""
        return sum(1 if line is None else sum(word is None for word in line) for line in self.lines)

    def difference(self, output: Lines) -> str:
        """Return the first difference of a run's output, in words; "" if there is none."""
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
    """Return an oracle's largest relative tolerance; 0 if results must be equal bit by bit."""
    found: dict[tuple[str, ...], float] = {}
    for one in oracle.checks:
        if isinstance(one, Tolerance):  # the looser of two for the same buffers is for few values
            found[one.buffers] = min(one.relative, found.get(one.buffers, one.relative))
    return max(found.values(), default=0.0)


def expected(
    outputs: Sequence[Lines], relative: float = 0.0, settings: Settings = frozenset()
) -> Expected | None:
    """Return the output that all runs of a program share; None if the number of lines varies.

    Args:
        outputs: lines of each run.
        relative, settings: see :class:`Expected`.
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
