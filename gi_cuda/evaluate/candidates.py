"""Texts of a subject as they are compiled and run: where variants and programs are made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.variants import Binary, Built, Compiler, Variant
from gi_cuda.genome import Genotype
from gi_cuda.spec import Configuration
from gi_cuda.spec.own_launches import OwnLaunches
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source to be measured: compiled with its macros, launched as its configuration says.

    Attributes:
        text: the source.
        options: what its configuration adds to the compiler's command line.
        compiler: what makes a binary of it; None: the compiler of those it is measured with.
        binary: what has been made of it elsewhere; then nothing is compiled.
        own: a subject of its own source and launches, where it is no variant of the source that it
            is measured beside.
    """

    text: str
    configuration: Configuration
    macros: Mapping[str, str]
    options: tuple[str, ...] = ()
    compiler: Compiler | None = None
    binary: Binary | None = None
    own: Subject | None = None

    @property
    def key(self) -> tuple[object, ...] | None:
        """What is equal where text and configuration are; None where others made something of it,
        or are to."""
        if self.binary is not None or self.compiler is not None:
            return None
        own = self.own and (self.own.target.source, self.launches)
        return self.text, own, *sorted(self.configuration.items())

    @property
    def launches(self) -> OwnLaunches | None:
        """Its launches, where they are not the target's."""
        target = self.own and self.own.target
        return OwnLaunches(target.launches, target.scalars) if target else None

    def compiled_by(self, compiler: Compiler) -> Compiler:
        """The compiler that makes a binary of it, where others are compiled by one."""
        if self.compiler is not None:
            return self.compiler
        return compiler if self.own is None else compiler.of_subject(self.own)

    def variant(self, ident: int) -> Variant:
        """What a compiler is given, under a number."""
        return Variant(ident, self.text, self.macros, self.options)

    def program(self, binary: Binary, cases: Sequence[str]) -> Program:
        """How its binary runs some cases."""
        return Program(binary, dict(self.configuration), tuple(cases), self.launches)


def as_candidate(subject: Subject, text: str, configuration: Configuration) -> Candidate:
    """A text under a configuration of a subject."""
    macros, options = subject.macros(configuration), subject.options(configuration)
    return Candidate(text, configuration, macros, options)


def candidate(
    subject: Subject, genotype: Genotype, limits: Mapping[int, int] | None = None
) -> Candidate:
    """An individual; without ``limits``, which guard its loops, as a maintainer would get it."""
    return as_candidate(subject, subject.render(genotype, limits), subject.configured(genotype))


def unmodified(subject: Subject) -> Candidate:
    """The reference: the unmodified source in the default configuration."""
    return as_candidate(subject, subject.reference, subject.standard)


def build_candidates(
    compiler: Compiler, candidates: Sequence[Candidate], folder: Path
) -> list[Built]:
    """What became of each; those of one compiler are one batch.

    Args:
        compiler: of those that name none.
        folder: where binaries may be written.
    """
    built: dict[int, Built] = {}
    batches: dict[object, tuple[Compiler, list[Variant]]] = {}
    for at, one in enumerate(candidates):
        if one.binary is not None:
            built[at] = replace(one.binary, ident=at)
            continue
        source = one.own and one.own.target.source
        by = one.compiler or source
        if by not in batches:
            batches[by] = one.compiled_by(compiler).apart(), []
        batches[by][1].append(one.variant(at))
    for number, (by, variants) in enumerate(batches.values()):
        built.update(build_batch(by, variants, folder / str(number) if number else folder))
    return [built[at] for at in range(len(candidates))]
