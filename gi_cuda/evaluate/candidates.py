"""Candidates: source texts of a subject with all that is needed to compile and run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.variants import Binary, Built, Compiler, Variant
from gi_cuda.genome import Genotype
from gi_cuda.spec import Configuration
from gi_cuda.spec.launching.own_launches import OwnLaunches
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source to measure: it is compiled with its macros and launched by its configuration.

    Attributes:
        text: the source.
        options: compiler options of its configuration.
        compiler: compiler for this candidate; None for the measurement's own compiler.
        binary: an existing binary; then nothing is compiled.
        own: subject with another source and other launches, if it is not a variant of the source
            that it is measured beside.
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
        """Key that equal texts with equal configurations share.

        None if the candidate has its own binary or compiler.
        """
        if self.binary is not None or self.compiler is not None:
            return None
        own = self.own and (self.own.target.source, self.launches)
        return self.text, own, *sorted(self.configuration.items())

    @property
    def launches(self) -> OwnLaunches | None:
        """Its own launches; None if they are the target's."""
        target = self.own and self.own.target
        return OwnLaunches(target.launches, target.scalars) if target else None

    def compiled_by(self, compiler: Compiler) -> Compiler:
        """Return the compiler for this candidate, given the measurement's own compiler."""
        if self.compiler is not None:
            return self.compiler
        return compiler if self.own is None else compiler.of_subject(self.own)

    def variant(self, ident: int) -> Variant:
        """Return the input for a compiler, with a number."""
        return Variant(ident, self.text, self.macros, self.options)

    def program(self, binary: Binary, cases: Sequence[str]) -> Program:
        """Return the program that runs its binary on some cases."""
        return Program(binary, dict(self.configuration), tuple(cases), self.launches)


def as_candidate(subject: Subject, text: str, configuration: Configuration) -> Candidate:
    """Return a text under a configuration of a subject."""
    macros, options = subject.macros(configuration), subject.options(configuration)
    return Candidate(text, configuration, macros, options)


def candidate(
    subject: Subject, genotype: Genotype, limits: Mapping[int, int] | None = None
) -> Candidate:
    """Return an individual as a candidate.

    Args:
        limits: iteration limits, which guard its loops; None for the text that a maintainer would
            get.
    """
    return as_candidate(subject, subject.render(genotype, limits), subject.configured(genotype))


def unmodified(subject: Subject) -> Candidate:
    """Return the reference: the unmodified source in the default configuration."""
    return as_candidate(subject, subject.reference, subject.standard)


def build_candidates(
    compiler: Compiler, candidates: Sequence[Candidate], folder: Path
) -> list[Built]:
    """Compile candidates, those with the same compiler as one batch.

    Args:
        compiler: for candidates that name none.
        folder: for binaries.
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
