"""Random variants of a target, and the share of them that compiles."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler, Phenotype, Variant
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.reference.complaints import does_not_compile
from gi_cuda.genome import Configuration, Genotype
from gi_cuda.genome.variation import draw_edit, mutate_configuration
from gi_cuda.grammar import RuleType
from gi_cuda.grammar.rule_types import type_of
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.subject import Subject

_REFERENCE = 0
_BATCH = 1000
_QUOTED = re.compile(r"[‘'\"“][^’'\"”]*[’'\"”]")
_PLACE = re.compile(r"^[^\s:]+:\d+: ")
_CONFIGURED = 8
"""Number of mutations that lead from the default to a random configuration."""


@dataclass(frozen=True, slots=True)
class Trials:
    """The results of compiling random variants.

    Attributes:
        drawn: number of variants.
        tried: variants without duplicates, which a tabu list would skip.
        failed: first message of the compiler, by position in ``tried``.
    """

    drawn: int
    tried: tuple[Genotype, ...]
    failed: dict[int, str]

    @property
    def rate(self) -> float:
        """The share of variants that compile; 1 if none was tried."""
        return 1 - len(self.failed) / len(self.tried) if self.tried else 1.0

    def by_type(self) -> dict[RuleType, tuple[int, int]]:
        """Return, by rule type, the number of variants that edit this type and the number that
        fail.
        """
        tried: Counter[RuleType] = Counter()
        failed: Counter[RuleType] = Counter()
        for k, genotype in enumerate(self.tried):
            places = [step.place for edit in genotype.edits for step in edit.steps]
            for kind in {found for place in places if (found := type_of(place)) is not None}:
                tried[kind] += 1
                failed[kind] += k in self.failed
        return {kind: (tried[kind], failed[kind]) for kind in RuleType if tried[kind]}

    def by_error(self) -> dict[str, list[Genotype]]:
        """Return failed variants by message, most frequent first; messages omit places and
        names.
        """
        found: dict[str, list[Genotype]] = {}
        for k, text in self.failed.items():
            plain = _QUOTED.sub("…", _PLACE.sub("", text))
            found.setdefault(plain, []).append(self.tried[k])
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def draw(
    subject: Subject, number: int, at_once: int, seed: int, *, configured: bool = False
) -> Iterator[Genotype]:
    """Yield random variants with ``at_once`` edits each, drawn as a search draws them.

    Args:
        configured: use a random configuration for each variant, not the default.
    """
    rng = random.Random(seed)
    for _ in range(number):
        genotype = subject.original
        if configured:
            genotype = Genotype(_any_configuration(genotype.configuration, rng))
        for _ in range(at_once):
            edit = draw_edit(genotype, subject.grammar, rng)
            if edit is not None:
                genotype = Genotype(genotype.configuration, (*genotype.edits, edit))
        yield genotype


def _any_configuration(configuration: Configuration, rng: random.Random) -> Configuration:
    for _ in range(_CONFIGURED):
        configuration = mutate_configuration(configuration, rng, PAPER) or configuration
    return configuration


def try_out(
    subject: Subject, compiler: Compiler, genotypes: Sequence[Genotype], folder: Path
) -> Trials:
    """Compile variants, except duplicates of each other and of the reference.

    Raises:
        UserError: the reference itself does not compile.
    """
    known = {subject.key(subject.original)}
    tried: list[Genotype] = []
    failed: dict[int, str] = {}
    phenotypes: set[bytes] = set()
    _check_reference(subject, compiler, folder)
    for first in range(0, len(genotypes), _BATCH):
        fresh = []
        for genotype in genotypes[first : first + _BATCH]:
            key = subject.key(genotype)
            if key not in known:
                known.add(key)
                fresh.append(genotype)
        variants = {k: _variant(subject, k, g) for k, g in enumerate(fresh, _REFERENCE + 1)}
        reference = _variant(subject, _REFERENCE, subject.original)
        read = compiler.preprocess([reference, *variants.values()])
        same = read[_REFERENCE]
        assert isinstance(same, Phenotype)
        phenotypes.add(same.key)
        ready: dict[int, Phenotype] = {}
        for k in variants:
            phenotype = read[k]
            if isinstance(phenotype, BuildFailure):
                failed[len(tried)] = phenotype.message
                tried.append(fresh[k - 1])
            elif phenotype.key not in phenotypes:
                phenotypes.add(phenotype.key)
                ready[k] = phenotype
        place = {k: len(tried) + n for n, k in enumerate(ready)}
        tried += [fresh[k - 1] for k in ready]
        for built in compiler.compile(list(ready.values()), folder / str(first)):
            if isinstance(built, BuildFailure):
                failed[place[built.ident]] = built.message
    return Trials(len(genotypes), tuple(tried), failed)


def _check_reference(subject: Subject, compiler: Compiler, folder: Path) -> None:
    reference = _variant(subject, _REFERENCE, subject.original)
    built = build_batch(compiler, [reference], folder / "reference")[_REFERENCE]
    if isinstance(built, BuildFailure):
        raise does_not_compile(subject, built.message)


def _variant(subject: Subject, ident: int, genotype: Genotype) -> Variant:
    limits = {loop.ident: 1000 for loop in subject.grammar.loops}
    return candidate(subject, genotype, limits).variant(ident)
