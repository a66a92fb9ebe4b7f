"""A target that is ready for evolution: its parsed text, configuration space and original."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import xxhash

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype, Space, expansions, key, read_genotype, rule_order
from gi_cuda.grammar import (
    EDIT_SETS,
    Expansion,
    FrontEnd,
    ParsedText,
    Rules,
    RuleType,
    Source,
    Untested,
    Wanted,
    only_tested,
)
from gi_cuda.spec import (
    CaseRole,
    Configuration,
    ParameterKind,
    Target,
    cases_for,
    compiler_options,
    macros,
)
from gi_cuda.subject.definitions import Definitions, read_definitions
from gi_cuda.subject.diffs import files_diff, text_diff, with_defaults
from gi_cuda.subject.idea import Idea, donors
from gi_cuda.subject.start import Start

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Subject:
    """The text that a search evolves: a target's source, or the PTX that is compiled from it.

    Attributes:
        target: the target as loaded.
        front_end: the language of the text.
        parsed: the parsed text.
        space: the possible configurations.
        backend: name of the back end that runs variants.
        edits: name of the edit set.
        grammar_files: the files that the grammar was read from, if it was.
        compiled: origin of a compiled text; None for the target's source itself.
        untested: code that a search does not mutate, because no case tests it.
        idle: rule types that a search does not mutate, because they cannot gain speed on the back
            end.
        ideas: external patches, whose hunks are rules too.
    """

    target: Target
    front_end: FrontEnd
    parsed: ParsedText
    space: Space
    backend: str
    edits: str = "paper"
    grammar_files: tuple[Path, ...] = ()
    compiled: Compiled | None = None
    untested: Untested = field(default_factory=Untested, repr=False)
    idle: frozenset[RuleType] = frozenset()
    ideas: tuple[Idea, ...] = ()

    def having(self, ideas: Sequence[Idea]) -> Subject:
        """Return the same subject with other ideas.

        Raises:
            UserError: the subject is not source, or its grammar was edited by hand.
        """
        if not ideas:
            return self
        if self.compiled or self.grammar_files:
            raise UserError(
                "patches can be taken apart beside a source's own grammar alone",
                where="--ideas",
                hint="leave --level, --bnf and --scope out",
            )
        wanted = Wanted(self.target.kernels, EDIT_SETS[self.edits], hunks=donors(ideas))
        parsed = self.front_end.read(self.grammar.source, wanted)
        return replace(self, parsed=parsed, ideas=tuple(ideas))

    @property
    def grammar(self) -> Rules:
        """The rules of the text."""
        return self.parsed.grammar

    @cached_property
    def offered(self) -> Rules:
        """The rules that a search may mutate.

        These are rules that some case tests, that leave no local variable unset and that may gain
        speed.
        """
        return only_tested(self.grammar, self.untested, self.parsed.needed(), self.idle)

    @property
    def level(self) -> str:
        """The level of the text: ``source`` or ``ptx``."""
        return self.front_end.level

    @property
    def source(self) -> Subject:
        """The subject itself if it is source, else the source that it was compiled from."""
        return self.compiled.source if self.compiled else self

    @cached_property
    def fingerprint(self) -> str:
        """A 128-bit hash of the grammar, in hexadecimal."""
        started = self.compiled is not None and self.compiled.start is not None
        text = self.parsed.identity((self.reference,) if started else ())
        return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogateescape"))

    # -- its genotypes --------------------------------------------------------------------------

    @cached_property
    def original(self) -> Genotype:
        """The genotype without changes.

        It is that of the reference, unless the evolution started from a winner of another run.
        """
        return Genotype(self.space.default)

    @cached_property
    def order(self) -> Mapping[str, int]:
        """Position of each rule in the grammar."""
        return rule_order(self.grammar.rules)

    def key(self, genotype: Genotype) -> bytes:
        """Return the tabu key of a genotype."""
        return key(genotype, self.order)

    def read(self, text: str) -> Genotype:
        """Return the genotype for a text in notation."""
        return read_genotype(text, self.space, self.grammar)

    def starting(self, start: Start) -> Genotype:
        """Return the genotype of a start at this level.

        Raises:
            UserError: the start is not a genotype of this source's grammar.
        """
        if self.compiled:
            return self.original
        try:
            return self.read(start.genotype)
        except UserError as error:
            raise UserError(
                f"it cannot be told in this grammar: {error.what}",
                where=start.name,
                hint=f"it was found with --edits {start.edits}",
            ) from None

    # -- the texts of variants ------------------------------------------------------------------

    @property
    def reference(self) -> str:
        """The text of the target's unmodified source; variants are timed beside it."""
        return self.compiled.reference if self.compiled else self.parsed.text

    @property
    def standard(self) -> Configuration:
        """The configuration of the reference: the target's default."""
        return self.source.space.default

    def expansions(self, genotype: Genotype) -> Mapping[str, Expansion]:
        """Return the new text of each rule that a genotype changes.

        Edits that have no effect under the genotype's configuration are left out.
        """
        if not genotype.edits:
            return {}
        return self.parsed.in_force(expansions(genotype.edits), genotype.configuration.macros)

    def configured(self, genotype: Genotype) -> Configuration:
        """Return a genotype's configuration, with the launch changes of its transformations."""
        return genotype.configuration.shaped(self.parsed.shape(self.expansions(genotype)))

    def render(self, genotype: Genotype, limits: Mapping[int, int] | None) -> str:
        """Return a variant's text; with loop guards if ``limits`` are given."""
        return self.parsed.render(self.expansions(genotype), limits)

    def diff(self, genotype: Genotype) -> str:
        """Return a genotype's changes as a unified diff; for source, one that ``git apply``
        accepts.
        """
        return self.difference(self.original, genotype)

    def difference(self, before: Genotype, after: Genotype) -> str:
        """Return the unified diff from one genotype to another."""
        if self.compiled:
            name = self.grammar.source.name
            return text_diff(self.render(before, None), self.render(after, None), name)
        files = self.upstream(before).files
        return files_diff(files, self.upstream(after).files, self.target.source)

    # -- what a maintainer would adopt, of source -------------------------------------------------

    def upstream(self, genotype: Genotype) -> Source:
        """Return a variant's source, in its files, in the form that a maintainer would adopt.

        It has no loop guards. Changed configuration values are the source's new defaults, except
        for parameters that do not occur in the source.
        """
        configuration = genotype.configuration
        macros = self.macros(configuration)
        changes: dict[str, str | None] = {}
        for name in configuration.changed:
            if name in self.launch_only or self.kinds[name] is ParameterKind.OPTION:
                continue
            changes[name] = macros.get(name)
        # Definitions that are active only under the new values must have the measured values too.
        also = {name: macros[name] for name in self.definitions if name not in changes}
        kept = {name: one.kept(configuration[name]) for name, one in self.definitions.items()}
        known = {n: v for n, v in self.target.build.define.items() if n not in changes}
        source = self.parsed.changed(self.expansions(genotype))
        return with_defaults(source, changes, also, known, kept)

    def upstream_macros(self, genotype: Genotype) -> dict[str, str]:
        """Return the macros that the build still has to define to compile :meth:`upstream`."""
        changed = genotype.configuration.changed
        macros = self.macros(genotype.configuration)
        return {name: value for name, value in macros.items() if name not in changed}

    def device_text(self, source: Source) -> str:
        """Return the text of a changed source as it is compiled, from a new parse of that
        source.
        """
        return self.front_end.read(source, Wanted(self.target.kernels)).text

    @cached_property
    def kinds(self) -> Mapping[str, ParameterKind]:
        """The kind of each parameter."""
        return {parameter.name: parameter.kind for parameter in self.target.parameters}

    # -- how variants are compiled and launched ---------------------------------------------------

    def macros(self, configuration: Configuration) -> dict[str, str]:
        """Return the macros that a configuration defines when a variant is compiled."""
        if self.compiled:
            return {}
        written = {name: one.written(configuration[name]) for name, one in self.definitions.items()}
        return {**macros(self.target, configuration), **written}

    @cached_property
    def definitions(self) -> Mapping[str, Definitions]:
        """The source's definitions of parameters that are constants, or macros with a value."""
        if self.compiled:
            return {}
        return read_definitions(self.grammar.source.text, self.target, self.space.default)

    @cached_property
    def in_place(self) -> Mapping[str, frozenset[str]]:
        """Parameters whose values must be written into the source, with the definitions that
        stay.
        """
        return {name: one.others for name, one in self.definitions.items() if one.in_place}

    def options(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the compiler options of a configuration."""
        return compiler_options(self.target, configuration, self.backend)

    def cases(self, role: CaseRole) -> tuple[str, ...]:
        """Return the names of the cases of one role on this back end."""
        return tuple(case.name for case in cases_for(self.target, self.backend, role))

    @property
    def all_cases(self) -> tuple[str, ...]:
        """Names of the train and held-out cases on this back end."""
        return (*self.cases(CaseRole.TRAIN), *self.cases(CaseRole.HELD_OUT))

    @property
    def timed_cases(self) -> tuple[str, ...]:
        """Names of the timed train cases on this back end."""
        timed = {case.name for case in self.target.cases if case.timed}
        return tuple(name for name in self.cases(CaseRole.TRAIN) if name in timed)

    @cached_property
    def _launch_names(self) -> list[str]:
        expressions = [buffer.size for buffer in self.target.buffers]
        expressions += [scalar.value for scalar in self.target.scalars]
        for sequence in self.target.launches:
            expressions.append(sequence.repeat)
            for step in sequence.steps:
                expressions += [*step.grid, *step.block, step.shared]
        used = frozenset[str]().union(*(e.names for e in expressions if e is not None))
        return [p.name for p in self.target.parameters if p.name in used]

    @cached_property
    def launch_only(self) -> frozenset[str]:
        """The parameters that only launches and buffer sizes use, and no file of the source."""
        words = frozenset(_WORD.findall(self.grammar.source.text))
        return frozenset(name for name in self._launch_names if name not in words)

    def launch_values(self, configuration: Configuration) -> str:
        """Return the values that determine launches and buffers, as text: part of a phenotype."""
        shape = [name for name in configuration if name not in self.space.index]
        return " ".join(f"{name}={configuration[name]}" for name in (*self._launch_names, *shape))


@dataclass(frozen=True)
class Compiled:
    """The origin of a text that a compiler made of a target's source.

    If the evolution starts from a winner of the source, the evolving text differs from the text
    that variants are timed beside. The reference is always the target's own source.

    Attributes:
        source: the target's source.
        base: genotype of the source that is compiled and evolves.
        reference: compiled text of the unmodified source in the default configuration.
        start: the winner that the base is; None if the base is the reference.
    """

    source: Subject
    base: Genotype
    reference: str
    start: Start | None = None

    @cached_property
    def written(self) -> Source:
        """The source that was compiled, in its files."""
        return self.source.parsed.changed(self.source.expansions(self.base))
