"""Trying proposed targets: the reference runs, and what goes wrong is mended."""

from gi_cuda.trial.bench import Bench, no_compiler
from gi_cuda.trial.choosing import Trials
from gi_cuda.trial.search import Outcome, mended

__all__ = ["Bench", "Outcome", "Trials", "mended", "no_compiler"]
