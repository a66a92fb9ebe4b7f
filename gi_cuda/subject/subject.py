"""A target made ready for evolution: its program, its configuration space, its original."""

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
    front_end,
    only_tested,
)
from gi_cuda.spec import (
    CaseRole,
    Configuration,
    ParameterKind,
    Target,
    cases_for,
    compiler_options,
    load_target,
    macros,
    usual_arguments,
)
from gi_cuda.spec.load import keys_of
from gi_cuda.subject.definitions import Definitions, read_definitions
from gi_cuda.subject.diffs import files_diff, text_diff, with_defaults
from gi_cuda.subject.idea import Idea, donors
from gi_cuda.subject.start import Start

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Subject:
    """What is being evolved: source, or what a compiler makes of source.

    Attributes:
        target: the target as loaded.
        front_end: the language of what evolves.
        parsed: what evolves.
        space: the configurations that there are.
        backend: where it runs.
        edits: which set of rule types was asked for.
        grammar_files: the files that the grammar was read from, if it was.
        compiled: where what evolves comes from; None where it is the target's source itself.
        untested: what a search leaves alone, as far as that is known.
        idle: types of rules that it leaves alone, since they make nothing faster on the back end.
        ideas: patches of others, whose hunks are rules too.
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
        """The same with other ideas.

        Raises:
            UserError: it is no source, or its grammar was edited by hand.
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
        """The rules of what evolves."""
        return self.parsed.grammar

    @cached_property
    def offered(self) -> Rules:
        """The same with what a search may do to them: what some case tests, what leaves no local
        unset, and what may make something faster."""
        return only_tested(self.grammar, self.untested, self.parsed.needed(), self.idle)

    @property
    def level(self) -> str:
        """The level at which it evolves."""
        return self.front_end.level

    @property
    def source(self) -> Subject:
        """The source itself, or that which the text was compiled from."""
        return self.compiled.source if self.compiled else self

    @cached_property
    def fingerprint(self) -> str:
        """A 128-bit hash, in hexadecimal, of the grammar."""
        started = self.compiled is not None and self.compiled.start is not None
        text = self.parsed.identity((self.reference,) if started else ())
        return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogateescape"))

    # -- its genotypes --------------------------------------------------------------------------

    @cached_property
    def original(self) -> Genotype:
        """The genotype without changes: of the reference, unless the evolution started from another
        one."""
        return Genotype(self.space.default)

    @cached_property
    def order(self) -> Mapping[str, int]:
        """Position of each rule in the grammar."""
        return rule_order(self.grammar.rules)

    def key(self, genotype: Genotype) -> bytes:
        """The genotypic tabu key."""
        return key(genotype, self.order)

    def read(self, text: str) -> Genotype:
        """The genotype that a text in notation stands for."""
        return read_genotype(text, self.space, self.grammar)

    def starting(self, start: Start) -> Genotype:
        """The genotype that a start is at this level.

        Raises:
            UserError: of source: it is no genotype of this grammar.
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
        """The text of the target's unmodified source, beside which variants are timed."""
        return self.compiled.reference if self.compiled else self.parsed.text

    @property
    def standard(self) -> Configuration:
        """The configuration of the reference: the target's default one."""
        return self.source.space.default

    def expansions(self, genotype: Genotype) -> Mapping[str, Expansion]:
        """What a genotype makes of each rule, without edits that its configuration makes void."""
        if not genotype.edits:
            return {}
        return self.parsed.in_force(expansions(genotype.edits), genotype.configuration.macros)

    def configured(self, genotype: Genotype) -> Configuration:
        """A genotype's configuration, with launches as its transformations change them."""
        return genotype.configuration.shaped(self.parsed.shape(self.expansions(genotype)))

    def render(self, genotype: Genotype, limits: Mapping[int, int] | None) -> str:
        """A variant's text; with loop guards where ``limits`` are given."""
        return self.parsed.render(self.expansions(genotype), limits)

    def diff(self, genotype: Genotype) -> str:
        """What a genotype changes, as a unified diff; of source one that ``git apply`` takes."""
        return self.difference(self.original, genotype)

    def difference(self, before: Genotype, after: Genotype) -> str:
        """What lies between two genotypes, as a unified diff."""
        if self.compiled:
            name = self.grammar.source.name
            return text_diff(self.render(before, None), self.render(after, None), name)
        files = self.upstream(before).files
        return files_diff(files, self.upstream(after).files, self.target.source)

    # -- what a maintainer would adopt, of source -------------------------------------------------

    def upstream(self, genotype: Genotype) -> Source:
        """A variant's source, in its files, as a maintainer would adopt it.

        No loop guards; configuration values that differ are the source's new defaults, but for
        those of which it knows nothing.
        """
        configuration = genotype.configuration
        macros = self.macros(configuration)
        changes: dict[str, str | None] = {}
        for name in configuration.changed:
            if name in self.launch_only or self.kinds[name] is ParameterKind.OPTION:
                continue
            changes[name] = macros.get(name)
        # What counts only beside the new values has to say what was measured, too.
        also = {name: macros[name] for name in self.definitions if name not in changes}
        kept = {name: one.kept(configuration[name]) for name, one in self.definitions.items()}
        known = {n: v for n, v in self.target.build.define.items() if n not in changes}
        source = self.parsed.changed(self.expansions(genotype))
        return with_defaults(source, changes, also, known, kept)

    def upstream_macros(self, genotype: Genotype) -> dict[str, str]:
        """What is still defined from outside when :meth:`upstream` is compiled."""
        changed = genotype.configuration.changed
        macros = self.macros(genotype.configuration)
        return {name: value for name, value in macros.items() if name not in changed}

    def device_text(self, source: Source) -> str:
        """A changed source as it is compiled, read from that very text."""
        return self.front_end.read(source, Wanted(self.target.kernels)).text

    @cached_property
    def kinds(self) -> Mapping[str, ParameterKind]:
        """The kind of each parameter."""
        return {parameter.name: parameter.kind for parameter in self.target.parameters}

    # -- how variants are compiled and launched ---------------------------------------------------

    def macros(self, configuration: Configuration) -> dict[str, str]:
        """What a configuration defines when a variant's text is compiled."""
        if self.compiled:
            return {}
        written = {name: one.written(configuration[name]) for name, one in self.definitions.items()}
        return {**macros(self.target, configuration), **written}

    @cached_property
    def definitions(self) -> Mapping[str, Definitions]:
        """How the source defines the parameters that are macros with a value, or constants."""
        if self.compiled:
            return {}
        return read_definitions(self.grammar.source.text, self.target, self.space.default)

    @cached_property
    def in_place(self) -> Mapping[str, frozenset[str]]:
        """The parameters whose values stand where the source has its own, with what of its
        definitions stays as it is."""
        return {name: one.others for name, one in self.definitions.items() if one.in_place}

    def options(self, configuration: Configuration) -> tuple[str, ...]:
        """What a configuration adds to the compiler's command line."""
        return compiler_options(self.target, configuration, self.backend)

    def cases(self, role: CaseRole) -> tuple[str, ...]:
        """Names of the cases of one role on this back end."""
        return tuple(case.name for case in cases_for(self.target, self.backend, role))

    @property
    def all_cases(self) -> tuple[str, ...]:
        """Names of the train and held-out cases on this back end."""
        return (*self.cases(CaseRole.TRAIN), *self.cases(CaseRole.HELD_OUT))

    @property
    def timed_cases(self) -> tuple[str, ...]:
        """Names of the train cases on this back end that are timed."""
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
        """The parameters that only launches and sizes use, and no file of the source."""
        words = frozenset(_WORD.findall(self.grammar.source.text))
        return frozenset(name for name in self._launch_names if name not in words)

    def launch_values(self, configuration: Configuration) -> str:
        """The values that decide launches and buffers, as text: part of a phenotype."""
        shape = [name for name in configuration if name not in self.space.index]
        return " ".join(f"{name}={configuration[name]}" for name in (*self._launch_names, *shape))


