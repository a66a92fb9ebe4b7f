"""Try proposed targets: run the reference, and fix what goes wrong."""

from gi_cuda.trial.attempts import Attempts, no_compiler
from gi_cuda.trial.choosing import ProposalTrials
from gi_cuda.trial.search import Outcome, mended
from gi_cuda.trial.wish import Proposed, Wish

__all__ = ["Attempts", "Outcome", "ProposalTrials", "Proposed", "Wish", "mended", "no_compiler"]
