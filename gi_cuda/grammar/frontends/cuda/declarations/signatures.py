"""Signatures of functions, and overload resolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gi_cuda.grammar.values import Type


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a function.

    Attributes:
        result: type of the result; None if unknown.
        parameters: type of each parameter (None if unknown), and True if it is a reference.
        least: smallest number of arguments of a call.
    """

    result: Type | None
    parameters: tuple[tuple[Type | None, bool], ...]
    least: int = 0

    def takes(self, count: int) -> bool:
        """Tell whether a call may have this number of arguments."""
        return self.least <= count <= len(self.parameters)

    def exactly(self, arguments: Sequence[Type | None]) -> bool:
        """Tell whether each argument has its parameter's type, so that no overload fits better."""
        pairs = zip(self.parameters, arguments, strict=False)
        return all(
            wanted is not None and given is not None and wanted.value == given.value
            for (wanted, _), given in pairs
        )


def called(overloads: Sequence[Signature], arguments: Sequence[Type | None]) -> Type | None:
    """Return the result type of the overload that a call selects; None if that is uncertain."""
    fitting = [one for one in overloads if one.takes(len(arguments))]
    if len({one.result for one in fitting}) > 1:
        fitting = [one for one in fitting if one.exactly(arguments)]
    return fitting[0].result if len({one.result for one in fitting}) == 1 else None
