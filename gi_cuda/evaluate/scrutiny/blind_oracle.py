"""Check that the oracle tells right outputs from none; else nothing is certified.

A tolerance that is wider than all outputs accepts anything: outputs of 1e-24 are all within 1e-9 of
each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gi_cuda.backends.protocol.requests import SpoilOutputs, Spoilt
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.spec import Target

NOTHING: Final = ("zero", "far off")
"""Replacements of all values of an output, as named in :class:`Spoilt`."""


@dataclass(frozen=True)
class BlindOracle:
    """A check of a target's oracle with spoilt outputs of the reference.

    Attributes:
        pool: workers of a session in which the reference's outputs are recorded.
        cases: names of the cases.
    """

    target: Target
    pool: Pool[int]
    cases: tuple[str, ...]

    @cached_property
    def objection(self) -> str:
        """The objection to all candidates; "" if some output is rejected both as zeros and as
        distant values.
        """
        spoilt = self.pool.ask(SpoilOutputs(self.cases))
        if not isinstance(spoilt, Spoilt):
            return ""
        accepted = {
            one.buffer for one in spoilt.unseen if one.share == 1 and one.filling in NOTHING
        }
        judged = [one.name for one in self.target.buffers if one.role.judged]
        if not accepted.issuperset(judged):
            return ""
        return (
            f"the oracle accepts zeros or anything else in place of {', '.join(judged)} on all"
            " cases: nothing tells what is right. Narrow the tolerance in [oracle], or give it data"
            " with larger answers"
        )
