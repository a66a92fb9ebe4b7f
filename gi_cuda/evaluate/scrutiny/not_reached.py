"""Code of a candidate that no case reaches: whatever it does there, its answers are right.

A rewrite may hold a path for large sizes, or for what a buffer holds before a launch. Its
preprocessed text runs with a count for each outcome of each condition. What the original has in the
same words, and no case reaches there either, is the original's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from gi_cuda.backends.compile.preprocess import key
from gi_cuda.backends.protocol.requests import (
    CountLoops,
    LoopCounts,
)
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling, objections_of
from gi_cuda.grammar.branch_text import Gap, lines_of
from gi_cuda.subject import Subject

_LIMIT: Final = 120.0
"""Seconds that a counted run may take."""

_DIRECTIVE: Final = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[^\n]*", re.M)
_ELSEWHERE: Final = "only other devices are given {}"

_MOST: Final = 3
"""Most places that an objection names."""


@dataclass(frozen=True)
class NotReached:
    """Looks for code of candidates that no case reaches.

    Attributes:
        compiler: the back end's.
        folder: for binaries.
        workers: pools with names of cases that they know; what one of them reaches is reached.
    """

    subject: Subject
    compiler: Compiler
    folder: Path
    workers: tuple[tuple[Pool[int], tuple[str, ...]], ...]

    def objections(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """The objection to each of several candidates; None where cases reach all of it, or all
        but what they do not reach in the reference."""
        ruling = Ruling.UNVERIFIED
        return objections_of(self.said, some, quick=True, code="code-not-reached", ruling=ruling)

    def said(self, some: Sequence[Candidate]) -> list[str]:
        """The same in words; "" where there is nothing to say."""
        return [self._said(one) for one in some]

    def _said(self, one: Candidate) -> str:
        found = self.gaps(one)
        if isinstance(found, str):
            return f"which of its code the cases reach cannot be told: {found}"
        new = [gap for gap in found if (gap.words, gap.text) not in self._known]
        more = f"; and {len(new) - _MOST} more" if len(new) > _MOST else ""
        return "; ".join(map(str, new[:_MOST])) + more

    @cached_property
    def _known(self) -> frozenset[tuple[str, str]]:
        found = self.gaps(unmodified(self.subject))
        return frozenset(() if isinstance(found, str) else (gap[:2] for gap in found))

    def gaps(self, one: Candidate) -> list[Gap] | str:
        """The ways that no case takes in a candidate, the first of each line; in words, why that
        is not known. None of what a compiler made, or others."""
        count = self.subject.front_end.branches
        if one.binary is not None or one.compiler is not None or count is None:
            return []
        compiler = one.compiled_by(self.compiler)
        phenotype = compiler.preprocess([one.variant(0)])[0]
        if isinstance(phenotype, BuildFailure):
            return phenotype.message
        apart = list(self._for_others(one, phenotype.text))
        counted = count(phenotype.text)
        if not counted.counts:
            return apart
        text = replace(phenotype, text=counted.text, key=key(counted.text, phenotype.options))
        (binary,) = compiler.compile([text], self.folder)
        if isinstance(binary, BuildFailure):
            return f"with counts in it, it does not compile: {binary.message}"
        most = [0] * counted.counts
        for pool, cases in self.workers:
            answer = pool.one(CountLoops(one.program(binary, cases), len(most), _LIMIT))
            if not isinstance(answer, LoopCounts):
                return f"with counts in it, it fails: {answer.message}"
            most = list(map(max, most, answer.most))
        gaps = list(counted.gaps(most))
        first = {(gap.file, gap.line): gap for gap in reversed(gaps)}
        return [*apart, *(gap for gap in gaps if first[gap.file, gap.line] is gap)]

    def _for_others(self, one: Candidate, text: str) -> Iterator[Gap]:
        """Lines that a preprocessor leaves out here, and not for another device; looked for where
        a candidate asks for something that the reference does not ask for.

        Args:
            text: the candidate's, preprocessed for this device.
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
