"""Which declarations of a text need which, by names alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gi_cuda.backends.compile.items import Item


def declared_by(items: Iterable[Item]) -> frozenset[str]:
    """The names that some declarations declare: not those of an operator, whose names are types of
    its operands, which may be a header's."""
    return frozenset().union(*(one.keys for one in items if not one.operands))


class Needs:
    """Who needs whom among the declarations of a text.

    Args:
        items: the declarations.
        declared: all names that are declared in the text and not in headers; by default those of
            the declarations.
    """

    def __init__(self, items: Sequence[Item], declared: frozenset[str] | None = None) -> None:
        self.items = items
        self._keyed: dict[str, list[int]] = {}
        self._saying: dict[str, list[int]] = {}
        for at, item in enumerate(items):
            for name in item.keys:
                self._keyed.setdefault(name, []).append(at)
            for name in item.said:
                self._saying.setdefault(name, []).append(at)
        self._declared = declared_by(items) if declared is None else declared
        self._free = [at for at, item in enumerate(items) if self.free(item)]

    def free(self, item: Item) -> bool:
        """Whether an item may be needed by who says none of its names."""
        # Who has an operand of a type of the headers need not say that type's name.
        return item.everywhere or (item.operands and not item.keys <= self._declared)

    def everywhere(self, at: int) -> bool:
        """Whether a declaration may be needed by who says none of its names."""
        return self.free(self.items[at])

    def reached(self, names: Iterable[str], items: Iterable[int] = ()) -> set[int]:
        """The declarations that names and declarations need, and those that everybody may need."""
        waiting = [*items, *self._free]
        found = set(waiting)
        said = set(names)
        left = [*said]
        while waiting or left:
            if not left:
                left = [*(self.items[waiting.pop()].said - said)]
                said.update(left)
                continue
            new = [at for at in self._keyed.get(left.pop(), ()) if at not in found]
            found.update(new)
            waiting += new
        return found

    def reaching(self, names: Iterable[str]) -> set[int]:
        """The declarations that need what has one of these names."""
        found: set[int] = set()
        known = set(names)
        left = [*known]
        while left:
            for at in self._saying.get(left.pop(), ()):
                if at not in found:
                    found.add(at)
                    new = self.items[at].keys - known
                    known |= new
                    left += new
        return found
