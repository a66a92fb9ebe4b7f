"""Read the resources that compiled kernels use: registers, instructions, occupancy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gi_cuda.backends.protocol.variants import Binary, BlockSize
from gi_cuda.evaluate.candidates import Candidate, build_candidates
from gi_cuda.runs.tools import Tools
from gi_cuda.spec import Configuration, LaunchError, Target, find_case, load_case, plan


def resources(tools: Tools, candidates: Sequence[Candidate]) -> list[Mapping[str, int]]:
    """Compile candidates in one batch and return the resources of each.

    Resources are the compiler's numbers for the kernels, instructions by class, and the occupancy
    of each kernel's first launch on the first train case. They are empty for a candidate that does
    not compile.
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
    """Return threads and shared memory of a block at each kernel's first launch, by kernel.

    The result is empty if there is no valid launch.
    """
    try:
        launches = plan(target, configuration, scalars)
    except LaunchError:
        return {}
    # In reverse order, so that the first launch of each kernel overwrites the later ones.
    return {
        launch.kernel: BlockSize(math.prod(launch.block), launch.shared)
        for launch in reversed(launches)
    }
