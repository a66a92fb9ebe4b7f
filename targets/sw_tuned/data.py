"""Cases of sw_tuned: pairs of DNA sequences that share a stretch, and pairs that are hard to align.

A sequence is an array of base codes: A 0, C 1, G 2, T 3; 4 is an unknown base, which matches
nothing. The sequences of a case lie one after the other; sequence p is at starts[p] up to
starts[p + 1].
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]
Drawn = tuple[Codes, Codes]

UNKNOWN = 4

SUBSTITUTED = 0.05
GAPS = 0.02
LONGEST_GAP = 9
UNRELATED_SHARE = 0.06
REPEATED_SHARE = 0.06
UNKNOWN_SHARE = 0.04

# Lengths at which a warp is just full, or a base over.
EDGES = (31, 32, 33, 63, 64, 65)


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

    The first pairs are not drawn but the hard ones of `corner_pairs`.
    """
    rng = np.random.default_rng(seed)
    found = corner_pairs(ref, query, rng)[:pairs]
    found += [draw_pair(ref, query, rng) for _ in range(pairs - len(found))]
    return packed(found, scores)


def packed(pairs: Sequence[Drawn], scores: Sequence[int]) -> dict[str, np.ndarray | int]:
    """The buffers and scalars that hold these pairs of reference and query."""
    refs, queries = zip(*pairs, strict=True)
    match, mismatch, gap_open, gap_extend = scores
    return {
        "refs": np.concatenate(refs),
        "ref_starts": starts(refs),
        "queries": np.concatenate(queries),
        "query_starts": starts(queries),
        "n_pairs": len(pairs),
        "ref_bases": sum(map(len, refs)),
        "query_bases": sum(map(len, queries)),
        "most_short": max(min(len(r), len(q)) for r, q in pairs),
        "most_long": max(max(len(r), len(q)) for r, q in pairs),
        "match": match,
        "mismatch": mismatch,
        "gap_open": gap_open,
        "gap_extend": gap_extend,
    }


def starts(sequences: Sequence[Codes]) -> NDArray[np.int32]:
    """Where each sequence starts, and where the last one ends."""
    return np.cumsum([0, *map(len, sequences)], dtype=np.int32)


