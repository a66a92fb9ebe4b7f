"""Variants without what their kernels cannot reach.

A CUDA file holds more than kernels: ``main``, tables of host functions, classes that own memory,
other kernels. None of that need compile where only a kernel is wanted, and much of it cannot: a
variant stands in a namespace of its own, where members of classes of headers cannot be defined, and
libraries of the host are not there. So a preprocessed variant loses its host code (see
:mod:`gi_cuda.backends.compile.host_code`) and then the declarations that no name leads to.

Most variants differ from others within a function that runs on the device only. What is found out
of one is used again for those that have the same text around such functions.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from gi_cuda.backends.compile.declarations import WORD
from gi_cuda.backends.compile.host_code import without_host_code
from gi_cuda.backends.compile.items import code_lines, read_items
from gi_cuda.backends.compile.late import declared_late
from gi_cuda.backends.compile.needs import Needs

_MOST_FRAMES = 8
"""Texts around functions that are remembered; a configuration may have its own."""


class Reached(NamedTuple):
    """What remains of a variant.

    Attributes:
        text: with its lines where they were.
        functions: names of the functions in it that stand in no namespace of the source.
    """

    text: str
    functions: frozenset[str]


def everything(text: str) -> Reached:
    """All of a variant's text."""
    return Reached(text, frozenset())


_END = "\n}\n"
"""Where most functions end."""

_PLACE = re.compile(r'"v\d+/([^"\n]*)"(?:, \d+)?')
"""A variant's file, and mostly a line of it: what macros that check for errors say of where they
are."""

_EDGE = "\f"
"""What stands for a text's begin and end among its lines."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Lines of code between functions.

    Attributes:
        code: of all of them, each with the line ends around it.
        changed: what remains of those that go in part or whole, by their number.
        names: in what remains of all of them.
    """

    code: str
    changed: Mapping[int, str]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What was found out of a variant.

    Attributes:
        stretches: around its functions, in order.
        gone: names that lead to what went.
        said: those of them that remain, as something else.
        functions: see :class:`Reached`.
    """

    stretches: tuple[_Stretch, ...]
    gone: frozenset[str]
    said: frozenset[str]
    functions: frozenset[str]

    def applied(self, text: str, framed: _Framed) -> str | None:
        """What remains of a text that has the same around its functions; None for another one."""
        _, places, joined = framed
        remains: dict[int, str] = {}
        said = set[str]()
        at = 0
        for stretch in self.stretches:
            begin = joined.find(stretch.code, at)
            if begin < 0 or (stretch.changed and joined.count(stretch.code) != 1):
                return None
            said.update(self.gone & stretch.names, self._said_in(joined[at:begin]))
            at = begin + len(stretch.code) - 1  # the line end belongs to what follows as well
            first = joined.count("\n", 0, begin) if stretch.changed else 0
            remains |= {first + number: line for number, line in stretch.changed.items()}
        if said | self._said_in(joined[at:]) != self.said:
            return None
        lines = text.split("\n")
        for number, line in remains.items():
            lines[places[number]] = line
        return "\n".join(lines)

    def _said_in(self, functions: str) -> set[str]:
        """The names that lead to what went that functions say."""
        if not self.gone:
            return set()
        return {name for code in functions.split(_END) for name in self.gone & _names(code)}


@lru_cache(maxsize=1024)
def _names(code: str) -> frozenset[str]:
    """The names in a function; most are the same in most variants."""
    return frozenset(WORD.findall(code))


@dataclass(slots=True)
class Reach:
    """Takes out of the variants of a source what cannot be reached.

    Attributes:
        roots: names that lead to what stays.
        late: whether its templates say functions that are declared behind them; then each variant
            is looked at by itself.
    """

    roots: frozenset[str]
    late: bool = False
    _frames: list[_Frame] = field(default_factory=list)

    def reached(self, text: str) -> Reached:
        """What remains of a variant's preprocessed text."""
        framed = _framed(text)
        for frame in self._frames:
            remains = frame.applied(text, framed)
            if remains is not None:
                return Reached(remains, frame.functions)
        found, fresh = _reached(text, self.roots, late=self.late)
        if fresh is not None and not self.late:
            self._frames = [fresh, *self._frames[: _MOST_FRAMES - 1]]
        return found


def _reached(text: str, roots: Iterable[str], *, late: bool) -> tuple[Reached, _Frame | None]:
    """What remains of a text, and what of this holds for others; None where it cannot be told."""
    cut = without_host_code(text)
    code, places = code_lines(cut, 0)
    read = read_items(code)
    if read is None:
        return Reached(cut, frozenset()), None
    needs = Needs(read.items)
    stay = needs.reached(roots)
    kept = set(read.gaps)
    for at in stay:
        kept.update(range(read.items[at].first, read.items[at].last + 1))
    gone = [item for at, item in enumerate(read.items) if at not in stay]
    lines = cut.split("\n")
    for item in gone:
        for line in range(item.first, item.last + 1):
            if line not in kept:
                lines[places[line]] = ""
    left = [read.items[at] for at in sorted(stay)]
    for line, declaration in declared_late(left) if late else ():
        lines[places[line]] = f"{declaration} {lines[places[line]]}"
    functions = frozenset(
        key for item in left if item.function and not item.scope for key in item.keys
    )
    found = Reached("\n".join(lines), functions)
    bodies = [(places[i.first], places[i.last]) for i in left if i.function and "{" in i.text]
    stretches = _stretches(text, lines, bodies)
    if not stretches:
        return found, None
    names = frozenset[str]().union(*(item.keys for item in gone))
    said = names.intersection(WORD.findall("\n".join(code_lines(found.text, 0)[0])))
    return found, _Frame(stretches, names, said, functions)


class _Framed(NamedTuple):
    """The code of a text between two lines for its edges, wherever it stands.

    Attributes:
        places: which of the text's lines these are.
        joined: all of it, with a line end in front as well.
    """

    code: list[str]
    places: list[int]
    joined: str


def _framed(text: str) -> _Framed:
    code, places = code_lines(_anywhere(text), 0)
    framed = [_EDGE, *code, _EDGE]
    return _Framed(framed, [-1, *places, text.count("\n") + 1], "\n".join(["", *framed, ""]))


def _anywhere(text: str) -> str:
    """A text that does not say in which variant it stands, and on which line."""
    return _PLACE.sub(r'"\1"', text)


def _stretches(
    text: str, after: Sequence[str], bodies: Iterable[tuple[int, int]]
) -> tuple[_Stretch, ...]:
    """The code between functions; nothing where such a function shares a line with what went.

    Args:
        after: the text's lines, as far as they remain.
        bodies: of functions the first and the last line, in order.
    """
    code, places, _ = _framed(text)
    remain = [_EDGE, *(_anywhere(after[place]) for place in places[1:-1]), _EDGE]
    stretches: list[_Stretch] = []
    at = 0
    for first, last in [*bodies, (places[-1] + 1, places[-1] + 1)]:
        begin, end = bisect_left(places, first), bisect_right(places, last)
        if code[begin:end] != remain[begin:end]:
            return ()
        changed = {k - at: remain[k] for k in range(at, begin) if remain[k] != code[k]}
        if begin > at:
            names = _names("\n".join(remain[at:begin]))
            stretches.append(_Stretch("\n".join(["", *code[at:begin], ""]), changed, names))
        at = max(at, end)
    return tuple(stretches)
