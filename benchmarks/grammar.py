"""Measure the front end, and mutation, rendering and hashing of individuals: part of ``make
bench``.

Converts a file of 1500 lines, made of renamed copies of a target's device code. Then makes, renders
and hashes individuals of a target: a chain of mutations, each under the configuration of its
parent, as in a search.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from gi_cuda.genome import Genotype, mutate
from gi_cuda.grammar import EDIT_SETS, Source, convert, read_source
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.subject import Subject, load_subject

ROOT = Path(__file__).parent.parent
LINES = 1500
LONGEST = 12


def long_source(path: Path, lines: int) -> Source:
    """Return a source with a number of lines: copies of the same functions, each renamed."""
    text = read_source(path).text
    names = [function.name for function in convert(Source(path.name, text)).functions]
    word = re.compile(rf"\b(?:{'|'.join(names)})\b")
    copies = []
    while sum(copy.count("\n") for copy in copies) < lines:
        number = len(copies)
        copies.append(word.sub(lambda match, n=number: f"{match[0]}_{n}", text))
    kept = "".join(copies).splitlines(keepends=True)[:lines]
    return Source(path.name, "".join(kept))


def median_seconds(action: object, repeats: int) -> float:
    """Return the median wall time of calling ``action``."""
    assert callable(action)
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def individuals(subject: Subject, number: int, seed: int) -> Iterator[Genotype]:
    """Yield genotypes as a search makes them: mutants of mutants, up to some length."""
    rng = random.Random(seed)
    genotype = subject.original
    for _ in range(number):
        parent = genotype if len(genotype.edits) < LONGEST else subject.original
        genotype = mutate(parent, subject.grammar, rng, PAPER) or subject.original
        yield genotype


def make_render_hash(subject: Subject, number: int, seed: int) -> float:
    """Return the seconds to make, render and hash one individual."""
    limits = {loop.ident: 100 for loop in subject.grammar.loops}
    begun = time.perf_counter()
    for genotype in individuals(subject, number, seed):
        subject.render(genotype, limits)
        subject.key(genotype)
    return (time.perf_counter() - begun) / number


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=ROOT / "targets" / "bwt_exact")
    parser.add_argument("--source", type=Path, default=ROOT / "targets" / "tissue_spread")
    parser.add_argument("--individuals", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    source = long_source(options.source / "kernel.cu", LINES)
    for name, types in EDIT_SETS.items():
        rules = len(convert(source, types=types).rules)
        seconds = median_seconds(lambda types=types: convert(source, types=types), 5)
        print(f"converting {LINES} lines to {rules} rules ({name}): {seconds * 1e3:.0f} ms")
    for name in EDIT_SETS:
        subject = load_subject(options.target, "host", edits=name)
        seconds = make_render_hash(subject, options.individuals, options.seed)
        print(
            f"making, rendering and hashing one individual of {subject.target.name} ({name}):"
            f" {seconds * 1e3:.3f} ms"
        )


if __name__ == "__main__":
    main()
