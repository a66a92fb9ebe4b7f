"""Outputs of launches: how large they are, a hash of them, and writes where there must be none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xxhash

from gi_cuda.backends.protocol.programs import CasePlan, Outputs
from gi_cuda.spec.oracles import Judgement


def damage_of(case_plan: CasePlan, damaged: Sequence[str]) -> Judgement | None:
    """Judge by what was written to and must not be; None where that is nothing."""
    if not damaged:
        return None
    reason = f"{case_plan.case}: wrote where it must not: {', '.join(damaged)}"
    return Judgement(float(len(damaged)), reason)


def bytes_of(outputs: Outputs) -> int:
    """Return the size of all outputs, bytes."""
    return sum(array.nbytes for array in outputs.values())


def digest_of(outputs: Outputs) -> bytes:
    """Return a hash of names, types and contents."""
    digest = xxhash.xxh3_128()
    for name, array in sorted(outputs.items()):
        digest.update(f"{name} {array.dtype} {array.size} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
