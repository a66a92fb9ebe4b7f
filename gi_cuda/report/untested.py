"""What a search leaves alone, since no case tests it: in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from gi_cuda.evaluate.checks.coverage import lines_said
from gi_cuda.grammar import Untested, UntestedRule, Why
from gi_cuda.report.tables import counted

_WORDS = {
    Why.UNREACHED: "that no case reaches",
    Why.NEVER_TRUE: "of conditions that no case makes true",
    Why.NEVER_FALSE: "of conditions that no case makes false",
    Why.NEVER_AGAIN: "of steps of loops that no case takes round again",
}


def untested_words(untested: Untested | None, *, allowed: bool) -> Iterator[str]:
    """One sentence of it; none where there is nothing to tell.

    Args:
        untested: None where it was not looked for.
        allowed: whether it was changed all the same.
    """
    if untested is None:
        return
    if untested.reason:
        yield f"which changes no case tests is not known, so that all are made: {untested.reason}"
    if not untested.rules:
        return
    kinds = "; ".join(
        f"{sum(one.why is why for one in untested.rules.values())} {words}"
        f" ({_where([one for one in untested.rules.values() if one.why is why])})"
        for why, words in _WORDS.items()
        if any(one.why is why for one in untested.rules.values())
    )
    rules = counted(len(untested.rules), "rule")
    if allowed:
        yield f"changes of {rules} are made although no case tests them (--untested): {kinds}"
    else:
        yield (
            f"changes of {rules} are left out, since no case tests them: {kinds}: add a case that"
            " does, or give --untested"
        )


def _where(rules: list[UntestedRule]) -> str:
    rules.sort(key=lambda one: (one.file, one.line))
    return ", ".join(
        f"{file} {lines_said([one.line for one in several])}"
        for file, several in groupby(rules, lambda one: one.file)
    )
