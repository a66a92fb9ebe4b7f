"""Cases of sw_naive: pairs of DNA sequences, related and not, the hard ones first.

A sequence is an array of base codes, A 0 to T 3, and 4 for an unknown base, which matches nothing.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]
Pair = tuple[Codes, Codes]
"""A reference and a query."""

UNKNOWN = 4

RELATED = 0.85
"""Share of the drawn pairs that have a stretch in common."""

CHANGED = 0.08
"""Share of a common stretch's bases that are replaced, left out or doubled."""


def case(
    seed: int,
    pairs: int,
    ref: Sequence[int],
    query: Sequence[int],
    scores: Sequence[int] = (3, 3, 6, 1),
) -> dict[str, np.ndarray | int]:
    """The buffers and scalars of one case.

    seed, pairs: which pairs, and how many; ref, query: shortest and longest length of references
    and of queries, bases; scores: of a match, and what a mismatch, the first and each further base
    of a gap cost.
    """
    rng = np.random.default_rng(seed)
    found = list(hard_pairs(ref[1], query[1], rng))[:pairs]
    found += [draw_pair(ref, query, rng) for _ in range(pairs - len(found))]
    return packed(found, scores)


def packed(pairs: Sequence[Pair], scores: Sequence[int]) -> dict[str, np.ndarray | int]:
    """The buffers and scalars that hold these pairs."""
    refs, queries = zip(*pairs, strict=True)
    match, mismatch, gap_open, gap_extend = scores
    return {
        "refs": np.concatenate(refs),
        "ref_starts": np.cumsum([0, *map(len, refs)], dtype=np.int32),
        "queries": np.concatenate(queries),
        "query_starts": np.cumsum([0, *map(len, queries)], dtype=np.int32),
        "n_pairs": len(pairs),
        "ref_bases": sum(map(len, refs)),
        "query_bases": sum(map(len, queries)),
        "most_ref": max(map(len, refs)),
        "most_query": max(map(len, queries)),
        "match": match,
        "mismatch": mismatch,
        "gap_open": gap_open,
        "gap_extend": gap_extend,
    }


def bases(count: int, rng: np.random.Generator) -> Codes:
    """Bases that are drawn."""
    return rng.integers(0, 4, count, dtype=np.uint8)


def alike(base: int, count: int) -> Codes:
    """One base all along."""
    return np.full(count, base, np.uint8)


def draw_pair(ref: Sequence[int], query: Sequence[int], rng: np.random.Generator) -> Pair:
    """A pair of lengths within the limits; most have a stretch in common that was changed."""
    first = bases(int(rng.integers(ref[0], ref[1] + 1)), rng)
    second = bases(int(rng.integers(query[0], query[1] + 1)), rng)
    if rng.random() < RELATED:
        least = min(first.size, second.size)
        common = int(rng.integers(least // 2, least + 1))
        at = int(rng.integers(0, first.size - common + 1))
        copy = changed(first[at : at + common], rng)[: second.size]
        into = int(rng.integers(0, second.size - copy.size + 1))
        second[into : into + copy.size] = copy
    return first, second


def changed(sequence: Codes, rng: np.random.Generator) -> Codes:
    """A copy with some bases replaced, some left out and some doubled, one to five at a time."""
    pieces, at = [], 0
    for place in np.flatnonzero(rng.random(sequence.size) < CHANGED).tolist():
        pieces.append(sequence[at:place])
        kind, count = rng.integers(0, 4), int(rng.integers(1, 6))
        at = place + 1
        if kind == 0:
            at = place + count
        elif kind == 1:
            pieces.append(np.repeat(sequence[place], count))
        else:
            pieces.append((sequence[place : place + 1] + rng.integers(1, 4, dtype=np.uint8)) % 4)
    return np.concatenate([*pieces, sequence[at:]])


def hard_pairs(refs: int, queries: int, rng: np.random.Generator) -> Iterator[Pair]:
    """Pairs that a draw hardly gives and a wrong shortcut fails on, within these lengths.

    Nothing matches, though the query would match itself; everything does, in many ways; longest
    with longest; of two bases only, so that many ways are as good and cross each other; one base
    alone; gaps in either sequence; ties in either; unknown bases; as many bases as a warp has
    threads, or one more.
    """
    least = min(refs, queries)
    longest = bases(max(refs, queries), rng)
    yield alike(0, refs), rng.integers(1, 4, queries, dtype=np.uint8)
    yield longest[:refs].copy(), longest[:queries].copy()
    yield longest[-refs:].copy(), longest[-queries:].copy()
    yield alike(2, refs), alike(2, queries // 2)
    for _ in range(2):
        yield rng.integers(0, 2, refs, dtype=np.uint8), rng.integers(0, 2, queries, dtype=np.uint8)
    yield alike(3, 1), np.array([1, 3, 0, 3], np.uint8)
    yield np.array([0, 2, 1, 2], np.uint8), alike(2, 1)
    unknown = bases(least, rng)
    unknown[least // 3] = UNKNOWN
    yield unknown, unknown.copy()
    whole = bases(least, rng)
    parted = np.delete(whole, slice(least // 2, least // 2 + 3))
    yield whole, parted
    yield parted, whole
    repeated = gap_of_a_repeat()
    yield repeated
    yield repeated[::-1]
    one, two = bases(5, rng), bases(5, rng)
    yield np.concatenate([one, alike(UNKNOWN, 4), two]), np.concatenate([two, one])
    yield np.concatenate([one, 3 - one]), np.concatenate([one, alike(UNKNOWN, 3)])
    for size in (31, 32, 33, 64, 65):
        if size <= queries:
            edge = bases(size, rng)
            yield edge[-refs:].copy(), edge


def gap_of_a_repeat() -> Pair:
    """A gap of six bases, of which the first four are those before it again.

    Inside the gap another alignment is better, but not by what it costs to open a gap.
    """
    before = np.array([0, 1, 2, 3, 0, 2], np.uint8)
    after = np.array([3, 3, 1, 0, 3, 1, 2, 0], np.uint8)
    inserted = np.concatenate([before[2:], alike(1, 2)])
    return np.concatenate([before, after]), np.concatenate([before, inserted, after])
