"""The interface of a family of transformations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice


@dataclass(frozen=True, slots=True)
class Site:
    """A place where a transformation may be applied.

    Attributes:
        at: offset of the word that marks the site: a kernel's name, or a loop's keyword.
        function: number of the function, as in :attr:`.Code.functions`.
        choices: the special donors of the family's type that may go there, e.g. ``coarsen_K4``.
    """

    at: int
    function: int
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The result of one transformation.

    Attributes:
        splices: the changes of the text.
        shape: changes of a kernel's launches, keyed as in
            :class:`gi_cuda.spec.launching.shape.Shape` (for example ``KERNEL.items.x``).
    """

    splices: tuple[Splice, ...]
    shape: Mapping[str, int] = field(default_factory=dict)


class Family(ABC):
    """A family of transformations.

    Attributes:
        type: the type of its rules, which also lists its choices.
    """

    type: ClassVar[RuleType]

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the places where the family's conditions hold.

        The default finds the kernels that one of the family's choices rewrites."""
        for kernel in code.kernels:
            specials = self.type.kind.specials
            choices = tuple(one for one in specials if self.rewrite(code, kernel.at, one))
            if choices:
                yield Site(kernel.at, kernel.number, choices)

    @abstractmethod
    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Rewrite a source at a site.

        Args:
            code: the source, which line edits or other transformations may have changed since the
                site was found.
            at: current offset of the site's word.
            choice: one of the family's special donors.

        Returns:
            None if the conditions do not hold in this text.
        """


class OfFunctions(Family):
    """A family that rewrites all places of its kind in a function, at the function's name."""

    @abstractmethod
    def splices(self, code: Code, function: Function) -> list[Splice]:
        """Return the changes of a function; empty if there is nothing to change."""

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the names of the functions that would change."""
        for function in code.functions:
            if self.splices(code, function):
                yield Site(function.at, function.number, tuple(self.type.kind.specials))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Rewrite the function whose name is at the offset."""
        function = code.function_at(at)
        found = self.splices(code, function) if function else []
        return Rewrite(tuple(found)) if found else None
