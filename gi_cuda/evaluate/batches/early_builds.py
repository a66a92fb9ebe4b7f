"""Speculative builds: while a trial rehearses, idle compilers already build its unconfined code.

A right variant is built twice, one after the other, and waits for a worker in between. With few
variants under way, or at the end of a generation, half of the cores would be idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from gi_cuda.evaluate.batches.passes import Pass
from gi_cuda.evaluate.batches.promotion import FEW, Compilers


class EarlyBuilds:
    """The trials of a batch that are, or may be, built before their rehearsal has ended.

    Args:
        compilers: build the trials.
        measuring: the pass that needs the builds.
    """

    def __init__(self, compilers: Compilers, measuring: Pass) -> None:
        self._compilers = compilers
        self._measuring = measuring
        self._waiting: dict[int, None] = {}
        self._begun: set[int] = set()
        self._over: set[int] = set()

    def expect(self, idents: Iterable[int]) -> None:
        """Add trials that begin to rehearse and will probably be right."""
        if not self._compilers.disturbs:
            self._waiting |= dict.fromkeys(idents)

    @property
    def due(self) -> bool:
        """Tell whether there are trials to build and enough idle compilers."""
        return bool(self._waiting) and self._idle >= max(1.0, FEW * self._compilers.jobs)

    @property
    def _idle(self) -> int:
        # Builds that were started just now will keep compilers busy soon.
        return min(self._compilers.idle, self._compilers.jobs - self._measuring.unbuilt)

    def build(self) -> None:
        """Start the build of one trial for each idle compiler, if enough compilers are idle."""
        if not self.due:
            return
        some = list(islice(self._waiting, self._idle))
        for ident in some:
            del self._waiting[ident]
        self._begun.update(some)
        self._measuring.build_ahead(some)

    def goes_on(self, ident: int) -> bool:
        """Record a right rehearsal; tell whether the trial's speculative build is used."""
        self._waiting.pop(ident, None)
        if ident not in self._begun:
            return False
        self._begun.remove(ident)
        self._measuring.release(ident)
        return True

    def is_free(self, ident: int) -> bool:
        """Record that a trial has ended; tell whether no compiler reads its text any more.

        If one still does, :meth:`freed` yields the trial later.
        """
        self._waiting.pop(ident, None)
        if ident in self._begun:
            self._begun.remove(ident)
            if self._measuring.builds(ident):
                self._over.add(ident)
                return False
        return True

    def freed(self) -> Iterator[int]:
        """Yield ended trials whose text no compiler reads any more."""
        for ident in [one for one in self._over if not self._measuring.builds(one)]:
            self._over.remove(ident)
            yield ident
