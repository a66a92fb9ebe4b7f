"""What can be wrong with a target that its file alone does not show: each check is a pure function
of facts, and what it finds says where, what, and what to do."""

from gi_cuda.evaluate.checks.finding import Finding

__all__ = ["Finding"]
