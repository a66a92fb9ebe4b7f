"""Cases of bwt_exact: the FM-index of a genome for both strands, and reads drawn from it.

A genome is an array of base codes: A 0, C 1, G 2, T 3; an unknown base of a read is 4. Row 0 of the
suffix array is the end mark, which sorts before every base, so a genome of n bases has rows 0 to n.
"""

import gzip
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]
Words = NDArray[np.uint32]

FOLDER = Path(__file__).parent
READ_LENGTH = 100
UNKNOWN = 4

BUCKET_BASES = 128
BASES_PER_WORD = 16
COUNTS = 4
BUCKET_WORDS = COUNTS + BUCKET_BASES // BASES_PER_WORD
HEAD_WORDS = 8
START_BASES = 4

EXACT_SHARE = 0.85
UNKNOWN_SHARE = 0.03
MOST_SUBSTITUTIONS = 5

_LAYOUT = 1  # goes up whenever what a stored index holds changes its meaning
_STORED_FROM = 1_000_000
_SEED_BASES = 21
_CODES = np.full(256, UNKNOWN, np.uint8)
for _code, _letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):
    for _letter in _letters:
        _CODES[ord(_letter)] = _code


class Index(NamedTuple):
    """The index of one strand.

    bwt: buckets of 128 bases: how often A, C, G and T come before the bucket, then the bases,
    16 to the word, the first in the lowest bits; the end mark is left out.
    head: number of bases, row of the end mark in the transformed genome, then for each base (and
    one past the last) how many bases of the genome are smaller; one word unused.
    starts: for each string of 4 bases, first and last row, (1, 0) where it does not occur.
    """

    bwt: Words
    head: Words
    starts: Words


def case(
    seed: int,
    reads: int,
    genome: str = "data/lambda_virus.fa.gz",
    wrap: int = 0,
    blocks: int = 8,
) -> dict[str, np.ndarray | int]:
    """The buffers and scalars of one case.

    seed, reads: which reads, and how many; genome: a FASTA file, relative to this folder;
    wrap: so many bases from the start of the genome are repeated after its end, as in a concatemer
    of phage DNA, so that reads from there match twice; blocks: most blocks of a launch that does
    not start one thread for every read.
    """
    strands = both_strands(str((FOLDER / genome).resolve()), wrap)
    text = wrapped_genome(str((FOLDER / genome).resolve()), wrap)
    codes = draw_reads(text, reads, np.random.default_rng(seed))
    corners = corner_reads(str((FOLDER / genome).resolve()), wrap)[:reads]
    codes[: len(corners)] = corners
    reads4, reads8 = pack_codes(codes, 4), pack_codes(codes, 8)
    return {
        "forward": strands[0].bwt,
        "backward": strands[1].bwt,
        "heads": np.concatenate([strand.head for strand in strands]),
        "starts": np.concatenate([strand.starts for strand in strands]),
        "reads4": reads4.reshape(-1),
        "reads4_stride": reads4.T.reshape(-1),
        "reads8": reads8.reshape(-1),
        "reads8_stride": reads8.T.reshape(-1),
        "n_reads": reads,
        "n_bases": text.size,
        "most_blocks": blocks,
    }


def draw_reads(genome: Codes, count: int, rng: np.random.Generator) -> Codes:
    """Reads from random places of either strand, one a row.

    85 % as they stand in the genome; 3 % have one to three unknown bases; the others have one to
    five substitutions.
    """
    places = rng.integers(0, genome.size - READ_LENGTH + 1, count)
    codes = genome[places[:, None] + np.arange(READ_LENGTH)]
    other_strand = rng.random(count) < 0.5
    codes[other_strand] = 3 - codes[other_strand, ::-1]
    kind = rng.permutation(count) / count
    unknown = np.flatnonzero(kind >= 1 - UNKNOWN_SHARE)
    substituted = np.flatnonzero((kind >= EXACT_SHARE) & (kind < 1 - UNKNOWN_SHARE))
    for read in substituted:
        where = rng.choice(READ_LENGTH, rng.integers(1, MOST_SUBSTITUTIONS + 1), replace=False)
        codes[read, where] = (codes[read, where] + rng.integers(1, 4, where.size)) % 4
    for read in unknown:
        codes[read, rng.choice(READ_LENGTH, rng.integers(1, 4), replace=False)] = UNKNOWN
    return codes


