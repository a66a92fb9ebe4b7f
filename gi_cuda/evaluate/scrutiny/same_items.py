"""Do the blocks of a candidate do the work that those of the reference do? Where only some blocks
run, answers tell nothing of one whose blocks are numbered otherwise, or do the work of several."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final

from gi_cuda.backends.protocol.input_requests import WritesTheSame
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import Candidate, build_candidates

LIMIT: Final = 10.0
"""Seconds after which a launch counts as hung."""


@dataclass(frozen=True)
class SameItems:
    """Runs candidates beside the reference, and compares what they write to.

    Attributes:
        compiler: the back end's.
        workers: of a session that has the cases.
        folder: for binaries.
        cases: names of the cases.
    """

    compiler: Compiler
    reference: Program
    workers: Callable[[], Pool[int]]
    folder: Path
    cases: tuple[str, ...]
    _turn: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)
    _known: dict[Hashable, bool] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def holds(self, one: Candidate) -> bool:
        """Tell it of a candidate; one that cannot be run is taken to do the same work."""
        with self._turn:
            if one.key is None or one.key not in self._known:
                self._known[one.key] = self._holds(one)
            return self._known[one.key]

    def _holds(self, one: Candidate) -> bool:
        (built,) = build_candidates(self.compiler, [one], self.folder)
        if isinstance(built, BuildFailure):
            return True
        program = one.program(built, self.cases)
        return self._pool.ask(WritesTheSame(program, self.reference, LIMIT)) is not False

    @cached_property
    def _pool(self) -> Pool[int]:
        return self.workers()
