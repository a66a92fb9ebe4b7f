"""A target made ready for evolution: its grammar, its configuration space, its original."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import xxhash

from gi_cuda.errors import UserError
from gi_cuda.genome import Genetics, Genotype, Space, Variation, expansions, mutate
from gi_cuda.genome.variation import mutate_configuration
from gi_cuda.grammar import (
    EDIT_SETS,
    Expansion,
    Grammar,
    RuleType,
    Source,
    convert,
    in_force,
    instrument,
    read_files,
    read_grammar,
    render,
    rendered,
    write_bnf,
    write_scope,
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
)
from gi_cuda.spec.keys import keys_of
from gi_cuda.subject.diffs import files_diff, with_defaults


@dataclass(frozen=True)
class Subject(Genetics):
    """What is being evolved. Implements :class:`~gi_cuda.subject.protocol.Evolvable`.

    Attributes:
        target: the target as loaded.
        grammar: the rules of its source.
        space: its configuration space.
        backend: where it runs.
        edits: which rule types the grammar was asked for: ``paper`` or ``full``.
        grammar_files: the ``.bnf`` and ``.scope`` that the grammar was read from, if it was.
        level: what it is that evolves.
    """

    target: Target
    grammar: Grammar
    space: Space
    backend: str
    grammar_files: tuple[Path, ...] = ()
    edits: str = "paper"
    level: str = "source"

    @cached_property
    def fingerprint(self) -> str:
        """A 128-bit hash, in hexadecimal, of the grammar as its two files would say it."""
        text = write_bnf(self.grammar) + write_scope(self.grammar)
        return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogateescape"))

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant, or None where nothing can be changed."""
        return mutate(genotype, self.grammar, rng)

    @cached_property
    def device(self) -> Grammar:
        """The grammar of the device code alone: host functions and launches are blank."""
        return device_code(self.grammar)

    @property
    def reference(self) -> str:
        """The device code of the original."""
        return self.device.source.text

    @property
    def standard(self) -> Configuration:
        """The configuration of the reference: the default one."""
        return self.space.default

    @property
    def counting(self) -> str:
        """The same with every loop counting its iterations."""
        return instrument(self.device)

    def expansions(self, genotype: Genotype) -> dict[str, Expansion]:
        """What a genotype makes of each rule, without edits that its configuration makes void."""
        if not genotype.edits:
            return {}
        view = self.grammar.under(genotype.configuration.macros)
        return in_force(view, expansions(genotype.edits))

    def render(self, genotype: Genotype, limits: Mapping[int, int] | None) -> str:
        """A variant's device code; with loop guards where ``limits`` are given."""
        return render(self.device, self.expansions(genotype), limits)

    def rehearsal(self, genotype: Genotype, limits: Mapping[int, int]) -> None:
        """None: nothing keeps a source's accesses to memory from doing harm."""

    def upstream(self, genotype: Genotype) -> Source:
        """A variant's source, in its files, as a maintainer would adopt it.

        No loop guards; configuration values that differ are the source's new defaults.
        """
        changes: dict[str, str | None] = {}
        for name, value in genotype.configuration.changed.items():
            kind = self.kinds[name]
            if kind is ParameterKind.MACRO:
                changes[name] = str(value)
            elif kind is ParameterKind.FLAG:
                changes[name] = "1" if value else None
        return with_defaults(rendered(self.grammar, self.expansions(genotype)), changes)

    def device_text(self, source: Source) -> str:
        """The device code of a changed source, read from that very text."""
        return device_code(convert(source, self.target.kernels)).source.text

    def upstream_macros(self, genotype: Genotype) -> dict[str, str]:
        """What is still defined from outside when :meth:`upstream` is compiled."""
        changed = genotype.configuration.changed
        macros = self.macros(genotype.configuration)
        return {name: value for name, value in macros.items() if name not in changed}

    def diff(self, genotype: Genotype) -> str:
        """What :meth:`upstream` changes, as one diff of all files that ``git apply`` takes."""
        return files_diff(
            self.grammar.source.files, self.upstream(genotype).files, self.target.source
        )

    @cached_property
    def kinds(self) -> Mapping[str, ParameterKind]:
        """The kind of each parameter."""
        return {parameter.name: parameter.kind for parameter in self.target.parameters}

    def macros(self, configuration: Configuration) -> dict[str, str]:
        """What a configuration defines."""
        return macros(self.target, configuration)

    def options(self, configuration: Configuration) -> tuple[str, ...]:
        """What a configuration adds to the compiler's command line."""
        return compiler_options(self.target, configuration, self.backend)

    def cases(self, role: CaseRole) -> tuple[str, ...]:
        """Names of the cases of one role on this back end."""
        return tuple(case.name for case in cases_for(self.target, self.backend, role))

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

    def launch_values(self, configuration: Configuration) -> str:
        """The values that decide launches and buffers, as text: part of a phenotype."""
        return " ".join(f"{name}={configuration[name]}" for name in self._launch_names)


