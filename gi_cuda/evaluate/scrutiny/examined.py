"""Examinations of candidates by their compilers, with a cache."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import JobThreads
from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.subject import Subject


@dataclass(frozen=True)
class Examined:
    """A cache of examinations of candidates.

    Attributes:
        compiler: compiler of candidates that name none.
    """

    subject: Subject
    compiler: Compiler
    _known: dict[Hashable, Examination] = field(default_factory=dict, repr=False, compare=False)
    _turn: Lock = field(default_factory=Lock, repr=False, compare=False)

    def of(self, some: Sequence[Candidate]) -> list[Examination]:
        """Examine candidates, as many at a time as there are cores."""
        with self._turn:  # two checks examine the same candidates at the same time
            return self._of(some)

    def _of(self, some: Sequence[Candidate]) -> list[Examination]:
        new = [at for at, one in enumerate(some) if one.key is None or one.key not in self._known]
        with JobThreads[int, Examination](lambda at: self._examined(some[at]), cores()) as threads:
            for at in new:
                threads.submit(at)
            found = dict(threads.next() for _ in new)
        self._known.update((some[at].key, one) for at, one in found.items() if some[at].key)
        return [found[at] if at in found else self._known[one.key] for at, one in enumerate(some)]

    @cached_property
    def reference(self) -> Examination:
        """The examination of the reference."""
        return self._examined(unmodified(self.subject))

    def _examined(self, one: Candidate) -> Examination:
        if one.binary is not None:
            return Examination()
        return one.compiled_by(self.compiler).examined(one.variant(0))
