"""Local alignment in plain Python, to check sw_tuned's kernel: whole matrices, traceback.

It shares nothing with the kernel: scores have no bound, the end is searched in the filled matrix,
and the begin is found by following all paths back, cell by cell.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

UNKNOWN = 4
_NONE = -(10**9)


class Scores(NamedTuple):
    """Score of a match; costs of a mismatch, of the first and of each further base of a gap."""

    match: int = 3
    mismatch: int = 3
    gap_open: int = 6
    gap_extend: int = 1


class Alignment(NamedTuple):
    """Score, first and last base (from 0) in reference and query; -1 where nothing matches."""

    score: int
    ref_begin: int
    ref_end: int
    query_begin: int
    query_end: int


NO_ALIGNMENT = Alignment(0, -1, -1, -1, -1)

Cell = tuple[str, int, int]
Matrix = list[list[int]]


def substitution(a: int, b: int, scores: Scores) -> int:
    return scores.match if a == b and a != UNKNOWN else -scores.mismatch


def align(ref: Sequence[int], query: Sequence[int], scores: Scores) -> Alignment:
    """Return the best alignment that ends first and, of those, begins last.

    First and last are by the reference, then by the query.
    """
    matrices = fill(ref, query, scores)
    best = max(map(max, matrices["best"]))
    if best <= 0:
        return NO_ALIGNMENT
    ends = [
        (i, j)
        for i, row in enumerate(matrices["best"])
        for j, value in enumerate(row)
        if value == best
    ]
    end = min(ends)
    begin = max(begins(matrices, ref, query, scores, end))
    return Alignment(best, begin[0], end[0] - 1, begin[1], end[1] - 1)


def fill(ref: Sequence[int], query: Sequence[int], scores: Scores) -> dict[str, Matrix]:
    """Return the best scores of alignments ending in each cell: in any way, or with a gap in
    either.
    """
    best, in_ref, in_query = (
        [[start] * (len(query) + 1) for _ in range(len(ref) + 1)] for start in (0, _NONE, _NONE)
    )
    for i, a in enumerate(ref, 1):
        for j, b in enumerate(query, 1):
            in_ref[i][j] = max(
                best[i][j - 1] - scores.gap_open, in_ref[i][j - 1] - scores.gap_extend
            )
            in_query[i][j] = max(
                best[i - 1][j] - scores.gap_open, in_query[i - 1][j] - scores.gap_extend
            )
            pair = best[i - 1][j - 1] + substitution(a, b, scores)
            best[i][j] = max(0, pair, in_ref[i][j], in_query[i][j])
    return {"best": best, "in_ref": in_ref, "in_query": in_query}


def begins(
    matrices: dict[str, Matrix],
    ref: Sequence[int],
    query: Sequence[int],
    scores: Scores,
    end: tuple[int, int],
) -> set[tuple[int, int]]:
    """Return the first bases of all best alignments with this end."""
    found: set[tuple[int, int]] = set()
    seen: set[Cell] = set()
    waiting: list[Cell] = [("best", *end)]
    while waiting:
        cell = waiting.pop()
        if cell in seen:
            continue
        seen.add(cell)
        matrix, i, j = cell
        if matrix == "best" and matrices["best"][i][j] == 0:
            found.add((i, j))
        waiting += before(matrices, ref, query, scores, cell)
    return found


def before(
    matrices: dict[str, Matrix],
    ref: Sequence[int],
    query: Sequence[int],
    scores: Scores,
    cell: Cell,
) -> Iterator[Cell]:
    """Yield the cells from which the value of a cell may come."""
    matrix, i, j = cell
    best, value = matrices["best"], matrices[matrix][i][j]
    if i == 0 or j == 0:
        return
    if matrix == "best":
        for gap in ("in_ref", "in_query"):
            if value == matrices[gap][i][j]:
                yield gap, i, j
        if value == best[i - 1][j - 1] + substitution(ref[i - 1], query[j - 1], scores):
            yield "best", i - 1, j - 1
        return
    row, column = (i, j - 1) if matrix == "in_ref" else (i - 1, j)
    if value == best[row][column] - scores.gap_open:
        yield "best", row, column
    if value == matrices[matrix][row][column] - scores.gap_extend:
        yield matrix, row, column


def align_by_trying(ref: Sequence[int], query: Sequence[int], scores: Scores) -> Alignment:
    """Return the result of :func:`align` by listing all alignments; for a handful of bases."""
    found = [NO_ALIGNMENT]
    for begin_ref in range(len(ref)):
        for begin_query in range(len(query)):
            start = (begin_ref, begin_query)
            found += _extensions(ref, query, scores, start, start, 0, "")
    top = max(one.score for one in found)
    if top <= 0:
        return NO_ALIGNMENT
    best = [one for one in found if one.score == top]
    first = min((one.ref_end, one.query_end) for one in best)
    return max(one for one in best if (one.ref_end, one.query_end) == first)


def _extensions(
    ref: Sequence[int],
    query: Sequence[int],
    scores: Scores,
    start: tuple[int, int],
    at: tuple[int, int],
    score: int,
    last: str,
) -> Iterator[Alignment]:
    """Yield all alignments that begin at `start` and have reached `at` (exclusive)."""
    (i, j), (begin_ref, begin_query) = at, start
    if i > begin_ref and j > begin_query:
        yield Alignment(score, begin_ref, i - 1, begin_query, j - 1)
    if i < len(ref) and j < len(query):
        more = substitution(ref[i], query[j], scores)
        yield from _extensions(ref, query, scores, start, (i + 1, j + 1), score + more, "pair")
    for gap, there, nowhere in (("ref", i, j + 1), ("query", i + 1, j)):
        if there <= len(ref) and nowhere <= len(query):
            cost = scores.gap_extend if last == gap else scores.gap_open
            after = (there, nowhere)
            yield from _extensions(ref, query, scores, start, after, score - cost, gap)
