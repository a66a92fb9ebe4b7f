"""What the wall time of a batch went into."""

from __future__ import annotations

from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Phases


class Account:
    """Seconds by phase. Where nothing is compiled, they are divided as those of workers are.

    Attributes:
        spent: so far; may be asked for from any thread.
    """

    def __init__(self) -> None:
        self.spent = Phases()
        self._run = self._verify = 0.0

    def worked(self, evaluation: Evaluation) -> None:
        """A worker has measured and verified."""
        self._run += evaluation.run_seconds
        self._verify += evaluation.verify_seconds

    def passed(self, seconds: float, *, compiling: bool) -> None:
        """Some time is over, in which something was compiled or nothing was."""
        if compiling:
            self.spent += Phases(compile=seconds)
            return
        both = self._run + self._verify
        share = self._verify / both if both else 0.0
        self.spent += Phases(run=seconds * (1 - share), verify=seconds * share)
