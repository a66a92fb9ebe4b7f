"""Expected answers of sw_naive, by whole matrices of Python integers and a traceback."""

from collections.abc import Sequence
from typing import NamedTuple

from .sw_tuned_alignment import UNKNOWN, Scores, fill, substitution


class Traced(NamedTuple):
    """Score, first and last base, columns of the alignment, columns with two equal bases."""

    score: int
    ref_begin: int
    ref_end: int
    query_begin: int
    query_end: int
    length: int
    equal: int


Columns = list[tuple[int, int]]
"""Indices of the bases side by side; -1 for a gap."""


def trace(ref: Sequence[int], query: Sequence[int], scores: Scores) -> tuple[Traced, Columns]:
    """Return the reported alignment, and its columns from first to last.

    It ends first in the reference, then in the query. Backwards from there a pair is preferred to
    a gap in the reference, that to one in the query, and opening a gap to extending it.
    """
    matrices = fill(ref, query, scores)
    best, in_ref, in_query = (matrices[name] for name in ("best", "in_ref", "in_query"))
    score = max(map(max, best))
    if score <= 0:
        return Traced(0, -1, -1, -1, -1, 0, 0), []
    i, j = min((i, j) for i, row in enumerate(best) for j, one in enumerate(row) if one == score)
    end = i - 1, j - 1
    columns: Columns = []
    while best[i][j] > 0:
        if best[i][j] == best[i - 1][j - 1] + substitution(ref[i - 1], query[j - 1], scores):
            i, j = i - 1, j - 1
            columns.append((i, j))
        elif best[i][j] == in_ref[i][j]:
            opened = False
            while not opened:
                opened = in_ref[i][j] == best[i][j - 1] - scores.gap_open
                j -= 1
                columns.append((-1, j))
        else:
            opened = False
            while not opened:
                opened = in_query[i][j] == best[i - 1][j] - scores.gap_open
                i -= 1
                columns.append((i, -1))
    equal = sum(a >= 0 <= b and ref[a] == query[b] and ref[a] != UNKNOWN for a, b in columns)
    return Traced(score, i, end[0], j, end[1], len(columns), equal), columns[::-1]
