"""Oracles: judge a variant's outputs against stored outputs of the reference.

An oracle consists of one or more checks. To add a kind of check, write its module and add its class
to `CHECKS`.
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
"""Kinds of checks: the class for each `kind` of ``[oracle]``."""

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
