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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gi_cuda.backends.compile.declarations import WORD
from gi_cuda.backends.compile.host_code import without_host_code
from gi_cuda.backends.compile.items import Item, code_lines, read_items
from gi_cuda.backends.compile.needs import Needs
from gi_cuda.backends.protocol.variants import Variant

_MOST_FRAMES = 8
"""Texts around functions that are remembered; a configuration may have its own."""

_OWN = '"\0/'
"""What stands for a variant's folder in line markers, so that variants have the same ones."""


class Reached(NamedTuple):
    """What remains of a variant.

    Attributes:
        text: with its lines where they were.
        functions: names of the functions in it that stand in no namespace of the source.
    """

    text: str
    functions: frozenset[str]


def everything(text: str, variant: Variant) -> Reached:
    """All of a variant's text."""
    return Reached(text, frozenset())


@dataclass(frozen=True, slots=True)
class _Frame:
    """What was found out of a variant.

    Attributes:
        macros: with which it was preprocessed.
        stretches: whole lines around functions, and what remains of them.
        gone: names that lead to what went.
        said: those of them that remain, as something else.
        functions: see :class:`Reached`.
    """

    macros: Mapping[str, str]
    stretches: tuple[tuple[str, str], ...]
    gone: frozenset[str]
    said: frozenset[str]
    functions: frozenset[str]

    def fits(self, text: str) -> str | None:
        """What remains of a text whose lines around functions are these; None for another one."""
        at = 0
        for whole, remains in self.stretches:
            changes = whole != remains
            begin = text.find(whole, at)
            if begin < 0 or (changes and text.count(whole) != 1):
                return None
            at = begin + len(remains) - 1  # the line end belongs to what follows as well
            if changes:
                text = text.replace(whole, remains)
        return text if self.gone.intersection(WORD.findall(text)) == self.said else None


@dataclass(slots=True)
class Reach:
    """Takes out of the variants of a source what cannot be reached.

    Attributes:
        roots: names that lead to what stays.
    """

    roots: frozenset[str]
    _frames: list[_Frame] = field(default_factory=list)

    def reached(self, text: str, variant: Variant) -> Reached:
        """What remains of a variant's preprocessed text."""
        own = f'"v{variant.ident}/'
        same = "\n" + text.replace(own, _OWN) + "\n"
        found = None
        for frame in self._frames:
            remains = frame.fits(same) if frame.macros == variant.macros else None
            if remains is not None:
                found = Reached(remains, frame.functions)
                break
        if found is None:
            found, fresh = _reached(same, self.roots, variant.macros)
            if fresh is not None:
                self._frames = [fresh, *self._frames[: _MOST_FRAMES - 1]]
        return Reached(found.text[1:-1].replace(_OWN, own), found.functions)


def _reached(
    text: str, roots: Iterable[str], macros: Mapping[str, str]
) -> tuple[Reached, _Frame | None]:
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
    remains = "\n".join(lines)
    left = [read.items[at] for at in sorted(stay)]
    functions = frozenset(
        key for item in left if item.function and not item.scope for key in item.keys
    )
    frame = _frame(text.split("\n"), lines, left, places)
    if not frame:
        return Reached(remains, functions), None
    names = frozenset[str]().union(*(item.keys for item in gone))
    said = names.intersection(WORD.findall(remains))
    return Reached(remains, functions), _Frame(macros, frame, names, said, functions)


def _frame(
    before: Sequence[str], after: Sequence[str], left: Iterable[Item], places: Sequence[int]
) -> tuple[tuple[str, str], ...] | None:
    """The stretches of lines around functions, before and after something went; None where such
    a function shares a line with it."""
    stretches: list[tuple[str, str]] = []
    at = 0
    bodies = [(places[i.first], places[i.last] + 1) for i in left if i.function and "{" in i.text]
    for begin, end in [*bodies, (len(before), len(before))]:
        if any(map(str.strip, before[at:begin])):
            whole, remains = ("\n".join(["", *some[at:begin], ""]) for some in (before, after))
            stretches.append((whole, remains))
        if before[begin:end] != after[begin:end]:
            return None
        at = max(at, end)
    return tuple(stretches)
