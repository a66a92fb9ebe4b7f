"""CUDA source as a text that can evolve (:class:`ParsedText`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from gi_cuda.grammar.coverage.places import CountedText, Place
from gi_cuda.grammar.coverage.tested import DROPS
from gi_cuda.grammar.coverage.untested import Untested
from gi_cuda.grammar.frontends.cuda.analysis import analyse
from gi_cuda.grammar.frontends.cuda.coverage.marks import counted, marked, marked_where_true
from gi_cuda.grammar.frontends.cuda.coverage.untested import untested
from gi_cuda.grammar.frontends.cuda.rendering.guard import instrument, touched_loops
from gi_cuda.grammar.frontends.cuda.rendering.readback import read_grammar
from gi_cuda.grammar.frontends.cuda.rendering.render import in_force, line_splices, render, rendered
from gi_cuda.grammar.frontends.cuda.rendering.schema import schema, telling, unchosen
from gi_cuda.grammar.frontends.cuda.rendering.transformed import (
    Transformed,
    add_hunks,
    add_sites,
    transform,
    transformations,
)
from gi_cuda.grammar.frontends.cuda.rules.ending import ending
from gi_cuda.grammar.frontends.cuda.rules.naming import assemble, named
from gi_cuda.grammar.frontends.cuda.rules.unset import alone_setting
from gi_cuda.grammar.frontends.cuda.text.several import read_files
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.interface import ParsedText, Wanted
from gi_cuda.grammar.notation.bnf import write_bnf
from gi_cuda.grammar.notation.scope import write_scope
from gi_cuda.grammar.rule import Expansion, Hunk
from gi_cuda.grammar.rule_types import PAPER_TYPES, Operation, RuleType, specials_of
from gi_cuda.grammar.source import Source
from gi_cuda.grammar.splice import spliced
from gi_cuda.grammar.steps import step_donors

_SHAPES = 256
"""Number of variants whose shapes are cached."""

NO_HUNKS: Mapping[str, Hunk] = MappingProxyType({})


def load_cuda(path: Path, headers: Sequence[Path], include: Sequence[Path]) -> Source:
    """Read a source together with the headers that evolve with it."""
    return read_files(path, headers, include).source


def read_cuda(source: Source, wanted: Wanted) -> CudaText:
    """Read a source as rules."""
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
    """Read a CUDA source as a grammar.

    Kernels, and the device functions of the file that they reach, are read as rules. Hunks become
    rules too. Everything else is fixed text.

    Args:
        source: the source.
        kernels: names of the kernels; None: every ``__global__`` function.
        types: the types of rules to make.
        hunks: changes of patches, by name of their special donor.

    Raises:
        UserError: there is no kernel, or no kernel of a requested name.
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
        """Return the ``.bnf`` (rules) and the ``.scope`` (places of each donor)."""
        return {".bnf": write_bnf(self.grammar), ".scope": write_scope(self.grammar)}

    def in_force(
        self, expansions: Mapping[str, Expansion], macros: Mapping[str, str]
    ) -> Mapping[str, Expansion]:
        """Return the expansions that have an effect under a configuration."""
        return in_force(self.grammar.under(macros), expansions)

    def render(
        self, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
    ) -> str:
        """Return a variant's text."""
        wanted = transformations(self.grammar, expansions)
        if not wanted:
            return render(self.grammar, expansions, limits)
        return self._transformed(expansions, wanted, limits, launches=limits is None).source.text

    def changed(self, expansions: Mapping[str, Expansion]) -> Source:
        """Return a variant's source without guards, with its files."""
        wanted = transformations(self.grammar, expansions)
        if not wanted:
            return rendered(self.grammar, expansions)
        return self._transformed(expansions, wanted, None, launches=True).source

    def shape(self, expansions: Mapping[str, Expansion]) -> Mapping[str, int]:
        """Return the changes of launches that a variant's transformations make."""
        wanted = transformations(self.grammar, expansions)
        if not wanted:
            return {}
        key = tuple(sorted(expansions.items()))
        found = self._shapes.get(key)
        return self._transformed(expansions, wanted, {}).shape if found is None else found

    @cached_property
    def _shapes(self) -> OrderedDict[object, Mapping[str, int]]:
        """Cached shapes of the last rendered variants: callers ask for text and shape of each."""
        return OrderedDict()

    def unknown_launches(self, expansions: Mapping[str, Expansion]) -> tuple[str, ...]:
        """Return the kernels whose launches must change but cannot be changed in the text."""
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
        """Return a variant with its transformations.

        Guards may prevent a transformation. It is then left out of the text without guards too, so
        that both texts are the same variant.
        """
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
        """Return the expansions that cannot be selected at run time; None: it fits no schema."""
        if transformations(self.grammar, expansions):
            return None
        return unchosen(self.grammar, expansions)

    def telling(self, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion]:
        """Return the expansions that may change a variant's results."""
        return telling(self.grammar, expansions)

    def schema(self, variants: Sequence[Mapping[str, Expansion]]) -> str:
        """Return one source of several variants; ``gi_chosen`` selects one at run time."""
        return schema(self.grammar, variants)

    def instrument(self) -> str:
        """Return the source with a counter of iterations in every loop."""
        return instrument(self.grammar)

    def mark(self, name: str) -> str:
        """Return the source with a counter at a rule's place."""
        return marked(self.grammar, name)

    def mark_true(self, name: str) -> str | None:
        """Return the source with a counter of how often a condition is true."""
        return marked_where_true(self.grammar, name)

    def count_places(self, names: Collection[str]) -> CountedText:
        """Return the source with counters for statements, conditions and loops."""
        return counted(self.grammar, names)

    def needed(self) -> Mapping[str, Collection[Operation]]:
        """Return the operations that would leave a local variable unset or a loop without end."""
        setting = {rule.name: DROPS for rule in alone_setting(self.grammar)}
        return {**ending(self.grammar), **setting}

    def untested(
        self, names: Collection[str], places: Sequence[Place], seen: Collection[Place]
    ) -> Untested:
        """Return the operations on rules that no test case covers."""
        return untested(self.grammar, names, places, seen)
