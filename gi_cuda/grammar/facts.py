"""What a front end found out about a source's functions and rules."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.grammar.scope import NameUse
from gi_cuda.grammar.values import Value


@dataclass(frozen=True, slots=True)
class Function:
    """A function that evolves: its name, whether it is a kernel, and its span."""

    name: str
    kernel: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """What the front end knows of a rule's text.

    Attributes:
        function: number of the function it stands in.
        region: its presence region.
        uses: the names it uses and does not declare itself.
        assigns: the names it assigns to.
        declares: for a loop header that declares: names and types.
        at: where the names are looked up of what is put in its place.
        value: for the types that go by value: what it is and what its place takes.
    """

    function: int
    region: int
    uses: tuple[NameUse, ...]
    assigns: frozenset[str]
    declares: tuple[tuple[str, str], ...] = ()
    at: int = 0
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """How a hand-edited ``.scope`` differs from the front end's: pairs of (donor, place)."""

    granted: frozenset[tuple[str, str]] = frozenset()
    forbidden: frozenset[tuple[str, str]] = frozenset()
