"""Checks that the referee makes, with the codes of their findings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gi_cuda.analyze.judge.records import Check, Outcome, Reason
from gi_cuda.evaluate.scrutiny.objections import NOTHING_VARIES, ORACLE_BLIND

READS, COMPILES, DEVICE_CODE = "is read", "compiles", "device code alone"
ANSWERS = "answers on all cases"
ORDERS = "answers in other orders of threads"

_CHECKS: Mapping[str, frozenset[str]] = {
    "the oracle tells wrong answers": frozenset(
        {ORACLE_BLIND, NOTHING_VARIES, "few-distinct-outputs"}
    ),
    "other contents of inputs": frozenset(
        {"input-left-out", "other-input", "special-values", "hangs", "not-tried"}
    ),
    "other sizes": frozenset({"other-size"}),
    "other random data": frozenset({"other-data"}),
    "outputs in the memory of inputs": frozenset({"in-place"}),
    "launches one after the other": frozenset({"state-between-launches", "new-device-state"}),
    "locals that nothing sets": frozenset({"unset-local"}),
    "races between threads": frozenset({"race", "uneven-barrier", "races-not-watched"}),
    "cases reach all of its code": frozenset({"code-not-reached"}),
}
"""Checks of a rewrite that is right on all cases, with the codes of their findings."""

NAMES = (READS, COMPILES, DEVICE_CODE, ANSWERS, ORDERS, *_CHECKS)
"""Names of all checks, in the order in which they are made."""


def not_made(after: str, why: str) -> Iterator[Check]:
    """Yield the checks after a failed one as skipped.

    Args:
        after: name of the failed check.
        why: reason for skipping, in words.
    """
    for name in NAMES[NAMES.index(after) + 1 :]:
        yield Check(name, Outcome.SKIPPED, why)


def made(
    reasons: Collection[Reason], skipped: Mapping[str, str], notes: Sequence[str]
) -> Iterator[Check]:
    """Yield the results of the checks of a rewrite that is right on all cases.

    Args:
        reasons: findings of the checks.
        skipped: reasons why checks were skipped, by a code of the check.
        notes: descriptions of the other sizes that were tried.
    """
    known = frozenset[str]().union(*_CHECKS.values())
    for name, codes in _CHECKS.items():
        mine = [one for one in reasons if one.code in codes]
        why = next((skipped[code] for code in sorted(codes) if code in skipped), "")
        if mine:
            yield Check(name, Outcome.FAILED, mine[0].said)
        elif why:
            yield Check(name, Outcome.SKIPPED, why)
        else:
            yield Check(name, Outcome.PASSED, "; ".join(notes) * ("other-size" in codes))
    for one in reasons:
        if one.code not in known:
            yield Check(one.code, Outcome.FAILED, one.said)
