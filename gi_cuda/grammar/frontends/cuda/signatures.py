"""Functions of a source as calls see them: which of several is called, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gi_cuda.grammar.values import Type


@dataclass(frozen=True, slots=True)
class Signature:
    """A function: the types of its result and parameters.

    Attributes:
        result: None where it cannot be told.
        parameters: of each its type, None where it cannot be told, and whether it is a reference.
        least: how many of them a call gives at least.
    """

    result: Type | None
    parameters: tuple[tuple[Type | None, bool], ...]
    least: int = 0

    def takes(self, count: int) -> bool:
        """Whether it may be called with so many arguments."""
        return self.least <= count <= len(self.parameters)

    def exactly(self, arguments: Sequence[Type | None]) -> bool:
        """Whether each argument is of its parameter's type, so that no overload is nearer."""
        pairs = zip(self.parameters, arguments, strict=False)
        return all(
            wanted is not None and given is not None and wanted.value == given.value
            for (wanted, _), given in pairs
        )


def called(overloads: Sequence[Signature], arguments: Sequence[Type | None]) -> Type | None:
    """What the one among overloads gives that is called; None where that is not certain."""
    fitting = [one for one in overloads if one.takes(len(arguments))]
    if len({one.result for one in fitting}) > 1:
        fitting = [one for one in fitting if one.exactly(arguments)]
    return fitting[0].result if len({one.result for one in fitting}) == 1 else None
