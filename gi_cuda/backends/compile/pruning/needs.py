"""Dependencies between the declarations of a text, found by names alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gi_cuda.backends.compile.pruning.items import Item


def declared_by(items: Iterable[Item]) -> frozenset[str]:
    """Return the names that are declared.

    An operator declares no name: its keys are types of its operands, which may be a header's.
    """
    return frozenset().union(*(one.keys for one in items if not one.operands))


class Needs:
    """Dependencies between the declarations of a text.

    Args:
        items: the declarations.
        declared: all names that are declared in the text rather than in headers; by default those
            of ``items``.
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
        """Tell whether an item may be needed by code that uses none of its names."""
        # Code can have an operand of a header's type without using the type's name.
        return item.everywhere or (item.operands and not item.keys <= self._declared)

    def everywhere(self, at: int) -> bool:
        """Tell whether the declaration with an index is free, see :meth:`free`."""
        return self.free(self.items[at])

    def reached(self, names: Iterable[str], items: Iterable[int] = ()) -> set[int]:
        """Return all declarations that names and ``items`` need, directly or not, and free ones."""
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
        """Return all declarations that need one of the names, directly or not."""
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