@lru_cache(maxsize=4)
def corner_reads(path: str, wrap: int) -> Codes:
    """The reads on the first and last rows and at the ends of both indexes: eight of them.

    No draw is likely to hit them, and a variant that is wrong there alone must not pass.
    """
    genome = wrapped_genome(path, wrap)
    reads = []
    for text, strand in ((genome, 0), (genome[::-1], 1)):
        last = text.size - READ_LENGTH
        places = (0, last, _extreme(text, np.min), _extreme(text, np.max))
        found = np.stack([text[place : place + READ_LENGTH] for place in places])
        reads.append(3 - found if strand else found)
    return np.concatenate(reads)


def _extreme(text: Codes, best: Callable[[Codes], np.uint8]) -> int:
    """Where the first (best: min) or last (max) string of READ_LENGTH bases stands."""
    places = np.arange(text.size - READ_LENGTH + 1)
    for offset in range(READ_LENGTH):
        bases = text[places + offset]
        places = places[bases == best(bases)]
    return int(places[0])


@lru_cache(maxsize=4)
def wrapped_genome(path: str, wrap: int) -> Codes:
    """The bases of a genome, followed by its first bases once more."""
    genome = read_genome(Path(path))
    return np.concatenate([genome, genome[:wrap]])


@lru_cache(maxsize=4)
def both_strands(path: str, wrap: int) -> tuple[Index, Index]:
    """Index of the genome and index of the reversed genome, from the cache where that pays."""
    genome = wrapped_genome(path, wrap)
    if genome.size < _STORED_FROM:
        return build_index(genome), build_index(genome[::-1])
    return _stored(genome)


def _stored(genome: Codes) -> tuple[Index, Index]:
    """Both indexes from the user's cache folder; built and put there if they are not there yet."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.blake2b(genome.tobytes(), digest_size=16).hexdigest()
    stored = base / "gi-cuda" / f"bwt_exact-{_LAYOUT}-{digest}.npz"
    names = [f"{strand}_{field}" for strand in ("forward", "backward") for field in Index._fields]
    try:
        with np.load(stored) as arrays:
            parts = [arrays[name] for name in names]
        return Index(*parts[:3]), Index(*parts[3:])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        pass  # not there, or not whole: build it
    strands = build_index(genome), build_index(genome[::-1])
    _store(stored, dict(zip(names, (*strands[0], *strands[1]), strict=True)))
    return strands


def _store(path: Path, arrays: dict[str, Words]) -> None:
    """Write arrays so that a reader sees all or none of them; not at all without a cache folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            np.savez(file, **arrays)
        os.replace(file.name, path)
    except OSError:
        return


def read_genome(path: Path) -> Codes:
    """The bases of a FASTA file, gzipped or not, all its sequences one after the other.

    Letters other than A, C, G and T become bases drawn with a fixed seed, as BWA does it.
    """
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    lines = [line.strip() for line in data.splitlines() if not line.startswith(b">")]
    codes = _CODES[np.frombuffer(b"".join(lines), np.uint8)]
    unknown = np.flatnonzero(codes == UNKNOWN)
    codes[unknown] = np.random.default_rng(11).integers(0, 4, unknown.size, dtype=np.uint8)
    return codes


