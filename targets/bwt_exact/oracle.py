"""Penalty of a variant's answers, after section 2.7.1 of Langdon et al., GECCO 2015.

One answer is the interval k..l of one read on one strand. What is asked of it depends on what the
reference found there:

unknown base    the read has a base that is not A, C, G or T: the answer must be "no match", k > l
no match        the answer must be "no match"; what k and l are beyond that does not matter
unique match    k == l, and both exact
several matches the whole interval, k and l exact

No row number lies past the number of bases plus one; an answer beyond it was never computed (it
holds poison, or stray data) and is wrong whatever is asked.

The penalty is the number of wrong answers, plus for each of them a fraction below 1 that grows with
the distance from the right one. 0: every answer is acceptable.

`answers` finds the right answers without any kernel, for checking the reference itself.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

WORST = 0.999
_SCALE = WORST / 34.0  # log2(1 + distance) of two 32-bit numbers each stays below 34
_UNKNOWN_BITS = np.uint32(0x44444444)


def judge(
    case: Mapping[str, Any], outputs: Mapping[str, Any], reference: Mapping[str, Any]
) -> tuple[float, str]:
    """Penalty of `outputs`, and what is wrong with the first wrong answer.

    `outputs` and `reference` have k_out and l_out: one value for each strand and read, strand by
    strand.
    """
    k, l = (np.asarray(outputs[name], np.int64) for name in ("k_out", "l_out"))  # noqa: E741
    want_k, want_l = (np.asarray(reference[name], np.int64) for name in ("k_out", "l_out"))
    match = (want_k <= want_l) & ~_has_unknown(case, want_k.size)
    most = int(case["n_bases"]) + 1
    stray = (k < 0) | (k > most) | (l < 0) | (l > most)
    distance = np.where(match, abs(k - want_k) + abs(l - want_l), np.maximum(l - k + 1, 0))
    wrong = np.flatnonzero(stray | (distance > 0))
    if not wrong.size:
        return 0.0, ""
    graded = np.where(stray[wrong], WORST, np.log2(1.0 + distance[wrong]) * _SCALE)
    first = int(wrong[0])
    strand, read = divmod(first, int(case["n_reads"]))
    expected = f"{want_k[first]}..{want_l[first]}" if match[first] else "no match"
    reason = (
        f"{wrong.size} of {k.size} answers are wrong, the first for read {read} on strand "
        f"{strand}: {k[first]}..{l[first]}, not {expected}"
    )
    return float(wrong.size + graded.sum()), reason


def penalty(
    case: Mapping[str, Any], outputs: Mapping[str, Any], reference: Mapping[str, Any]
) -> float:
    """The penalty alone; 0: every answer is acceptable."""
    return judge(case, outputs, reference)[0]


def answers(case: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The right outputs of a case, by a backward search in numpy over all reads at once."""
    reads = int(case["n_reads"])
    words = np.asarray(case["reads4"], np.uint32)
    codes = words.view(np.uint8).reshape(reads, -1).astype(np.int64)
    heads = np.asarray(case["heads"], np.int64).reshape(2, -1)
    k, l = zip(  # noqa: E741
        _search(case["forward"], heads[0], codes),
        _search(case["backward"], heads[1], np.where(codes > 3, codes, 3 - codes)),
        strict=True,
    )
    return {
        "k_out": np.concatenate(k).astype(np.uint32),
        "l_out": np.concatenate(l).astype(np.uint32),
    }


def _search(bwt: np.ndarray, head: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last row of each read (a row of codes) in one index; 1 and 0: there is none."""
    length, primary, smaller = int(head[0]), int(head[1]), head[2:6]
    packed = np.asarray(bwt, np.uint32).reshape(-1, 12)[:, 4:, None]
    bases = (packed >> np.arange(0, 32, 2, dtype=np.uint32) & 3).reshape(-1)[:length]
    before = np.zeros((4, length + 1), np.int64)
    np.cumsum(bases == np.arange(4)[:, None], axis=1, out=before[:, 1:])
    k = np.zeros(len(codes), np.int64)
    past = np.full(len(codes), length + 1)
    for column in codes.T[::-1]:
        known = np.minimum(column, 3)
        k = smaller[known] + before[known, k - (k > primary)] + 1
        past = smaller[known] + before[known, past - (past > primary)] + 1
        past = np.where(column > 3, k, past)
    found = k < past
    return np.where(found, k, 1), np.where(found, past - 1, 0)


def _has_unknown(case: Mapping[str, Any], answers: int) -> np.ndarray:
    """For each answer, whether its read has an unknown base."""
    reads = int(case["n_reads"])
    words = np.asarray(case["reads8"], np.uint32).reshape(reads, -1)
    return np.tile((words & _UNKNOWN_BITS).any(axis=1), answers // reads)
