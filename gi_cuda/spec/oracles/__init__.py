"""Oracles: whether a variant's outputs are acceptable, against stored reference outputs.

An oracle is one check or several. To add a kind of check, write its file and name it here.
"""

from gi_cuda.spec.oracles.base import Judgement, OutputCheck, Outputs
from gi_cuda.spec.oracles.compare import UNWRITTEN
from gi_cuda.spec.oracles.exact import Exact
from gi_cuda.spec.oracles.oracle import Oracle, Reference
from gi_cuda.spec.oracles.python import Python
from gi_cuda.spec.oracles.rules import Allowed, Rules, ValueRule
from gi_cuda.spec.oracles.sigma import Sigma
from gi_cuda.spec.oracles.tolerance import Tolerance
from gi_cuda.spec.oracles.unordered import Unordered

CHECKS = (Exact, Tolerance, Sigma, Unordered, Python)
"""What ``[oracle]`` may be, one class for each `kind`."""

__all__ = [
    "CHECKS",
    "UNWRITTEN",
    "Allowed",
    "Exact",
    "Judgement",
    "Oracle",
    "OutputCheck",
    "Outputs",
    "Python",
    "Reference",
    "Rules",
    "Sigma",
    "Tolerance",
    "Unordered",
    "ValueRule",
]