def suffix_array(genome: Codes) -> NDArray[np.int64]:
    """Start of each suffix in sorted order, the empty suffix first: n + 1 values.

    Sorted by the first 21 bases, then prefix doubling among the suffixes that are still equal.
    """
    size = genome.size + 1
    padded = np.zeros(size + _SEED_BASES, np.uint64)
    padded[: genome.size] = genome + np.uint64(1)
    key = np.zeros(size, np.uint64)
    for offset in range(_SEED_BASES):
        key *= np.uint64(8)
        key += padded[offset : offset + size]
    order = np.argsort(key)
    rank = np.empty(size, np.int64)
    rank[order] = _group_starts(key[order])
    known = _SEED_BASES
    rows = _unsettled(rank[order])
    while rows.size:
        suffixes = order[rows]
        ahead = suffixes + known
        then = np.where(ahead < size, rank[np.minimum(ahead, size - 1)], -1)
        groups = rank[suffixes]
        by = np.lexsort((then, groups))
        suffixes, then, groups = suffixes[by], then[by], groups[by]
        order[rows] = suffixes
        changed = np.ones(rows.size, bool)
        changed[1:] = (groups[1:] != groups[:-1]) | (then[1:] != then[:-1])
        rank[suffixes] = rows[np.maximum.accumulate(np.where(changed, np.arange(rows.size), 0))]
        rows = rows[_unsettled(rank[suffixes])]
        known *= 2
    return order


def _group_starts(ordered: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each place in a sorted array, where its run of equal values starts."""
    first = np.ones(ordered.size, bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return np.maximum.accumulate(np.where(first, np.arange(ordered.size), 0))


def _unsettled(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places whose rank is that of a neighbour."""
    same = ranks[1:] == ranks[:-1]
    return np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))


def build_index(genome: Codes) -> Index:
    """The index of a genome as it is; of its reverse, for the reverse strand."""
    suffixes = suffix_array(genome)
    primary = int(np.flatnonzero(suffixes == 0)[0])
    bwt = genome[np.delete(suffixes, primary) - 1]
    head = np.zeros(HEAD_WORDS, np.uint32)
    head[0], head[1] = genome.size, primary
    head[3:7] = np.cumsum(np.bincount(genome, minlength=4))
    return Index(pack_bwt(bwt), head, _starts(genome, suffixes))


def pack_bwt(bwt: Codes) -> Words:
    """Buckets of a transformed genome without its end mark."""
    buckets = bwt.size // BUCKET_BASES + 1
    padded = np.zeros(buckets * BUCKET_BASES, np.uint8)
    padded[: bwt.size] = bwt
    bases = padded.reshape(buckets, BUCKET_BASES)
    packed = np.zeros((buckets, BUCKET_WORDS), np.uint32)
    for code in range(COUNTS):
        inside = (bases == code).sum(axis=1, dtype=np.uint32)
        packed[1:, code] = np.cumsum(inside)[:-1]
    packed[:, COUNTS:] = pack_codes(bases, BASES_PER_WORD)
    return packed.reshape(-1)


def pack_codes(codes: Codes, per_word: int) -> Words:
    """Rows of codes as rows of words, per_word codes to the word, the first in the lowest bits."""
    rows, width = codes.shape
    words = -(-width // per_word)
    padded = np.zeros((rows, words * per_word), np.uint32)
    padded[:, :width] = codes
    shifts = np.arange(per_word, dtype=np.uint32) * np.uint32(32 // per_word)
    shifted = padded.reshape(rows, words, per_word) << shifts
    return np.bitwise_or.reduce(shifted, axis=2)


def _starts(genome: Codes, suffixes: NDArray[np.int64]) -> Words:
    """First and last row of each string of START_BASES bases."""
    strings = 4**START_BASES
    complete = suffixes[suffixes <= genome.size - START_BASES]
    rows = np.flatnonzero(suffixes <= genome.size - START_BASES)
    value = np.zeros(complete.size, np.int64)
    for offset in range(START_BASES):
        value = value * 4 + genome[complete + offset]
    first = np.searchsorted(value, np.arange(strings), "left")
    past = np.searchsorted(value, np.arange(strings), "right")
    table = np.tile(np.array([1, 0], np.uint32), (strings, 1))
    there = first < past
    table[there, 0] = rows[first[there]]
    table[there, 1] = rows[past[there] - 1]
    return table.reshape(-1)
