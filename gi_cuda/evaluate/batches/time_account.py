"""Account of the wall time of a batch, by phase."""

from __future__ import annotations

from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Phases


class Account:
    """Seconds by phase. Time without compiling is divided in the ratio of the workers' phases.

    Attributes:
        spent: the time so far; may be read from any thread.
    """

    def __init__(self) -> None:
        self.spent = Phases()
        self._run = self._verify = 0.0

    def worked(self, evaluation: Evaluation) -> None:
        """Add the time that a worker spent on measuring and verifying."""
        self._run += evaluation.run_seconds
        self._verify += evaluation.verify_seconds

    def passed(self, seconds: float, *, compiling: bool) -> None:
        """Add wall time, in which something was compiled or nothing was."""
        if compiling:
            self.spent += Phases(compile=seconds)
            return
        both = self._run + self._verify
        share = self._verify / both if both else 0.0
        self.spent += Phases(run=seconds * (1 - share), verify=seconds * share)
