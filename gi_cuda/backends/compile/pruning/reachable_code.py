"""Remove from variants all code that their kernels cannot reach.

A CUDA file holds more than kernels: ``main``, tables of host functions, classes that own memory,
other kernels. A kernel needs none of that, and much of it would not compile: a variant is in a
namespace of its own, where members of header classes cannot be defined, and host libraries are not
installed. So a preprocessed variant loses its host code (see
:mod:`gi_cuda.backends.compile.pruning.host_code`) and then the declarations that no name leads to.

Most variants differ from others only within functions that run on the device. The result for one
variant is reused for others with the same text around such functions.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from gi_cuda.backends.compile.pruning.declarations import WORD
from gi_cuda.backends.compile.pruning.dependent_lookup import declared_late
from gi_cuda.backends.compile.pruning.host_code import without_host_code
from gi_cuda.backends.compile.pruning.items import code_lines, read_items
from gi_cuda.backends.compile.pruning.needs import Needs

_MOST_FRAMES = 8
"""Number of texts around functions to remember; each configuration may have its own."""


class Reached(NamedTuple):
    """The reachable code of a variant.

    Attributes:
        text: the code, on the same lines as before.
        functions: names of the functions in it that are in no namespace of the source.
    """

    text: str
    functions: frozenset[str]


def everything(text: str) -> Reached:
    """Return all of a variant's text."""
    return Reached(text, frozenset())


_END = "\n}\n"
"""The end of most functions."""

_PLACE = re.compile(r'"v\d+/([^"\n]*)"(?:, \d+)?')
"""A variant's file name, usually with a line number, as macros for error checks contain it."""

_EDGE = "\f"
"""Line that marks a text's begin and end."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Lines of code between functions.

    Attributes:
        code: the lines joined, with line ends before and after.
        changed: the new text of lines that are removed in part or whole, by line index.
        names: names in the lines after the removal.
    """

    code: str
    changed: Mapping[int, str]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Frame:
    """The result for one variant, to reuse for variants with the same text around functions.

    Attributes:
        stretches: the lines around its functions, in order.
        gone: names of removed declarations.
        said: names in ``gone`` that the remaining code still contains, with another meaning.
        functions: see :class:`Reached`.
    """

    stretches: tuple[_Stretch, ...]
    gone: frozenset[str]
    said: frozenset[str]
    functions: frozenset[str]

    def applied(self, text: str, framed: _Framed) -> str | None:
        """Return a text's reachable code; None if the lines around its functions differ."""
        _, places, joined = framed
        remains: dict[int, str] = {}
        said = set[str]()
        at = 0
        for stretch in self.stretches:
            begin = joined.find(stretch.code, at)
            if begin < 0 or (stretch.changed and joined.count(stretch.code) != 1):
                return None
            said.update(self.gone & stretch.names, self._said_in(joined[at:begin]))
            at = begin + len(stretch.code) - 1  # the next stretch begins with this line end
            first = joined.count("\n", 0, begin) if stretch.changed else 0
            remains |= {first + number: line for number, line in stretch.changed.items()}
        if said | self._said_in(joined[at:]) != self.said:
            return None
        lines = text.split("\n")
        for number, line in remains.items():
            lines[places[number]] = line
        return "\n".join(lines)

    def _said_in(self, functions: str) -> set[str]:
        """Return the names of removed declarations that functions use."""
        if not self.gone:
            return set()
        return {name for code in functions.split(_END) for name in self.gone & _names(code)}


@lru_cache(maxsize=1024)
def _names(code: str) -> frozenset[str]:
    """Return the names in a function; cached, since variants share most functions."""
    return frozenset(WORD.findall(code))


@dataclass(slots=True)
class Reach:
    """Removes unreachable code from the variants of a source.

    Attributes:
        roots: names from which reachable code is found.
        late: whether templates of the source call functions that are declared after them; if so, no
            result is reused.
    """

    roots: frozenset[str]
    late: bool = False
    _frames: list[_Frame] = field(default_factory=list)

    def reached(self, text: str) -> Reached:
        """Return the reachable code of a variant's preprocessed text."""
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
    """Return the reachable code of a text, and the frame to reuse, if any."""
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
    """The code lines of a text between two edge lines, independent of the variant's number.

    Attributes:
        code: the lines.
        places: line indices of these lines in the text.
        joined: the lines joined, with line ends before and after.
    """

    code: list[str]
    places: list[int]
    joined: str


def _framed(text: str) -> _Framed:
    code, places = code_lines(_anywhere(text), 0)
    framed = [_EDGE, *code, _EDGE]
    return _Framed(framed, [-1, *places, text.count("\n") + 1], "\n".join(["", *framed, ""]))


def _anywhere(text: str) -> str:
    """Return a text without the variant's number and line number in file names."""
    return _PLACE.sub(r'"\1"', text)


def _stretches(
    text: str, after: Sequence[str], bodies: Iterable[tuple[int, int]]
) -> tuple[_Stretch, ...]:
    """Return the code between functions; nothing if a function shares a line with removed code.

    Args:
        after: the text's lines after the removal.
        bodies: first and last line of each function, in order.
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
