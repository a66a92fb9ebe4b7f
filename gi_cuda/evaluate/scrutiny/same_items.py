"""Check that the blocks of a candidate do the same work as those of the reference.

If only some blocks run, the outputs say nothing about a candidate with another numbering of blocks,
or with blocks that do the work of several.
"""

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
"""Time limit of a launch, in seconds."""


@dataclass(frozen=True)
class SameItems:
    """A comparison of the items that candidates and the reference write.

    Attributes:
        compiler: compiler of the back end.
        workers: starts or returns workers of a session that has the cases.
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
        """Tell whether a candidate writes the same items; True if it cannot run."""
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
