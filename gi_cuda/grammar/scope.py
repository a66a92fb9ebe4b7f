"""Name resolution: which declaration a name refers to, and whether a donor's names still fit.

One model covers block scope, declaration before use, shadowing and conditional compilation. Each
declaration is visible over a span of the source and belongs to a presence region (see
``presence``). A name refers to the declaration that starts last among those that are visible and
active at the place. A local variable that is declared without a value cannot be read before the
source first mentions it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

FILE_LEVEL = -1
"""Function number of declarations outside every function."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration of a name that is visible over a span of the source.

    Attributes:
        name: the name; or a keyword (``break``, ``return``), whose span is the code in which that
            jump is valid.
        type: the type as spelled, without white space and ``__restrict__``; empty if it cannot be
            compared with a type spelled elsewhere. At file level only functions have a type,
            because they may be declared more than once.
        start, end: span in which the name is visible, unless another declaration hides it.
        function: number of the function to which the name is local, or FILE_LEVEL.
        region: presence region of the declaration.
        bare: True if the name is a thread's local variable, declared without a value.
        set: for a bare variable, the offset from which it may have a value: where the source first
            mentions it, or after it first assigns to it.
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
        """Tell whether the variable may have a value at an offset where it is visible."""
        return at >= self.set


@dataclass(frozen=True, slots=True)
class NameUse:
    """A use of a name that a rule's text does not declare itself.

    Attributes:
        at: offset of the use.
        region: presence region of the use.
        reads: True if the text needs the name's value; False if it first assigns a value.
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
    """Offsets at which the set of visible names or values changes, by function number."""

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
        """Return a number that is equal for two places of a function if all names mean the same."""
        return sum(
            bisect_right(self.boundaries.get(level, ()), at) for level in (function, FILE_LEVEL)
        )

    def visible(self, name: str, at: int, function: int) -> Iterator[Declaration]:
        """Yield each declaration of ``name`` whose span contains ``at``, innermost first."""
        for level in (function, FILE_LEVEL):
            table = self.tables.get((level, name))
            if table is not None:
                yield from table.around(at)

    def resolve(
        self, name: str, at: int, function: int, active: Sequence[bool]
    ) -> Declaration | None:
        """Return the declaration that a name refers to when some regions are compiled.

        Return None for a name that the source does not declare: a builtin, or a header's name.

        Args:
            name: the name.
            at: offset of the place.
            function: number of the function that contains the place.
            active: for each presence region, True if it is compiled.
        """
        for declaration in self.visible(name, at, function):
            if active[declaration.region]:
                return declaration
        return None


def same_meaning(there: Declaration | None, here: Declaration | None) -> bool:
    """Tell whether a donor may use a name at a place where the name has another declaration.

    It may if both declarations are the same; if both are local variables of the same type, for
    example the counters of two loops; or if both declare the same function at file level.

    Args:
        there: the name's declaration at the donor's origin.
        here: the name's declaration at the place.
    """
    if there is here:
        return True
    if there is None or here is None:
        return False
    if there.type == "" or there.type != here.type:
        return False
    return (there.function == FILE_LEVEL) == (here.function == FILE_LEVEL)
