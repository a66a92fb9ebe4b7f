"""Coverage: code of the reference that no case reaches, where a wrong change would go unnoticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from gi_cuda.backends.protocol.requests import CountLoops, LoopCounts
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import as_candidate, build_candidates
from gi_cuda.evaluate.checks.finding import Finding, listed
from gi_cuda.grammar import Loop, Rule
from gi_cuda.grammar.coverage.places import CountedText, Outcome, Place
from gi_cuda.subject import Subject

MOST_PLACES = 65_000
"""Largest number of counters that back ends support."""

LIMIT = 120.0
"""Time limit of a run with counters, in seconds."""

MUCH = 0.5
"""Share of reached statements below which a finding is reported."""


@dataclass(frozen=True, slots=True)
class Unreached:
    """Code that no case reaches.

    Attributes:
        statements: statements that are never executed.
        never_true, never_false: conditions of a reached ``if`` that always have the other outcome.
        never_again: loops that are entered but never take a second iteration.
        of: number of all statements.
        reason: reason why the coverage is unknown; "" if it is known.
    """

    statements: tuple[Rule, ...] = ()
    never_true: tuple[Rule, ...] = ()
    never_false: tuple[Rule, ...] = ()
    never_again: tuple[Loop, ...] = ()
    of: int = 0
    reason: str = ""

    @property
    def share(self) -> float:
        """The share of statements that some case reaches; 1 if there are no statements."""
        return 1 - len(self.statements) / self.of if self.of else 1.0


@dataclass(frozen=True, slots=True)
class Reached:
    """Counts of the reached places of a source.

    Attributes:
        counted: the source with counters; None if it has none.
        most: largest count of each place; empty if unknown.
        reason: reason why the counts are unknown; "" if they are known.
    """

    counted: CountedText | None = None
    most: Sequence[int] = ()
    reason: str = ""


def compiled_rules(subject: Subject) -> tuple[str, ...]:
    """Return the rules that the default configuration compiles; only these have counters."""
    return subject.grammar.under(subject.original.configuration.macros).mutable


def counted_text(subject: Subject) -> CountedText | None:
    """Return a source with a counter at each place; None if it has no places."""
    counted = subject.parsed.count_places(compiled_rules(subject))
    return counted if counted is not None and counted.places else None


def unreached(subject: Subject, counted: CountedText, most: Sequence[int]) -> Unreached:
    """Return the unreached code, given the count of each place."""
    grammar = subject.grammar
    seen = {place for place, count in zip(counted.places, most, strict=True) if count}
    known = {place.rule for place in seen}
    lacking: dict[Outcome, list[Rule]] = {outcome: [] for outcome in Outcome}
    for place in counted.places:
        # A condition that is never reached is covered by its unreached statement.
        if place.loop is not None or place in seen:
            continue
        if place.outcome is Outcome.REACHED or place.rule in known:
            lacking[place.outcome].append(grammar.rule(place.rule))
    return Unreached(
        statements=tuple(lacking[Outcome.REACHED]),
        never_true=tuple(lacking[Outcome.TRUE]),
        never_false=tuple(lacking[Outcome.FALSE]),
        never_again=tuple(
            loop
            for loop in grammar.loops
            if Place("", Outcome.TRUE, loop.ident) in seen
            and Place("", Outcome.AGAIN, loop.ident) not in seen
        ),
        of=sum(place.outcome is Outcome.REACHED for place in counted.places),
    )


def look_for_unreached(
    subject: Subject, compiler: Compiler, pool: Pool[int], folder: Path, tell: Callable[[str], None]
) -> Unreached:
    """Find the code that no case reaches; see :func:`look_for_reached`."""
    found = look_for_reached(subject, compiler, pool, folder, tell)
    if found.counted is None or found.reason:
        return Unreached(reason=found.reason)
    return unreached(subject, found.counted, found.most)


def look_for_reached(
    subject: Subject, compiler: Compiler, pool: Pool[int], folder: Path, tell: Callable[[str], None]
) -> Reached:
    """Run the reference once on all cases, in a build with counters at all places.

    Only code that the default configuration compiles is counted, and only source, not compiled
    code.

    Args:
        folder: for the binary.
        tell: receives a message before each step.
    """
    counted = counted_text(subject)
    if counted is None:
        return Reached()
    if len(counted.places) > MOST_PLACES:
        return Reached(counted, reason=f"it has {len(counted.places)} places")
    tell("looking for code that no case reaches")
    source = as_candidate(subject, counted.text, subject.original.configuration)
    (binary,) = build_candidates(compiler, [source], folder)
    if isinstance(binary, BuildFailure):
        reason = f"with counts in it the reference does not compile: {binary.message}"
        return Reached(counted, reason=reason)
    cases = subject.all_cases
    answer = pool.ask(CountLoops(source.program(binary, cases), len(counted.places), LIMIT))
    if not isinstance(answer, LoopCounts):
        return Reached(counted, reason=f"with counts in it the reference fails: {answer.message}")
    return Reached(counted, answer.most)


def untested(subject: Subject, found: Unreached) -> Iterator[Finding]:
    """Yield a finding for unreached code, for each kind and file."""
    source = str(subject.target.source)
    if found.reason:
        yield Finding(source, f"which code the cases reach cannot be told: {found.reason}")
    if found.share < MUCH:
        yield Finding(
            source,
            f"the cases reach {found.of - len(found.statements)} of {found.of} statements: most of"
            " what the kernel does is not tried at all",
            "give it data in data.py, or sizes in [[case]], with which it does its work: gi-cuda"
            " capture takes those of an application that runs",
        )
    kinds = (
        (found.statements, "no case reaches {} statement{}"),
        (found.never_true, "no case makes {} condition{} true"),
        (found.never_false, "no case makes {} condition{} false"),
    )
    for rules, said in kinds:
        ordered = sorted(rules, key=lambda one: (one.file, one.line))
        for file, several in groupby(ordered, lambda one: one.file):
            lines = [one.line for one in several]
            many = said.format(len(lines), "" if len(lines) == 1 else "s")
            yield Finding(
                f"{file}:{lines[0]}",
                f"{many}: {lines_said(lines)}",
                "whatever a variant does there is accepted, so that a search leaves it alone: add a"
                " case that gets there",
            )
    rules = subject.grammar.rules
    files = {
        loop.ident: next(r.file for r in rules if loop.start <= r.start <= loop.end)
        for loop in found.never_again
    }
    ordered_loops = sorted(found.never_again, key=lambda one: (files[one.ident], one.line))
    for file, loops in groupby(ordered_loops, lambda one: files[one.ident]):
        lines = [one.line for one in loops]
        yield Finding(
            f"{file}:{lines[0]}",
            f"no case takes {len(lines)} loop{'s' * (len(lines) > 1)} round a second time: "
            + lines_said(lines),
            "whatever a variant does to its step is accepted, so that a search leaves it alone: add"
            " a case with more to do",
        )


def lines_said(lines: Sequence[int]) -> str:
    """Describe line numbers, e.g. "lines 3, 5-7"."""
    return f"line{'' if len(set(lines)) == 1 else 's'} {listed(_ranges(lines))}"


def _ranges(lines: Sequence[int]) -> list[str]:
    """Return line numbers as numbers and ranges."""
    found: list[tuple[int, int]] = []
    for line in sorted(set(lines)):
        if found and found[-1][1] == line - 1:
            found[-1] = (found[-1][0], line)
        else:
            found.append((line, line))
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]
