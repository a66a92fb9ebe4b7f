"""Which code does no case reach? What stands there may become anything, and nobody would notice."""

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
from gi_cuda.grammar.interface import CountedText, Outcome, Place
from gi_cuda.subject import Subject

MOST_PLACES = 65_000
"""Counts that the back ends have room for."""

LIMIT = 120.0
"""Seconds that a counted run may take."""

MUCH = 0.5
"""A smaller share of statements than this is too little to tell anything of a kernel."""


@dataclass(frozen=True, slots=True)
class Unreached:
    """What no case reaches.

    Attributes:
        statements: those that are never executed.
        never_true, never_false: conditions of an ``if`` that is reached, and has but one outcome.
        never_again: loops that are entered, and never go round a second time.
        of: how many statements there are.
        reason: why it is not known; "" where it is.
    """

    statements: tuple[Rule, ...] = ()
    never_true: tuple[Rule, ...] = ()
    never_false: tuple[Rule, ...] = ()
    never_again: tuple[Loop, ...] = ()
    of: int = 0
    reason: str = ""

    @property
    def share(self) -> float:
        """The share of statements that some case reaches; 1 where there are none."""
        return 1 - len(self.statements) / self.of if self.of else 1.0


@dataclass(frozen=True, slots=True)
class Reached:
    """What cases reach of a source.

    Attributes:
        counted: the source with counts; None where it has none.
        most: of each of its places the most that was counted; none where that is not known.
        reason: why it is not known; "" where it is.
    """

    counted: CountedText | None = None
    most: Sequence[int] = ()
    reason: str = ""


def compiled_rules(subject: Subject) -> tuple[str, ...]:
    """The rules that the default configuration compiles: those of which anything is counted."""
    return subject.grammar.under(subject.original.configuration.macros).mutable


def counted_text(subject: Subject) -> CountedText | None:
    """A source with a count for each of its places; None where it has none."""
    counted = subject.parsed.count_places(compiled_rules(subject))
    return counted if counted is not None and counted.places else None


def unreached(subject: Subject, counted: CountedText, most: Sequence[int]) -> Unreached:
    """What was not reached, by the counts of a text's places."""
    grammar = subject.grammar
    seen = {place for place, count in zip(counted.places, most, strict=True) if count}
    known = {place.rule for place in seen}
    lacking: dict[Outcome, list[Rule]] = {outcome: [] for outcome in Outcome}
    for place in counted.places:
        # A condition that is not reached at all stands among statements that are not.
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
    subject: Subject,
    compiler: Compiler,
    pool: Pool[int],
    folder: Path,
    tell: Callable[[str], None],
) -> Unreached:
    """What no case reaches of the reference; see :func:`look_for_reached`."""
    found = look_for_reached(subject, compiler, pool, folder, tell)
    if found.counted is None or found.reason:
        return Unreached(reason=found.reason)
    return unreached(subject, found.counted, found.most)


def look_for_reached(
    subject: Subject,
    compiler: Compiler,
    pool: Pool[int],
    folder: Path,
    tell: Callable[[str], None],
) -> Reached:
    """Run the reference once on all cases, in a build that counts all its places.

    Only what the default configuration compiles is looked at. Of what a compiler made nothing is
    told: its source says it better.

    Args:
        folder: for the binary.
        tell: is told what is done next.
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
    """Code that no case reaches, a finding for each kind and file."""
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
    """Numbers of lines in words."""
    return f"line{'' if len(set(lines)) == 1 else 's'} {listed(_ranges(lines))}"


def _ranges(lines: Sequence[int]) -> list[str]:
    """Lines as numbers and ranges of them."""
    found: list[tuple[int, int]] = []
    for line in sorted(set(lines)):
        if found and found[-1][1] == line - 1:
            found[-1] = (found[-1][0], line)
        else:
            found.append((line, line))
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]
