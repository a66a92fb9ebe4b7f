"""A target that passes, for the best kernel of a source for which there is one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gi_cuda.backends.compile.code_cache import CodeCache
from gi_cuda.init import Choice, Proposal, Ranked, first_that_passes
from gi_cuda.trial.attempts import Attempts
from gi_cuda.trial.blocks import with_several_blocks
from gi_cuda.trial.large import with_large_cases
from gi_cuda.trial.reaching import with_more_reached
from gi_cuda.trial.search import Outcome, mended
from gi_cuda.trial.second import with_second_cases
from gi_cuda.trial.tight import with_tight_buffers
from gi_cuda.trial.ungrown import with_buffers_as_they_were
from gi_cuda.trial.values import with_right_values
from gi_cuda.trial.varying import with_varied_scalars

BUDGET = 45.0
"""Seconds in which trials are begun, of all kernels together."""

EACH = 15.0
"""The same of one kernel among others, once it is compiled."""

REACH = 10.0
"""The same of data with which more of a kernel is reached."""

TIGHT = 8.0
"""The same of buffers that are no larger than the kernel goes."""

LARGE = 8.0
"""The same of the sizes for a GPU."""


@dataclass(frozen=True, slots=True)
class ProposalTrials:
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

    def of(self, proposal: Proposal, seconds: float = BUDGET) -> Outcome:
        """What becomes of one proposal.

        Args:
            seconds: in which it is mended, once it is compiled.
        """
        self.tell(f"trying {proposal.kernel} on the host back end")
        name = f"{len(list(self.folder.iterdir()))}"
        attempts = Attempts(self.folder / name, self.jobs, self.cache)
        outcome = mended(proposal, attempts.attempt, seconds)
        outcome = with_several_blocks(outcome, attempts.attempt)
        outcome = with_varied_scalars(outcome, attempts.attempt)
        until = time.monotonic() + REACH
        outcome = with_more_reached(outcome, attempts.attempt, attempts.reach, until)
        until = time.monotonic() + TIGHT
        outcome = with_tight_buffers(outcome, attempts.attempt, until)
        until = time.monotonic() + LARGE
        outcome = with_large_cases(outcome, attempts.attempt, attempts.large, until)
        outcome = with_buffers_as_they_were(outcome, attempts.attempt, attempts.large)
        outcome = with_second_cases(outcome, attempts.attempt)
        return with_right_values(outcome, attempts.values)

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
        attempt = partial(self.of, seconds=EACH if len(every) > 1 else BUDGET)
        return first_that_passes(every, propose, attempt, lambda: time.monotonic() < until)
