"""What compiled sources take of the device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gi_cuda.backends.protocol.variants import Binary, BlockSize
from gi_cuda.evaluate.candidates import Candidate, build_candidates
from gi_cuda.runs.tools import Tools
from gi_cuda.spec import Configuration, LaunchError, Target, find_case, load_case, plan


def resources(tools: Tools, candidates: Sequence[Candidate]) -> list[Mapping[str, int]]:
    """For each source, compiled in one batch, what the compiler says of its kernels, and what a
    closer look tells: instructions by class, occupancy. Nothing for those that do not compile.

    Occupancy is that of each kernel's first launch on the first train case.
    """
    folder = tools.scratch("resources")
    built = build_candidates(tools.compiler, candidates, folder)
    target = tools.subject.target
    scalars = load_case(target, find_case(target, tools.train()[0])).scalars
    found: list[Mapping[str, int]] = []
    for one, binary in zip(candidates, built, strict=True):
        if isinstance(binary, Binary):
            own = one.launches.of(target) if one.launches else target
            blocks = _blocks(own, one.configuration, scalars)
            found.append({**binary.resources, **tools.compiler.inspect(binary, blocks)})
        else:
            found.append({})
    return found


def _blocks(
    target: Target, configuration: Configuration, scalars: Mapping[str, np.generic]
) -> dict[str, BlockSize]:
    """What a block of each kernel has at its first launch; nothing where no launch is valid."""
    try:
        launches = plan(target, configuration, scalars)
    except LaunchError:
        return {}
    # Backwards, so that the first launch is what stays.
    return {
        launch.kernel: BlockSize(math.prod(launch.block), launch.shared)
        for launch in reversed(launches)
    }