@dataclass(frozen=True)
class Compiled:
    """Where a text comes from that a compiler made of a target's source.

    What varies at first and what variants are timed beside are two texts where a winner of the
    source is what the evolution starts from; the reference is the target's own all the same.

    Attributes:
        source: the target's source.
        base: its genotype that evolves.
        reference: what the compiler makes of the unmodified source in the default configuration.
        start: where the base comes from; None where it is the reference's.
    """

    source: Subject
    base: Genotype
    reference: str
    start: Start | None = None

    @cached_property
    def written(self) -> Source:
        """The source that the text was made of, in its files."""
        return self.source.parsed.changed(self.source.expansions(self.base))


def load_subject(
    path: Path,
    backend: str,
    *,
    bnf: Path | None = None,
    scope: Path | None = None,
    edits: str = "paper",
) -> Subject:
    """Load a target's source and its grammar.

    Args:
        path: the target's folder or its ``target.toml``.
        backend: ``host`` or ``cuda``.
        bnf, scope: a grammar edited by hand, to be used in place of the converted one.
        edits: a name of :data:`gi_cuda.grammar.EDIT_SETS`.

    Raises:
        UserError: whatever is wrong with the target, the source or the grammar files.
    """
    return subject_of(load_target(path), backend, bnf=bnf, scope=scope, edits=edits)


def subject_of(
    target: Target,
    backend: str,
    *,
    bnf: Path | None = None,
    scope: Path | None = None,
    edits: str = "paper",
) -> Subject:
    """Read the source of a target and its grammar; arguments and errors are those of
    :func:`load_subject`."""
    language = front_end("source", target.source.suffix)
    assert language.load is not None, "no compiler makes a target's source"
    source = language.load(target.source, target.headers, target.build.include)
    constants = (one.name for one in target.parameters if one.kind is ParameterKind.CONSTANT)
    source = replace(source, usual=usual_arguments(target), varied=frozenset(constants))
    if (bnf is None) != (scope is None):
        raise UserError(
            "a grammar is two files, and only one was given",
            hint="give both --bnf and --scope; `gi-cuda convert` writes them",
        )
    kernels, types = target.kernels, EDIT_SETS[edits]
    if bnf is not None and scope is not None:
        wanted = Wanted(kernels, types, None, (_text(bnf), _text(scope)), (str(bnf), str(scope)))
        program = language.read(source, wanted)
    else:
        program = _converted(language, source, target, Wanted(kernels, types))
    space = Space.from_target(target, backend)
    files = tuple(file.resolve() for file in (bnf, scope) if file is not None)
    return Subject(target, language, program, space, backend, edits, files)


def _converted(language: FrontEnd, source: Source, target: Target, wanted: Wanted) -> ParsedText:
    try:
        return language.read(source, wanted)
    except UserError as error:
        if error.where != source.name:
            raise
        # It is about the kernels that the target names.
        where = keys_of(target).at(("target", "kernels"))
        raise UserError(f"{source.name}: {error.what}", where=where, hint=error.hint) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