@dataclass(frozen=True, slots=True)
class Tuning:
    """A subject of which the configuration alone varies: what a tuner would do with it."""

    subject: Variation

    @property
    def original(self) -> Genotype:
        """What varies at first."""
        return self.subject.original

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant with another value; None where there is no other value."""
        configuration = mutate_configuration(genotype.configuration, rng)
        return None if configuration is None else Genotype(configuration, genotype.edits)

    def crossover(self, first: Genotype, second: Genotype, rng: random.Random) -> Genotype | None:
        """A child of two, or None where there is none."""
        return self.subject.crossover(first, second, rng)

    def key(self, genotype: Genotype) -> bytes:
        """The genotypic tabu key."""
        return self.subject.key(genotype)

    def read(self, text: str) -> Genotype:
        """The genotype that a text in notation stands for."""
        return self.subject.read(text)


def device_code(grammar: Grammar) -> Grammar:
    """The same grammar over a source whose host-only code is blank, line for line."""
    text = grammar.source.text
    for start, end in grammar.host_spans:
        text = text[:start] + _VISIBLE.sub(" ", text[start:end]) + text[end:]
    return replace(grammar, source=replace(grammar.source, text=text))


_VISIBLE = re.compile(r"[^\r\n]")


def load_subject(
    path: Path,
    backend: str,
    *,
    bnf: Path | None = None,
    scope: Path | None = None,
    edits: str = "paper",
) -> Subject:
    """Load a target and its grammar.

    Args:
        path: the target's folder or its ``target.toml``.
        backend: ``host`` or ``cuda``.
        bnf, scope: a grammar edited by hand, to be used in place of the converted one.
        edits: a name of :data:`gi_cuda.grammar.EDIT_SETS`.

    Raises:
        UserError: whatever is wrong with the target, the source or the grammar files.
    """
    target = load_target(path)
    source = read_files(target.source, target.headers, target.build.include).source
    if (bnf is None) != (scope is None):
        raise UserError(
            "a grammar is two files, and only one was given",
            hint="give both --bnf and --scope; `gi-cuda convert` writes them",
        )
    if bnf is not None and scope is not None:
        grammar = _read_grammar(source, bnf, scope, target, EDIT_SETS[edits])
        files: tuple[Path, ...] = (bnf.resolve(), scope.resolve())
    else:
        grammar, files = _converted(source, target, EDIT_SETS[edits]), ()
    return Subject(target, grammar, Space.from_target(target, backend), backend, files, edits)


def _converted(source: Source, target: Target, types: frozenset[RuleType]) -> Grammar:
    try:
        return convert(source, target.kernels, types)
    except UserError as error:
        if error.where != source.name:
            raise
        # It is about the kernels that the target names.
        where = keys_of(target).at(("target", "kernels"))
        raise UserError(f"{source.name}: {error.what}", where=where, hint=error.hint) from None


def _read_grammar(
    source: Source, bnf: Path, scope: Path, target: Target, types: frozenset[RuleType]
) -> Grammar:
    texts = []
    for path in (bnf, scope):
        try:
            texts.append(path.read_text(encoding="utf-8", errors="surrogateescape"))
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    called = (str(bnf), str(scope))
    return read_grammar(source, texts[0], texts[1], target.kernels, types, called)
