"""CUDA source that evolves."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from gi_cuda.grammar.frontends.cuda.analysis import analyse
from gi_cuda.grammar.frontends.cuda.ending import ending
from gi_cuda.grammar.frontends.cuda.guard import instrument, touched_loops
from gi_cuda.grammar.frontends.cuda.marks import counted, marked, marked_where_true
from gi_cuda.grammar.frontends.cuda.naming import assemble, named
from gi_cuda.grammar.frontends.cuda.readback import read_grammar
from gi_cuda.grammar.frontends.cuda.render import in_force, line_splices, render, rendered
from gi_cuda.grammar.frontends.cuda.schema import schema, telling, unchosen
from gi_cuda.grammar.frontends.cuda.several import read_files
from gi_cuda.grammar.frontends.cuda.transformed import (
    Transformed,
    add_hunks,
    add_sites,
    transform,
    transformations,
)
from gi_cuda.grammar.frontends.cuda.unset import alone_setting
from gi_cuda.grammar.frontends.cuda.untested import untested
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.interface import CountedText, ParsedText, Place, Wanted
from gi_cuda.grammar.notation.bnf import write_bnf
from gi_cuda.grammar.notation.scope import write_scope
from gi_cuda.grammar.rule import Expansion, Hunk
from gi_cuda.grammar.rule_types import PAPER_TYPES, Operation, RuleType, specials_of
from gi_cuda.grammar.source import Source
from gi_cuda.grammar.splice import spliced
from gi_cuda.grammar.steps import step_donors
from gi_cuda.grammar.tested import DROPS
from gi_cuda.grammar.untested import Untested

_SHAPES = 256
"""Variants whose shapes are remembered."""

NO_HUNKS: Mapping[str, Hunk] = MappingProxyType({})


def load_cuda(path: Path, headers: Sequence[Path], include: Sequence[Path]) -> Source:
    """A source with those of its headers that evolve with it."""
    return read_files(path, headers, include).source


def read_cuda(source: Source, wanted: Wanted) -> CudaText:
    """A source as a program."""
    kernels, types = wanted.kernels, wanted.types
    if wanted.notation is None:
        return CudaText(convert(source, kernels, types, wanted.hunks))
    return CudaText(read_grammar(source, *wanted.notation, kernels, types, wanted.called))


def convert(
    source: Source,
    kernels: Sequence[str] | None = None,
    types: frozenset[RuleType] = PAPER_TYPES,
    hunks: Mapping[str, Hunk] = NO_HUNKS,
) -> Grammar:
    """Read a CUDA source as a grammar with rules of the types given.

    The kernels named (None: every ``__global__`` function) and the device functions of the file
    that they reach are read as rules, and so are hunks; everything else is fixed text.

    Raises:
        UserError: there is no kernel, or none of a name asked for.
    """
    analysis = analyse(source, kernels, types)
    add_sites(source, analysis, types)
    add_hunks(source, analysis, hunks)
    rules = list(named(source, analysis.findings.rules))
    numbers = [source.text[one.start : one.end] for _, one in rules if one.type is RuleType.NUMBER]
    specials = specials_of(types) | step_donors(RuleType.NUMBER, numbers)
    specials |= {name: hunk.text for name, hunk in hunks.items()}
    return replace(assemble(source, analysis, rules, specials), hunks=hunks)


@dataclass(frozen=True)
class CudaText(ParsedText):
    """A CUDA source and its rules."""

    grammar: Grammar

    def notation(self) -> Mapping[str, str]:
        """The rules, and where each may go."""
        return {".bnf": write_bnf(self.grammar), ".scope": write_scope(self.grammar)}

    def in_force(
        self, expansions: Mapping[str, Expansion], macros: Mapping[str, str]
    ) -> Mapping[str, Expansion]:
        """The expansions without what a configuration makes void."""
        return in_force(self.grammar.under(macros), expansions)

    def render(
        self, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
    ) -> str:
        """A variant's text."""
        wanted = transformations(self.grammar, expansions)
        if not wanted:
            return render(self.grammar, expansions, limits)
        return self._transformed(expansions, wanted, limits, launches=limits is None).source.text

    def changed(self, expansions: Mapping[str, Expansion]) -> Source:
        """A variant's source without guards, in its files."""
        wanted = transformations(self.grammar, expansions)
        if not wanted:
            return rendered(self.grammar, expansions)
        return self._transformed(expansions, wanted, None, launches=True).source

    def shape(self, expansions: Mapping[str, Expansion]) -> Mapping[str, int]:
        """How a variant's launches differ from the reference's."""
        wanted = transformations(self.grammar, expansions)
        if not wanted:
            return {}
        key = tuple(sorted(expansions.items()))
        found = self._shapes.get(key)
        return self._transformed(expansions, wanted, {}).shape if found is None else found

    @cached_property
    def _shapes(self) -> OrderedDict[object, Mapping[str, int]]:
        """The shapes of the last variants that were rendered: each is asked for both."""
        return OrderedDict()

    def unknown_launches(self, expansions: Mapping[str, Expansion]) -> tuple[str, ...]:
        """The kernels whose launches a variant changes, and not in its text."""
        wanted = transformations(self.grammar, expansions)
        if not wanted:
            return ()
        return self._transformed(expansions, wanted, {}, launches=True).unknown

    def _transformed(
        self,
        expansions: Mapping[str, Expansion],
        wanted: Sequence[tuple[str, str]],
        limits: Mapping[int, int] | None,
        *,
        launches: bool = False,
    ) -> Transformed:
        """A variant with its transformations. Those that a guarded loop forbids are not made in a
        text without guards either, so that both are the same variant."""
        chosen = {name for name, _ in wanted}
        lines = {name: one for name, one in expansions.items() if name not in chosen}
        if limits is None and touched_loops(self.grammar, lines):
            made = self._transformed(expansions, wanted, {}).made
            wanted = [one for one in wanted if one[0] in made]
        splices = line_splices(self.grammar, lines, limits)
        text = spliced(self.grammar.source, splices)
        found = transform(self.grammar, text, splices, wanted, launches=launches)
        self._shapes[tuple(sorted(expansions.items()))] = found.shape
        if len(self._shapes) > _SHAPES:
            self._shapes.popitem(last=False)
        return found

    def unchosen(self, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion] | None:
        """Those that all variants of a schema have to have; None: it can be in none."""
        if transformations(self.grammar, expansions):
            return None
        return unchosen(self.grammar, expansions)

    def telling(self, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion]:
        """Those that may change what a variant answers."""
        return telling(self.grammar, expansions)

    def schema(self, variants: Sequence[Mapping[str, Expansion]]) -> str:
        """A source that is each of the variants, by the number in ``gi_chosen``."""
        return schema(self.grammar, variants)

    def instrument(self) -> str:
        """The source with every loop counting its iterations."""
        return instrument(self.grammar)

    def mark(self, name: str) -> str:
        """The source with a count where a rule stands."""
        return marked(self.grammar, name)

    def mark_true(self, name: str) -> str | None:
        """The source with a count of how often a condition is true."""
        return marked_where_true(self.grammar, name)

    def count_places(self, names: Collection[str]) -> CountedText:
        """The source with a count for each statement and each outcome of an ``if``."""
        return counted(self.grammar, names)

    def needed(self) -> Mapping[str, Collection[Operation]]:
        """The rules without whose text a local is read that nothing has set, or a loop goes on."""
        setting = {rule.name: DROPS for rule in alone_setting(self.grammar)}
        return {**ending(self.grammar), **setting}

    def untested(
        self, names: Collection[str], places: Sequence[Place], seen: Collection[Place]
    ) -> Untested:
        """The rules that no case tests."""
        return untested(self.grammar, names, places, seen)
