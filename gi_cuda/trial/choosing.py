"""Try the kernels of a source in order until a target passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.init import Choice, Proposal, Ranked, first_that_passes
from gi_cuda.trial.attempts import Attempts
from gi_cuda.trial.large import with_large_cases
from gi_cuda.trial.mending.blocks import with_several_blocks
from gi_cuda.trial.mending.tight_buffers import with_tight_buffers
from gi_cuda.trial.mending.ungrown import with_buffers_as_they_were
from gi_cuda.trial.mending.values import with_right_values
from gi_cuda.trial.mending.varying import with_varied_scalars
from gi_cuda.trial.reaching import with_more_reached
from gi_cuda.trial.search import Outcome, mended
from gi_cuda.trial.second import with_second_cases

BUDGET = 45.0
"""Seconds in which trials may begin, for all kernels together."""

EACH = 15.0
"""Seconds in which trials may begin for one kernel among others, once it is compiled."""

REACH = 10.0
"""Seconds in which trials may begin that increase coverage of the kernel."""

TIGHT = 8.0
"""Seconds in which trials may begin that reduce buffers."""

LARGE = 8.0
"""Seconds in which trials may begin of sizes for a GPU."""


@dataclass(frozen=True, slots=True)
class ProposalTrials:
    """Trials of proposals, one kernel after the other.

    Attributes:
        folder: a scratch folder.
        jobs: number of concurrent compiler processes.
        cache: cache of compiled code, if there is one.
        tell: called with a message on each step.
    """

    folder: Path
    jobs: int
    cache: CodeCache | None
    tell: Callable[[str], None]

    def of(self, proposal: Proposal, seconds: float = BUDGET) -> Outcome:
        """Try one proposal, fix it, and improve it if it passes.

        Args:
            seconds: time for fixes, once the proposal is compiled.
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
        """Return the first kernel that passes its trial.

        If none passes, return the first kernel that a target can be made for.

        Args:
            every: all kernels, the best one first.
            propose: makes a target for a kernel name; None stands for the only kernel of the
                source.

        Raises:
            UserError: no kernel can become a target; the message is that of the first kernel.
        """
        until = time.monotonic() + BUDGET
        attempt = partial(self.of, seconds=EACH if len(every) > 1 else BUDGET)
        return first_that_passes(every, propose, attempt, lambda: time.monotonic() < until)
