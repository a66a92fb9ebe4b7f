"""Interface of front ends: read a text as rules, and render variants of the text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from gi_cuda.grammar.coverage.branch_text import BranchText
from gi_cuda.grammar.coverage.places import CountedText, Place
from gi_cuda.grammar.coverage.untested import Untested
from gi_cuda.grammar.rule import Expansion, Hunk, Loop, Rule
from gi_cuda.grammar.rule_types import PAPER_TYPES, Operation, RuleType
from gi_cuda.grammar.source import Source, SourceLine


class Selection(Protocol):
    """The rules that a configuration compiles, with their operations and donors."""

    @property
    def mutable(self) -> tuple[str, ...]:
        """The names of the rules, in the order of the source."""

    def donors(self, place: str) -> tuple[str, ...]:
        """Return the donors that may go to a place, without the place itself."""

    def count(self, place: str) -> int:
        """Return the number of donors that :meth:`donors` returns for a place."""

    def operations(self, place: str) -> tuple[Operation, ...]:
        """Return the operations that a rule offers."""


@dataclass(frozen=True)
class Rules(ABC):
    """A grammar in any language: one text cut into fixed text and rules.

    The methods :meth:`donors`, :meth:`count` and :meth:`operations` of the grammar itself return
    what at least one configuration offers; :meth:`under` returns the view of one configuration.

    Attributes:
        source: the text.
        rules: the rules, in the order of the text, outer before inner.
        loops: the loops that can be guarded; the index is the loop's ident.
        specials: texts of the special donors (donors that stand for no place in the text), by name.
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
        """Return the rule of a name.

        Raises:
            KeyError: there is no rule of that name.
        """
        return self._index[name]

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a rule of that name."""
        return name in self._index

    def text(self, donor: str) -> str:
        """Return the original text of a rule, or the text of a special donor.

        Raises:
            KeyError: there is neither a rule nor a special donor of that name.
        """
        special = self.specials.get(donor)
        if special is not None:
            return special
        rule = self._index[donor]
        return self.source.text[rule.start : rule.end]

    @abstractmethod
    def donors(self, place: str) -> tuple[str, ...]:
        """Return the donors that may go to a place under some configuration, without the place."""

    def count(self, place: str) -> int:
        """Return the number of donors that :meth:`donors` returns for a place."""
        return len(self.donors(place))

    @abstractmethod
    def operations(self, place: str) -> tuple[Operation, ...]:
        """Return the operations that a rule offers under some configuration."""

    def under(self, macros: Mapping[str, str]) -> Selection:
        """Return the view of the grammar for a configuration that defines some macros."""
        return self

    def under_any(self, macros: Mapping[str, str]) -> Selection:
        """Return the rules that some configuration compiles.

        Args:
            macros: macros that all the configurations define. A macro with the value ``ANY`` may
                have any value, or be undefined.
        """
        return self


@dataclass(frozen=True, slots=True)
class SourceLines:
    """The source lines from which a compiler made an instruction.

    Attributes:
        places: the source line of the instruction. If the line is in an inlined function, the line
            of the call follows, and so on outwards. Empty if the lines are unknown.
        reason: the reason if the lines are unknown; "" if they are known.
    """

    places: tuple[SourceLine, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        return ", inlined at ".join(map(str, self.places)) or self.reason


class CompiledInstruction(NamedTuple):
    """An instruction of a text that a compiler made: its span, and its source lines."""

    start: int
    end: int
    origin: SourceLines


@dataclass(frozen=True)
class ParsedText(ABC):
    """A text as its front end read it: its rules, and methods that render variants of the text.

    Attributes:
        grammar: the rules.
    """

    grammar: Rules

    @property
    def text(self) -> str:
        """The whole unchanged text that is compiled; for a source, host code included."""
        return self.grammar.source.text

    @abstractmethod
    def notation(self) -> Mapping[str, str]:
        """Return the grammar's files: their texts, by the suffix added to the source's name."""

    def identity(self, beside: Sequence[str] = ()) -> str:
        """Return a text that is equal for two programs if they offer the same changes.

        Args:
            beside: texts of other programs against which variants are timed.
        """
        return "".join((*self.notation().values(), *beside))

    def in_force(
        self, expansions: Mapping[str, Expansion], macros: Mapping[str, str]
    ) -> Mapping[str, Expansion]:
        """Return the expansions that have an effect under a configuration.

        Args:
            expansions: the expansion of each changed rule, by name.
            macros: the macros that the configuration defines.
        """
        return expansions

    @abstractmethod
    def render(
        self, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
    ) -> str:
        """Return a variant's text as it is compiled; without expansions exactly :attr:`text`.

        Args:
            expansions: the expansion of each changed rule, by name.
            limits: largest number of iterations of each loop, by ident. Loops that the expansions
                may keep from ending get guards. None: no guards.

        Raises:
            KeyError: the grammar does not have one of the rules or donors.
        """

    def changed(self, expansions: Mapping[str, Expansion]) -> Source:
        """Return a variant without guards, as a source with its files."""
        return Source(self.grammar.source.name, self.render(expansions))

    def shape(self, expansions: Mapping[str, Expansion]) -> Mapping[str, int]:
        """Return the changes of launches that a variant's transformations make.

        The keys are those of :class:`gi_cuda.spec.launching.shape.Shape`. Empty if the language has
        no transformations.
        """
        return {}

    def unknown_launches(self, expansions: Mapping[str, Expansion]) -> tuple[str, ...]:
        """Return the kernels whose launches must change but cannot be changed in the text.

        The text does not contain these launches, or the front end does not understand them. Empty
        if the language has no transformations.
        """
        return ()

    def unchosen(self, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion] | None:
        """Return the expansions of a variant that cannot be selected at run time.

        All variants of a schema must have these expansions in common. Return None if the variant
        can be in no schema, or if the language has no schemata.
        """
        return None

    def telling(self, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion]:
        """Return the expansions that may change a variant's results.

        The other expansions only change its speed and the time to compile it: loop unrolling, for
        example.
        """
        return expansions

    def schema(self, variants: Sequence[Mapping[str, Expansion]]) -> str:
        """Return one text (a mutant schema) that contains several variants and selects at run time.

        The variable ``gi_chosen`` holds the number of the variant that runs, from 1. With any other
        number, only the changes common to all variants are in effect. Loops have no guards.

        Args:
            variants: the expansions of each variant, by rule name. Each variant can be in a schema,
                and all have the same expansions that cannot be selected (see :meth:`unchosen`).

        Raises:
            KeyError: the grammar does not have one of the rules or donors.
        """
        assert not variants, "none of this language can be in one"
        return self.text

    @abstractmethod
    def instrument(self) -> str:
        """Return the text with a counter of iterations in every loop of the grammar."""

    @abstractmethod
    def mark(self, name: str) -> str:
        """Return the text with a counter at a rule's place, instead of the counters of loops.

        Raises:
            KeyError: there is no rule of that name.
        """

    def mark_true(self, name: str) -> str | None:
        """Return the text with a counter of how often a rule's condition is true.

        Return None if the rule is not a condition.

        Raises:
            KeyError: there is no rule of that name.
        """
        return None

    def count_places(self, names: Collection[str]) -> CountedText | None:
        """Return the text with counters at some rules; None if the language does not support it.

        Each statement has one counter. Each condition of an ``if``, and each part of a condition,
        has one counter for true and one for false.

        Args:
            names: names of the rules to count.
        """
        return None

    def needed(self) -> Mapping[str, Collection[Operation]]:
        """Return the operations that would make results random or leave a loop without end.

        A search does not use these operations. Empty if the front end does not find them.

        Returns:
            The operations to leave out, by rule name.
        """
        return {}

    def untested(
        self, names: Collection[str], places: Sequence[Place], seen: Collection[Place]
    ) -> Untested:
        """Return the operations on rules that no test case covers.

        Args:
            names: names of the rules that were compiled.
            places: all places of a :class:`CountedText`.
            seen: the places whose counters some test case increased.
        """
        assert not places, "none of this language is counted"
        return Untested()

    def instructions(self) -> Mapping[str, CompiledInstruction] | None:
        """Return the instruction of each rule, by name; None if the text is source code.

        The instruction of an operand's rule is the instruction that reads the operand.
        """
        return None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request to a front end: the parts of a text to read as rules.

    Attributes:
        kernels: names of the kernels; None: all.
        types: the types of rules to make.
        functions: for compiled text, names of the functions that may evolve besides kernels; None:
            all.
        notation: texts of a grammar's hand-edited files (``.bnf``, ``.scope``), which replace the
            rules that the front end finds.
        called: names of these two files in error messages.
        hunks: changes of patches that also become rules, by name of their special donor. Changes of
            host code do not. For source text only, and not together with ``notation``.
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
        level: name of the level for users; ``source`` is the language of a target's source.
        name: name of the language for users.
        suffixes: suffixes of the language's files.
        read: function that reads a text as rules. It raises UserError if there is no kernel, or no
            kernel of a requested name.
        load: function that reads a kernel's file together with the headers that belong to it; the
            arguments are the file, the headers, and the folders in which includes are looked up.
            None if a compiler makes the text.
        branches: function that adds counters to the branches of a preprocessed text; None if the
            language does not support it.
        pairs: default probability that a mutation of code is a move or a swap of two rules.
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
        """Tell whether a compiler makes the text from a target's source."""
        return self.load is None
