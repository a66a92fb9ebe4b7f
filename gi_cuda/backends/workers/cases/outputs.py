"""Functions of outputs: their size, a hash, and a verdict on writes outside of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xxhash

from gi_cuda.backends.protocol.programs import CasePlan, Outputs
from gi_cuda.spec.oracles import Judgement


def damage_of(case_plan: CasePlan, damaged: Sequence[str]) -> Judgement | None:
    """Return a judgement about memory that was written but must not be; None if there was none."""
    if not damaged:
        return None
    reason = f"{case_plan.case}: wrote where it must not: {', '.join(damaged)}"
    return Judgement(float(len(damaged)), reason)


def bytes_of(outputs: Outputs) -> int:
    """Return the size of all outputs in bytes."""
    return sum(array.nbytes for array in outputs.values())


def digest_of(outputs: Outputs) -> bytes:
    """Return a hash of names, types and contents."""
    digest = xxhash.xxh3_128()
    for name, array in sorted(outputs.items()):
        digest.update(f"{name} {array.dtype} {array.size} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
