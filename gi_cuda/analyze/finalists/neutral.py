"""Remove neutral changes from individuals: those that do not affect the machine code.

A search accumulates neutral changes, because they cost nothing. But a maintainer has to read them,
and a check of a winner may object to one. Without them the machine code and the launches are the
same, so all measurements stay valid. In contrast, GEVO's algorithm 1
(:mod:`gi_cuda.analyze.minimizing.minimize`) measures, and also drops changes that gain too little.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.evaluate.candidates import build_candidates, candidate
from gi_cuda.genome import Changed, Genotype
from gi_cuda.subject import Subject

_Made: TypeAlias = tuple[bytes, str]
"""Key of the machine code, and the values that determine launches."""


def without_neutral(
    subject: Subject, compiler: Compiler, genotypes: Sequence[Genotype], folder: Path
) -> list[Genotype]:
    """Remove the neutral changes of each genotype.

    A change is neutral if machine code and launches are the same without it. All changes that are
    neutral one by one are removed. If they are not neutral together, the longest neutral prefix of
    them is removed.

    Args:
        subject: the subject of the genotypes.
        compiler: compiler of the back end; if it gives no keys of machine code, nothing is removed.
        genotypes: the genotypes.
        folder: folder for binaries.
    """
    every = [Changed.of(one, subject.original, subject.order) for one in genotypes]

    def made(parts: Iterable[tuple[Changed, Collection[int]]]) -> list[_Made | None]:
        """Compile subsets of changes in one batch; return machine code and launches of each."""
        some = [one.having(left) for one, left in parts]
        fit = [one for one in some if subject.space.allows(one.configuration)]
        candidates = [candidate(subject, one) for one in fit]
        known = dict[Genotype, _Made]()
        built = build_candidates(compiler, candidates, folder)
        for one, made_of, binary in zip(fit, candidates, built, strict=True):
            if not isinstance(binary, BuildFailure) and binary.code_key is not None:
                known[one] = binary.code_key, subject.launch_values(made_of.configuration)
        return [known.get(one) for one in some]

    singles = [(at, n) for at, one in enumerate(every) for n in sorted(one.all)]
    parts = [(every[at], every[at].all - {n}) for at, n in singles]
    found = made([*((one, one.all) for one in every), *parts])
    whole, alone = found[: len(every)], found[len(every) :]
    neutral: list[list[int]] = [[] for _ in every]
    for (at, number), one in zip(singles, alone, strict=True):
        if one is not None and one == whole[at]:
            neutral[at].append(number)
    left = [one.all for one in every]
    firsts = [(at, n) for at, some in enumerate(neutral) for n in range(1, len(some) + 1)]
    together = made((every[at], every[at].all.difference(neutral[at][:n])) for at, n in firsts)
    for (at, number), one in zip(firsts, together, strict=True):
        if one == whole[at]:
            left[at] = every[at].all.difference(neutral[at][:number])
    return [one.having(some) for one, some in zip(every, left, strict=True)]
