"""A target that passes, for the best kernel of a source for which there is one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.compile.code_cache import CodeCache
from gi_cuda.errors import UserError
from gi_cuda.init import Choice, Proposal, Ranked
from gi_cuda.trial.bench import Bench
from gi_cuda.trial.search import Outcome, mended

BUDGET = 45.0
"""Seconds in which trials are begun, of all kernels together."""

EACH = 15.0
"""The same of one kernel."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Tries proposals, one kernel after the other.

    Attributes:
        folder: a scratch one.
        jobs: compiler processes at a time.
        cache: of compiled code, if there is one.
        tell: is told what is done next.
    """

    folder: Path
    jobs: int
    cache: CodeCache | None
    tell: Callable[[str], None]

    def of(self, proposal: Proposal) -> Outcome:
        """What becomes of one proposal."""
        self.tell(f"trying {proposal.kernel} on the host back end")
        name = f"{len(list(self.folder.iterdir()))}"
        bench = Bench(self.folder / name, self.jobs, self.cache)
        return mended(proposal, bench.attempt, time.monotonic() + EACH)

    def best(
        self, every: Sequence[Ranked], propose: Callable[[str | None], Proposal]
    ) -> tuple[Choice, Outcome]:
        """The first kernel that passes its trial; the first that can become a target, where none
        passes.

        Args:
            every: all kernels, the best one first.
            propose: makes a target for a kernel; for None, for the only one there is.

        Raises:
            UserError: no kernel can become a target; the message is the first one's.
        """
        until = time.monotonic() + BUDGET
        if len(every) < 2:
            outcome = self.of(propose(every[0].kernel if every else None))
            return Choice(outcome.proposal, every[0]), outcome
        passed: list[tuple[Ranked, UserError]] = []
        first: tuple[Choice, Outcome] | None = None
        for index, one in enumerate(every):
            if first is not None and time.monotonic() > until:
                break
            try:
                proposal = propose(one.kernel)
            except UserError as error:
                passed.append((one, error))
                continue
            outcome = self.of(proposal)
            choice = Choice(outcome.proposal, one, tuple(passed), tuple(every[index + 1 :]))
            if outcome.passes:
                return choice, outcome
            first = first or (choice, outcome)
            passed.append((one, UserError(f"its trial fails: {outcome.trouble}")))
        if first is not None:
            return first
        best, reason = passed[0]
        more = f"; none of its {len(every) - 1} other kernels can become a target either"
        raise UserError(f"{best.kernel}: {reason.what}{more}", where=reason.where, hint=reason.hint)
