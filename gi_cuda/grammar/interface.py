"""What variation needs of a grammar, whatever language its text is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gi_cuda.grammar.kinds import Operation
from gi_cuda.grammar.rule import Loop, Rule, Source


class Offering(Protocol):
    """What may be done to rules."""

    def donors(self, place: str) -> tuple[str, ...]:
        """The donors that may go to a place; never the place itself."""

    def operations(self, place: str) -> tuple[Operation, ...]:
        """Which edits apply to a rule."""


class Selection(Offering, Protocol):
    """What may be done to the rules that a configuration compiles."""

    @property
    def mutable(self) -> tuple[str, ...]:
        """Their names, in the order of the source."""


class Rules(Offering, Protocol):
    """A grammar: that of a source, or that of PTX.

    Its own offers are those under any configuration.
    """

    @property
    def source(self) -> Source:
        """The text."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """In the order of the source, outer before inner."""

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops that can be guarded, by ident."""

    @property
    def specials(self) -> Mapping[str, str]:
        """Text of the donors that stand for no place in the source."""

    def rule(self, name: str) -> Rule:
        """The rule of that name (KeyError if there is none)."""

    def text(self, donor: str) -> str:
        """The original text of a rule or special donor (KeyError if there is none)."""

    def under(self, macros: Mapping[str, str]) -> Selection:
        """The grammar as a configuration sees it."""
