"""Propose, try and fix a target for a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.init import (
    Compilation,
    Proposal,
    Ranked,
    Untried,
    first_that_passes,
    or_another,
    propose,
    propose_several,
    rank_kernels,
    said_of_several,
    unclosed,
)
from gi_cuda.trial.choosing import ProposalTrials


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal with messages about it.

    Attributes:
        chosen: messages on the choice of the kernel.
        tried: messages on the result of its trial.
        passes: True if the reference passes on its cases, or if it was not tried.
    """

    proposal: Proposal
    chosen: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    passes: bool = True


@dataclass(frozen=True, slots=True)
class Wish:
    """A request for a target of a source.

    Attributes:
        hosts: files that launch its kernels; found by a search if empty.
    """

    source: Path
    compilation: Compilation
    hosts: tuple[Path, ...]

    def propose(self, kernel: str | None) -> Proposal:
        """Propose a target for one kernel."""
        return propose(self.source, kernel, self.compilation, self.hosts)

    def named(self, kernels: Sequence[str]) -> Proposal:
        """Propose a target for kernels that the user named."""
        if len(kernels) == 1:
            try:
                return self.propose(kernels[0])
            except UserError as error:
                raise or_another(error, kernels[0], self._ranked()) from None
        return propose_several(self.source, kernels, self.compilation, self.hosts)

    def untried(self, kernels: Sequence[str], why: str) -> Proposed:
        """Propose a target without trying it.

        Args:
            why: the reason not to try it, for the message; "" for none.
        """
        tried = (f"not tried: {why}",) if why else ()
        if kernels:
            proposal = self.named(kernels)
            return Proposed(proposal, tuple(said_of_several(proposal)), tried)
        choice, _ = first_that_passes(self._ranked(), self.propose, Untried)
        return Proposed(choice.proposal, tuple(choice.lines()), tried)

    def tried(self, kernels: Sequence[str], trials: ProposalTrials) -> Proposed:
        """Propose a target that passes its trial, if there is one.

        Args:
            trials: tries proposals.

        Raises:
            UserError: the source does not compile, or has no kernel that can become a target.
        """
        if kernels:
            outcome = trials.of(self.named(kernels))
            proposal = outcome.proposal
            chosen = tuple(said_of_several(proposal))
        else:
            choice, outcome = trials.best(self._ranked(), self.propose)
            proposal, chosen = choice.proposal, tuple(choice.lines())
        slip = None if outcome.passes else unclosed(self.source)
        if error := slip or outcome.syntax_error:
            raise UserError(error.what, where=error.where, hint="mend it; nothing is written")
        return Proposed(proposal, chosen, tuple(outcome.lines()), outcome.passes)

    def _ranked(self) -> tuple[Ranked, ...]:
        return rank_kernels(self.source, self.compilation, self.hosts)
