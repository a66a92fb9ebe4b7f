"""What is built as it is while it still rehearses: what will probably be right, where compilers
have nothing else to do.

A variant that is right is built twice, one time after the other, and in between waits for a worker.
With few variants under way, or at the end of a generation, half of the processors wait as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from gi_cuda.evaluate.batches.passes import Pass
from gi_cuda.evaluate.batches.promotion import FEW, Compilers


class Ahead:
    """The trials of a batch that may be built before it is known how they rehearsed, and are.

    Args:
        compilers: build them.
        measuring: the pass that they are built for.
    """

    def __init__(self, compilers: Compilers, measuring: Pass) -> None:
        self._compilers = compilers
        self._measuring = measuring
        self._waiting: dict[int, None] = {}
        self._begun: set[int] = set()
        self._over: set[int] = set()

    def expect(self, idents: Iterable[int]) -> None:
        """Some more begin to rehearse, and will probably be right."""
        if not self._compilers.disturbs:
            self._waiting |= dict.fromkeys(idents)

    @property
    def due(self) -> bool:
        """Whether there are some, and compilers that have nothing to do."""
        return bool(self._waiting) and self._idle >= max(1.0, FEW * self._compilers.jobs)

    @property
    def _idle(self) -> int:
        # What was begun just now keeps compilers busy soon.
        return min(self._compilers.idle, self._compilers.jobs - self._measuring.unbuilt)

    def build(self) -> None:
        """Begin to build one for each compiler that has nothing to do, where these are many."""
        if not self.due:
            return
        some = list(islice(self._waiting, self._idle))
        for ident in some:
            del self._waiting[ident]
        self._begun.update(some)
        self._measuring.build_ahead(some)

    def goes_on(self, ident: int) -> bool:
        """A rehearsal was right; whether the trial goes on with what was built of it ahead."""
        self._waiting.pop(ident, None)
        if ident not in self._begun:
            return False
        self._begun.remove(ident)
        self._measuring.release(ident)
        return True

    def is_free(self, ident: int) -> bool:
        """A trial is over; whether no compiler reads it any more. If one does, :meth:`freed` has it
        later."""
        self._waiting.pop(ident, None)
        if ident in self._begun:
            self._begun.remove(ident)
            if self._measuring.builds(ident):
                self._over.add(ident)
                return False
        return True

    def freed(self) -> Iterator[int]:
        """Those of the trials that are over which no compiler reads any more."""
        for ident in [one for one in self._over if not self._measuring.builds(one)]:
            self._over.remove(ident)
            yield ident
