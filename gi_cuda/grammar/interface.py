"""What the other rooms need of a front end: how it reads a text, and what it can make of that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from gi_cuda.grammar.branch_text import BranchText
from gi_cuda.grammar.rule import Expansion, Hunk, Loop, Rule
from gi_cuda.grammar.rule_types import PAPER_TYPES, Operation, RuleType
from gi_cuda.grammar.source import Source, SourceLine
from gi_cuda.grammar.untested import Untested


class Selection(Protocol):
    """What may be done to the rules that a configuration compiles."""

    @property
    def mutable(self) -> tuple[str, ...]:
        """Their names, in the order of the source."""

    def donors(self, place: str) -> tuple[str, ...]:
        """The donors that may go to a place; never the place itself."""

    def count(self, place: str) -> int:
        """How many donors :meth:`donors` has for a place."""

    def operations(self, place: str) -> tuple[Operation, ...]:
        """Which edits apply to a rule."""


@dataclass(frozen=True)
class Rules(ABC):
    """A grammar, whatever language its text is in: one text cut into fixed text and rules.

    What it offers its places itself is what it does under any configuration.

    Attributes:
        source: the text.
        rules: in the order of the text, outer before inner.
        loops: those that can be guarded, by ident.
        specials: text of the donors that stand for no place in the text.
    """

    source: Source
    rules: tuple[Rule, ...]
    loops: tuple[Loop, ...]
    specials: Mapping[str, str] = field(repr=False)

    @cached_property
    def _index(self) -> Mapping[str, Rule]:
        return {rule.name: rule for rule in self.rules}

    @cached_property
    def mutable(self) -> tuple[str, ...]:
        """The names of all rules."""
        return tuple(rule.name for rule in self.rules)

    def rule(self, name: str) -> Rule:
        """The rule of that name (KeyError if there is none)."""
        return self._index[name]

    def __contains__(self, name: str) -> bool:
        """Whether there is a rule of that name."""
        return name in self._index

    def text(self, donor: str) -> str:
        """The original text of a rule, or the text of a special donor (KeyError if neither)."""
        special = self.specials.get(donor)
        if special is not None:
            return special
        rule = self._index[donor]
        return self.source.text[rule.start : rule.end]

    @abstractmethod
    def donors(self, place: str) -> tuple[str, ...]:
        """The donors that may go to a place; never the place itself."""

    def count(self, place: str) -> int:
        """How many donors :meth:`donors` has for a place."""
        return len(self.donors(place))

    @abstractmethod
    def operations(self, place: str) -> tuple[Operation, ...]:
        """Which edits apply to a rule."""

    def under(self, macros: Mapping[str, str]) -> Selection:
        """The grammar as a configuration sees it, which defines these macros."""
        return self

    def under_any(self, macros: Mapping[str, str]) -> Selection:
        """What configurations make of the grammar that differ in the macros that are ``ANY``."""
        return self


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Which lines of source a compiler made something of.

    Attributes:
        places: the line that it was made of; then, if that is in a function that was inlined, where
            the call stood, and so on outwards. Empty where that is not known.
        reason: why it is not known; "" where it is.
    """

    places: tuple[SourceLine, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        return ", inlined at ".join(map(str, self.places)) or self.reason


class CompiledInstruction(NamedTuple):
    """An instruction of a text that a compiler made: its span, and what it was made of."""

    start: int
    end: int
    origin: SourceLines


class Outcome(StrEnum):
    """What a count in a text is of: a statement that is reached; a condition, of an ``if`` or a
    loop, that is true; one of an ``if`` that is false; one of a loop that is true once more."""

    REACHED = "reached"
    TRUE = "true"
    FALSE = "false"
    AGAIN = "again"


class Place(NamedTuple):
    """What a count in a text is of: a rule or a loop, and what becomes of it.

    Attributes:
        rule: its name; "" of a loop.
        loop: its ident; None of a rule.
    """

    rule: str
    outcome: Outcome
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class CountedText:
    """A text with counts, in the places of those of loops.

    Attributes:
        places: what each count is of, by its number.
    """

    text: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class ParsedText(ABC):
    """A text as its front end read it: the rules, and what can be made of the text by edits.

    Attributes:
        grammar: the rules.
    """

    grammar: Rules

    @property
    def text(self) -> str:
        """What is compiled where nothing is changed: of a source all of it, host code too."""
        return self.grammar.source.text

    @abstractmethod
    def notation(self) -> Mapping[str, str]:
        """The grammar as files: their texts by what is added to the source's name."""

    def identity(self, beside: Sequence[str] = ()) -> str:
        """What two programs have in common that offer the same changes.

        Args:
            beside: texts that variants are timed beside, where those are none of this program's.
        """
        return "".join((*self.notation().values(), *beside))

    def in_force(
        self, expansions: Mapping[str, Expansion], macros: Mapping[str, str]
    ) -> Mapping[str, Expansion]:
        """The expansions without what a configuration, which defines these macros, makes void."""
        return expansions

    @abstractmethod
    def render(
        self, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
    ) -> str:
        """A variant's text as it is compiled; with no expansions :attr:`text`, byte for byte.

        Args:
            expansions: by rule name, what becomes of it; rules not named stay as they are.
            limits: by loop ident, the most iterations allowed; loops that the expansions touch are
                guarded. None: no guards at all.

        Raises:
            KeyError: a rule or donor that the grammar does not have.
        """

    def changed(self, expansions: Mapping[str, Expansion]) -> Source:
        """A variant without guards, in its files."""
        return Source(self.grammar.source.name, self.render(expansions))

    def shape(self, expansions: Mapping[str, Expansion]) -> Mapping[str, int]:
        """How a variant's launches differ from the reference's, by the keys of
        :class:`gi_cuda.spec.shape.Shape`; empty where the language has no transformations."""
        return {}

    def unknown_launches(self, expansions: Mapping[str, Expansion]) -> tuple[str, ...]:
        """The kernels whose launches a variant changes, and whose launches are not in its text or
        are not understood there; none where the language has no transformations."""
        return ()

    def unchosen(self, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion] | None:
        """Those of a variant's expansions that cannot be chosen as it runs, so that all variants of
        a schema have to have the same. None: it can be in no schema; nothing can where the language
        has no such thing."""
        return None

    def telling(self, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion]:
        """Those that may change what a variant answers. Others change how fast it is, and may take
        long to compile, as an unrolled loop does."""
        return expansions

    def schema(self, variants: Sequence[Mapping[str, Expansion]]) -> str:
        """One text that is each of the variants, by the number from 1 that ``gi_chosen`` holds when
        it runs; with any other number it is what all have in common. Loops have no guards.

        Args:
            variants: of each what becomes of rules by their names; they can be in a schema, and
                have in common what cannot be chosen.

        Raises:
            KeyError: a rule or donor that the grammar does not have.
        """
        assert not variants, "none of this language can be in one"
        return self.text

    @abstractmethod
    def instrument(self) -> str:
        """The text with every loop of the grammar counting its iterations."""

    @abstractmethod
    def mark(self, name: str) -> str:
        """The text with a count, in the place of a loop's, of how often a rule's place is reached.

        Raises:
            KeyError: there is no such rule.
        """

    def mark_true(self, name: str) -> str | None:
        """The text with a count of how often a rule's condition is true; None: it is no condition.

        Raises:
            KeyError: there is no such rule.
        """
        return None

    def count_places(self, names: Collection[str]) -> CountedText | None:
        """The text with a count of its own for each statement, and one for either outcome of each
        condition of an ``if`` and of each part of a condition, among the rules named; None: not for
        this language."""
        return None

    def needed(self) -> Mapping[str, Collection[Operation]]:
        """The rules without whose own text answers are chance or loops do not end, with what a
        search does not do to them therefore; none, where that is not known of the language."""
        return {}

    def untested(
        self, names: Collection[str], places: Sequence[Place], seen: Collection[Place]
    ) -> Untested:
        """What no case tests, where places were counted.

        Args:
            names: of the rules that were compiled.
            places: all of a :class:`CountedText`.
            seen: those that some case reached.
        """
        assert not places, "none of this language is counted"
        return Untested()

    def instructions(self) -> Mapping[str, CompiledInstruction] | None:
        """By rule, the instruction that it is or is read by; None where the text is source."""
        return None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be read of a text.

    Attributes:
        kernels: their names; None: all.
        types: of rules.
        functions: of what a compiler made: those that may evolve beside kernels; None: all.
        notation: texts of a grammar's files, edited by hand, in place of what the front end finds.
        called: what errors call these files.
        hunks: changes of patches that become rules too, by the donors that stand for them; those of
            host code do not. Only of source, and not beside ``notation``.
    """

    kernels: Sequence[str] | None = None
    types: frozenset[RuleType] = PAPER_TYPES
    functions: Collection[str] | None = None
    notation: tuple[str, str] | None = None
    called: tuple[str, str] | None = None
    hunks: Mapping[str, Hunk] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """A language that can evolve.

    Attributes:
        level: what users call it: ``source`` is whatever a target's source is written in.
        name: the language, for people.
        suffixes: of its files.
        read: a text as a program.

            Raises:
                UserError: there is no kernel, or none of a name asked for.
        load: the file with the kernels, with those of its headers that belong to it, which are
            looked up in folders. None where a compiler makes the text.
        branches: a preprocessed text with counts of the ways that it takes; None where there is no
            such thing.
        pairs: the chance that a mutation of code is a move or a swap of two rules.
    """

    level: str
    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, Wanted], ParsedText]
    load: Callable[[Path, Sequence[Path], Sequence[Path]], Source] | None = None
    branches: Callable[[str], BranchText] | None = None
    pairs: float = 0.0

    @property
    def compiled(self) -> bool:
        """Whether a compiler makes the text of a target's source."""
        return self.load is None
