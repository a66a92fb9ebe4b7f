"""Describe in words the code that a search does not change because no case tests it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from gi_cuda.evaluate.checks.coverage import lines_said
from gi_cuda.grammar import Untested, UntestedRule, Why

_WORDS = {
    Why.UNREACHED: ("code", "no case reaches {it}"),
    Why.NEVER_TRUE: ("condition", "no case makes {it} true"),
    Why.NEVER_FALSE: ("condition", "no case makes {it} false"),
    Why.NEVER_AGAIN: ("loop", "no case repeats {it}"),
}


def untested_words(untested: Untested | None, *, allowed: bool) -> Iterator[str]:
    """Yield sentences about untested code; none if there is none.

    Args:
        untested: the untested rules; None if they were not determined.
        allowed: whether the search may change untested code (option ``--untested``).
    """
    if untested is None:
        return
    if untested.reason:
        yield f"which changes no case tests is not known, so that all are made: {untested.reason}"
    if not untested.rules:
        return
    verb = "evolving" if allowed else "not evolving"
    kinds = "; ".join(
        f"{verb} {_where(noun, some)}: {why_words.format(it=_it(noun, some))}"
        for why, (noun, why_words) in _WORDS.items()
        if (some := [one for one in untested.rules.values() if one.why is why])
    )
    hint = "as --untested asks" if allowed else "to test it, add a case; to evolve it: --untested"
    yield f"{kinds} ({hint})"


def _where(noun: str, rules: list[UntestedRule]) -> str:
    """Name rules by their places: "the conditions in kernel.cu on lines 20, 23"."""
    rules.sort(key=lambda one: (one.file, one.line))
    plural = "s" if _it(noun, rules) == "them" else ""
    places = ", ".join(
        f"{file} on {lines_said([one.line for one in several])}"
        for file, several in groupby(rules, lambda one: one.file)
    )
    return f"the {noun}{plural} in {places}"


def _it(noun: str, rules: list[UntestedRule]) -> str:
    several = len({(one.file, one.line) for one in rules}) > 1
    return "them" if several and noun != "code" else "it"