def draw_pair(ref: Sequence[int], query: Sequence[int], rng: np.random.Generator) -> Drawn:
    """A reference and a query of lengths within the limits.

    The shorter one has a stretch of the longer one, with substitutions and gaps, between bases
    that have nothing to do with it. Some pairs share nothing, some are repeats of a few bases,
    some have unknown bases.
    """
    sizes = [int(rng.integers(low, high + 1)) for low, high in (ref, query)]
    least, most = sorted(sizes)
    kind = rng.random()
    if kind < REPEATED_SHARE:
        unit = bases(int(rng.integers(1, 5)), rng)
        longer, shorter = np.resize(unit, most), np.resize(unit, least)
    else:
        longer = bases(most, rng)
        shorter = bases(least, rng)
    if kind >= REPEATED_SHARE + UNRELATED_SHARE:
        copied = int(rng.integers((least + 1) // 2, least + 1))
        at = int(rng.integers(0, most - copied + 1))
        copy = mutated(longer[at : at + copied], rng)[:least]
        into = int(rng.integers(0, least - copy.size + 1))
        shorter[into : into + copy.size] = copy
    if kind > 1 - UNKNOWN_SHARE:
        for sequence in (longer, shorter):
            sequence[rng.integers(0, sequence.size, 3)] = UNKNOWN
    return (longer, shorter) if sizes[0] >= sizes[1] else (shorter, longer)


def bases(count: int, rng: np.random.Generator) -> Codes:
    """Bases that are drawn."""
    return rng.integers(0, 4, count, dtype=np.uint8)


def mutated(sequence: Codes, rng: np.random.Generator) -> Codes:
    """The sequence with substitutions, and with stretches left out or put in."""
    changed = sequence.copy()
    where = np.flatnonzero(rng.random(changed.size) < SUBSTITUTED)
    changed[where] = (changed[where] + rng.integers(1, 4, where.size)) % 4
    places = np.flatnonzero(rng.random(changed.size) < GAPS)
    gaps = rng.integers(1, LONGEST_GAP + 1, places.size)
    left_out = rng.random(places.size) < 0.5
    pieces, done = [], 0
    for at, gap, out in zip(places.tolist(), gaps.tolist(), left_out.tolist(), strict=True):
        if at < done:
            continue
        pieces.append(changed[done:at])
        done = at + gap if out else at
        if not out:
            pieces.append(bases(gap, rng))
    return np.concatenate([*pieces, changed[done:]])


def corner_pairs(ref: Sequence[int], query: Sequence[int], rng: np.random.Generator) -> list[Drawn]:
    """The pairs that a draw is unlikely to give, where a wrong shortcut would show.

    Those where lengths matter are left out where the limits do not allow them.
    """
    least = min(ref[1], query[1])
    most = max(ref[1], query[1])
    pairs = [
        (filled(0, ref[0]), filled(1, query[0])),
        *same_with_an_unknown(ref[1], query[1], rng),
        (filled(2, ref[0]), filled(2, query[0])),
        (filled(1, ref[1]), filled(1, 1)),
        (filled(3, 1), np.array([0, 3, 1, 3], np.uint8)),
        after_what_does_not_match(rng),
        *with_gaps(rng),
        *as_good_as_each_other(rng),
    ]
    if least >= 42 and most >= 66:
        pairs.append(gap_over_the_edge_of_a_warp(ref[1] >= query[1], rng))
    pairs += [edge_pair(size, ref[1], query[1], rng) for size in EDGES if size <= least]
    return pairs


def filled(base: int, count: int) -> Codes:
    """The same base all along."""
    return np.full(count, base, np.uint8)


def same_with_an_unknown(refs: int, queries: int, rng: np.random.Generator) -> list[Drawn]:
    """Two sequences of these lengths that start alike, both with an unknown base at one place."""
    longer = bases(max(refs, queries), rng)
    longer[min(refs, queries) // 3] = UNKNOWN
    return [(longer[:refs].copy(), longer[:queries].copy())]


def after_what_does_not_match(rng: np.random.Generator) -> Drawn:
    """What matches begins in the middle of both."""
    same = bases(8, rng)
    return np.concatenate([filled(0, 9), same]), np.concatenate([filled(1, 7), same])


def with_gaps(rng: np.random.Generator) -> list[Drawn]:
    """Gaps of four and five bases, in the longer sequence and in the shorter one, either role."""
    left, right = bases(14, rng), bases(8, rng)
    joined = np.concatenate([left, right])
    parted = np.concatenate([left, bases(5, rng), right])
    inserted = np.concatenate([left, bases(4, rng), right])
    after = np.concatenate([bases(8, rng), joined])
    return [(parted, joined), (joined, parted), (after, inserted), (inserted, after)]


def as_good_as_each_other(rng: np.random.Generator) -> list[Drawn]:
    """Two equally good places, in the reference, in the query, and in both, there crosswise."""
    one, two = bases(6, rng), bases(6, rng)
    around = np.concatenate([filled(UNKNOWN, 9), one, filled(UNKNOWN, 9)])
    twice = np.concatenate([one, 3 - one, one])
    between = filled(UNKNOWN, 3)
    straight, crossed = (
        np.concatenate([first, between, second]) for first, second in ((one, two), (two, one))
    )
    return [(around, twice), (twice, around), (straight, crossed)]


def gap_over_the_edge_of_a_warp(longer_ref: bool, rng: np.random.Generator) -> Drawn:
    """A gap from the last threads of one warp to the first of the next, while all are at work."""
    left, right = bases(30, rng), bases(8, rng)
    shorter = np.concatenate([left, bases(4, rng), right])
    longer = np.concatenate([left, right, bases(28, rng)])
    return (longer, shorter) if longer_ref else (shorter, longer)


def edge_pair(size: int, refs: int, queries: int, rng: np.random.Generator) -> Drawn:
    """The shorter sequence is `size` long and starts the longer one; odd sizes are references.

    Where it takes one thread of a further warp, that thread is still at work when the alignment
    gets there.
    """
    room = size + 6 if size % 32 == 1 else 7
    longer = bases(min(queries if size % 2 else refs, size + room), rng)
    shorter = longer[:size].copy()
    shorter[size // 2] = (shorter[size // 2] + 1) % 4
    return (shorter, longer) if size % 2 else (longer, shorter)
