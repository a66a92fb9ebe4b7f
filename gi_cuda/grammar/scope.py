"""Which declaration a name means at a place, and whether a donor means the same there.

Block scope, declaration before use, shadowing and conditional compilation are all one picture:
a declaration is visible over a span of the source, lives in a region (see ``presence``), and of
those visible and active at a place the one that starts last is meant. A local that is declared
without a value cannot be read before the source mentions it for the first time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

FILE_LEVEL = -1
"""The function number of what is declared outside every function."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A name's meaning over a span of the source.

    Attributes:
        name: the name; a keyword for what jumps need around them (``break``, ``return``).
        type: its type as spelled, white space and ``__restrict__`` left out; empty where it
            cannot be compared with a type spelled elsewhere. At file level only functions have
            one, since they may be declared more than once.
        start, end: from where to where the name is visible, unless another hides it.
        function: number of the function it is local to, or FILE_LEVEL.
        region: the presence region it stands in.
        bare: whether it is a local of a thread, declared without a value.
        set: of such a one, from where on it may have a value: where the source first mentions it,
            or has first assigned to it.
    """

    name: str
    type: str
    start: int
    end: int
    function: int
    region: int
    bare: bool = False
    set: int = 0

    def is_set(self, at: int) -> bool:
        """Whether anything may have given it a value, at a place where it is visible."""
        return at >= self.set


@dataclass(frozen=True, slots=True)
class NameUse:
    """A name that a rule's text uses from outside itself.

    Attributes:
        reads: whether it needs the value that is there; not where it assigns one first.
    """

    name: str
    at: int
    region: int
    reads: bool = True


@dataclass(frozen=True, slots=True)
class _Visible:
    starts: tuple[int, ...]
    declarations: tuple[Declaration, ...]

    def around(self, at: int) -> Iterator[Declaration]:
        for k in range(bisect_right(self.starts, at) - 1, -1, -1):
            if self.declarations[k].end > at:
                yield self.declarations[k]


@dataclass(frozen=True, slots=True)
class Scope:
    """All declarations of a source, by function and name."""

    tables: Mapping[tuple[int, str], _Visible]
    boundaries: Mapping[int, Sequence[int]]
    """By function (and for the file's level), where something becomes visible or ceases to be."""

    @classmethod
    def of(cls, declarations: Iterable[Declaration]) -> Scope:
        lists: dict[tuple[int, str], list[Declaration]] = {}
        edges: dict[int, set[int]] = {}
        for declaration in declarations:
            lists.setdefault((declaration.function, declaration.name), []).append(declaration)
            edges.setdefault(declaration.function, set()).update(
                (declaration.start, declaration.end, declaration.set)
            )
        tables = {}
        for key, found in lists.items():
            found.sort(key=lambda d: d.start)
            tables[key] = _Visible(tuple(d.start for d in found), tuple(found))
        return cls(tables, {function: sorted(found) for function, found in edges.items()})

    def zone(self, at: int, function: int) -> int:
        """A number that two places of a function share if every name means the same at both."""
        return sum(
            bisect_right(self.boundaries.get(level, ()), at) for level in (function, FILE_LEVEL)
        )

    def visible(self, name: str, at: int, function: int) -> Iterator[Declaration]:
        """Every declaration of ``name`` whose span holds ``at``, innermost first."""
        for level in (function, FILE_LEVEL):
            table = self.tables.get((level, name))
            if table is not None:
                yield from table.around(at)

    def resolve(
        self, name: str, at: int, function: int, active: Sequence[bool]
    ) -> Declaration | None:
        """What ``name`` means there when the regions in ``active`` are compiled.

        None for a name that the source does not declare: a builtin, or from a header.
        """
        for declaration in self.visible(name, at, function):
            if active[declaration.region]:
                return declaration
        return None


def same_meaning(there: Declaration | None, here: Declaration | None) -> bool:
    """Whether a donor's name, ``there`` where it comes from, may be used where it is ``here``.

    The same declaration; or local names of one name and type, in one function (the counters of two
    loops) or in two; or a function of the file wherever any declaration of it has been seen.
    """
    if there is here:
        return True
    if there is None or here is None:
        return False
    if there.type == "" or there.type != here.type:
        return False
    return (there.function == FILE_LEVEL) == (here.function == FILE_LEVEL)
