"""Check for code of a candidate that no case reaches, where mistakes would go unnoticed.

A rewrite may contain a branch for large sizes, or for certain contents of a buffer. Its
preprocessed text runs with a counter for each outcome of each condition and for each function. It
runs on the cases, then with substituted inputs as long as some new code was not reached. Unreached
code is not reported if the original has unreached code with the same words.
A condition of the original with an outcome that no case has must not be missing in the rewrite, for
the same reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from gi_cuda.backends.compile.preprocess import key
from gi_cuda.backends.protocol.requests import CountLoops, LoopCounts
from gi_cuda.backends.protocol.substitutes import Substituted
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.evaluate.scrutiny.inputs.dependence import Dependence
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling, objections_of
from gi_cuda.grammar.coverage.branch_text import CONDITIONAL, BranchText, Gap, lines_of
from gi_cuda.subject import Subject

_LIMIT: Final = 120.0
"""Time limit of a run with counters, in seconds."""

_DIRECTIVE: Final = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[^\n]*", re.M)
_ELSEWHERE: Final = "only other devices are given {}"

_MOST: Final = 3
"""Largest number of places that an objection names."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A text with counters, and their values.

    Attributes:
        binary: binary with counters; None if the text has none.
        apart: gaps that are known without counters.
        most: value of each counter.
    """

    text: BranchText
    binary: Binary | None
    apart: tuple[Gap, ...] = ()
    most: tuple[int, ...] = ()

    @property
    def gaps(self) -> list[Gap]:
        """The outcomes and functions that were not reached."""
        return [*self.apart, *self.text.gaps(self.most)]

    @property
    def keys(self) -> frozenset[object]:
        """The keys of the gaps."""
        return frozenset(gap.key for gap in self.gaps)

    def new(self, known: Collection[object]) -> list[Gap]:
        """Return the gaps whose keys are not in `known`."""
        return [gap for gap in self.gaps if gap.key not in known]

    def with_run(self, most: Sequence[int]) -> _Counted:
        """Return the text with the counters of one more run merged in."""
        return replace(self, most=tuple(map(max, self.most, most)))


_NOTHING: Final = _Counted(BranchText("", (), 0), None)


@dataclass(frozen=True)
class NotReached:
    """A check for code of candidates that no case reaches.

    Attributes:
        compiler: compiler of the back end.
        folder: for binaries.
        pool: workers of a session that has the cases.
        cases: names of the cases.
        dependence: tells how a candidate answers with substituted inputs.
    """

    subject: Subject
    compiler: Compiler
    folder: Path
    pool: Pool[int]
    cases: tuple[str, ...]
    dependence: Dependence

    def objections(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the objection to each candidate with unreached code that the reference does not
        have.
        """
        ruling = Ruling.UNVERIFIED
        return objections_of(self.said, some, quick=True, code="code-not-reached", ruling=ruling)

    def said(self, some: Sequence[Candidate]) -> list[str]:
        """Return the objections in words; "" if there is none."""
        return [self._said(one) for one in some]

    def _said(self, one: Candidate) -> str:
        counted = self._counted(one)
        if isinstance(counted, str):
            return f"which of its code the cases reach cannot be told: {counted}"
        new = counted.new(self._reference.keys)
        if any(gap.words != _ELSEWHERE for gap in new):
            new = self._not_with_substitutes(one, counted)
        shown = list({(gap.file, gap.line): gap for gap in reversed(new)}.values())[::-1]
        said = [
            *map(str, shown),
            *(f"{gap}, and the rewrite leaves it out" for gap in self._lost(one, counted)),
        ]
        more = f"; and {len(said) - _MOST} more" if len(said) > _MOST else ""
        return "; ".join(said[:_MOST]) + more

    def _lost(self, one: Candidate, counted: _Counted) -> list[Gap]:
        """Return the conditions of the reference of which the candidate has fewer, and of which no
        case or substitute with which both answer the same tells what one outcome does."""
        if one.binary is not None or one.compiler is not None:
            return []
        fewer = Counter(fork.text for fork in self._reference.text.forks)
        fewer.subtract(fork.text for fork in counted.text.forks)

        def lost(reference: _Counted) -> list[Gap]:
            gaps = [gap for gap in reference.gaps if gap.words in CONDITIONAL]
            # Which of several with the same words is missing cannot be told: the first is named.
            return list({gap.text: gap for gap in gaps[::-1] if fewer[gap.text] > 0}.values())[::-1]

        whole, reference = unmodified(self.subject), self._reference
        for pair in self.dependence.compared(one):
            if not lost(reference):
                break
            more = self._counts(whole, reference, pair)
            if isinstance(more, str) or lost(run := reference.with_run(more)) == lost(reference):
                continue
            if self.dependence.agrees(one, pair):
                reference = run
        return lost(reference)

    @cached_property
    def _reference(self) -> _Counted:
        """The counters of the reference; without any if they are unknown."""
        counted = self._counted(unmodified(self.subject))
        return _NOTHING if isinstance(counted, str) else counted

    def _not_with_substitutes(self, one: Candidate, counted: _Counted) -> list[Gap]:
        """Return the gaps that stay with substituted inputs, and that the reference does not have.

        Only substitutes count for which the candidate's outputs equal the reference's.
        """
        whole, reference = unmodified(self.subject), self._reference
        known = reference.keys
        for pair in self.dependence.compared(one):
            new = counted.new(known)
            if not new:
                break
            more = self._counts(one, counted, pair)
            if isinstance(more, str) or counted.with_run(more).new(known) == new:
                continue
            if self.dependence.agrees(one, pair):
                counted = counted.with_run(more)
                # Code behind a closed gap has gaps of its own, which the reference may share.
                same = self._counts(whole, reference, pair)
                if not isinstance(same, str):
                    reference = reference.with_run(same)
                    known |= reference.keys
        return counted.new(known)

    def _counted(self, one: Candidate) -> _Counted | str:
        """Return the counters of a candidate after running all cases, or the error in words.

        A candidate with its own binary or compiler has no counters.
        """
        count = self.subject.front_end.branches
        if one.binary is not None or one.compiler is not None or count is None:
            return _NOTHING
        compiler = one.compiled_by(self.compiler)
        phenotype = compiler.preprocess([one.variant(0)])[0]
        if isinstance(phenotype, BuildFailure):
            return phenotype.message
        apart = tuple(self._for_others(one, phenotype.text))
        text = count(phenotype.text)
        if not text.counts:
            return replace(_NOTHING, apart=apart)
        made = replace(phenotype, text=text.text, key=key(text.text, phenotype.options))
        (binary,) = compiler.compile([made], self.folder)
        if isinstance(binary, BuildFailure):
            return f"with counts in it, it does not compile: {binary.message}"
        counted = _Counted(text, binary, apart, (0,) * text.counts)
        most = self._counts(one, counted)
        if isinstance(most, str):
            return f"with counts in it, it fails: {most}"
        return counted.with_run(most)

    def _counts(
        self, one: Candidate, counted: _Counted, other: Substituted | None = None
    ) -> tuple[int, ...] | str:
        """Return the counters of one run, or the error in words.

        The run is on all cases, or on the smallest case with a substituted input.
        """
        if counted.binary is None:
            return ()
        cases, limit = self.cases, _LIMIT
        if other is not None:
            cases, limit = self.dependence.cases, self.dependence.patience.limit
        program = one.program(counted.binary, cases)
        answer = self.pool.ask(CountLoops(program, counted.text.counts, limit, other))
        return answer.most if isinstance(answer, LoopCounts) else answer.message

    def _for_others(self, one: Candidate, text: str) -> Iterator[Gap]:
        """Yield gaps for lines that the preprocessor leaves out here but includes for another
        device.

        They are looked for only if the candidate has a condition that the reference does not have.

        Args:
            text: the candidate's text, preprocessed for this device.
        """
        directives = set(_DIRECTIVE.findall(one.text))
        if not directives.difference(_DIRECTIVE.findall(unmodified(self.subject).text)):
            return
        known = set(lines_of(text).items())
        for compiler in self.compiler.for_other_devices():
            other = compiler.preprocess([one.variant(0)])[0]
            if isinstance(other, BuildFailure):
                continue
            new = [row for row in lines_of(other.text).items() if row not in known]
            known.update(new)
            yield from (Gap(_ELSEWHERE, said, *place) for place, said in new)
