"""Measure the coverage of a kernel by the cases of a proposal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.protocol.requests import CountLoops, LoopCounts
from gi_cuda.backends.protocol.variants import Binary, BuildFailure
from gi_cuda.evaluate.candidates import as_candidate, build_candidates
from gi_cuda.evaluate.checks.coverage import MOST_PLACES, Unreached, counted_text, unreached
from gi_cuda.grammar.coverage.places import CountedText
from gi_cuda.runs.tools import Tools

_LIMIT = 4.0
"""Seconds that a launch with counters may take."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_WHOLE = re.compile(r"(?<![\w.])-?\d{1,9}(?![\w.])")


@dataclass(frozen=True, slots=True)
class Counted:
    """A compiled source with a counter for each place."""

    text: CountedText
    binary: Binary


@dataclass(frozen=True, slots=True)
class Reach:
    """Coverage by some cases.

    Attributes:
        places: number of reached statements, outcomes of conditions, and repeated loops.
        statements, of: number of reached statements, and of all statements.
        words: names in conditions that have a single outcome, and in conditions of loops that never
            repeat.
        numbers: integers in these conditions.
    """

    places: int
    statements: int
    of: int
    words: frozenset[str]
    numbers: frozenset[int]

    @property
    def complete(self) -> bool:
        """Tell whether everything is reached."""
        return self.statements == self.of and not self.words


def counted_in(tools: Tools, folder: Path) -> Counted | None:
    """Compile a source with counters; None if it has too many places or does not compile.

    Args:
        folder: for the binary.
    """
    subject = tools.subject
    text = counted_text(subject)
    if text is None or len(text.places) > MOST_PLACES:
        return None
    source = as_candidate(subject, text.text, subject.standard)
    (binary,) = build_candidates(tools.compiler, [source], folder)
    return None if isinstance(binary, BuildFailure) else Counted(text, binary)


def reach_of(tools: Tools, counted: Counted) -> Reach | None:
    """Return the coverage by the cases on the host; None if a launch fails."""
    subject, places = tools.subject, counted.text.places
    cases = (*tools.train(), *tools.held_out())
    source = as_candidate(subject, counted.text.text, subject.standard)
    program = source.program(counted.binary, cases)
    answer = tools.pool.ask(CountLoops(program, len(places), _LIMIT))
    if not isinstance(answer, LoopCounts):
        return None
    left = unreached(subject, counted.text, answer.most)
    open_ones = "\n".join(_texts(tools, left))
    return Reach(
        places=sum(count > 0 for count in answer.most[: len(places)]),
        statements=left.of - len(left.statements),
        of=left.of,
        words=frozenset(_WORD.findall(open_ones)),
        numbers=frozenset(map(int, _WHOLE.findall(open_ones))),
    )


def _texts(tools: Tools, left: Unreached) -> Iterator[str]:
    """Yield the conditions that have a single outcome, and those of loops that never repeat."""
    text = tools.subject.grammar.source.text
    for rule in (*left.never_true, *left.never_false):
        yield text[rule.start : rule.end]
    for loop in left.never_again:
        yield text[slice(*loop.condition)]
