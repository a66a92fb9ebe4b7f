"""What compiled sources take of the device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gi_cuda.backends.protocol.variants import Binary, BlockSize
from gi_cuda.evaluate.candidates import Candidate, build_candidates
from gi_cuda.runs.run import Tools
from gi_cuda.spec import Configuration, LaunchError, find_case, load_case, plan


def resources(tools: Tools, candidates: Sequence[Candidate]) -> list[Mapping[str, int]]:
    """For each source, compiled in one batch, what the compiler says of its kernels, and what a
    closer look tells: instructions by class, occupancy. Nothing for those that do not compile.

    Occupancy is that of each kernel's first launch on the first train case.
    """
    folder = tools.scratch("resources")
    built = build_candidates(tools.compiler, candidates, folder)
    blocks = _Blocks(tools)
    return [
        {**binary.resources, **tools.compiler.inspect(binary, blocks.of(one.configuration))}
        if isinstance(binary, Binary)
        else {}
        for one, binary in zip(candidates, built, strict=True)
    ]


class _Blocks:
    """What a block of each kernel has on the first train case."""

    def __init__(self, tools: Tools) -> None:
        self._target = tools.subject.target
        case = find_case(self._target, tools.train()[0])
        self._scalars = load_case(self._target, case).scalars

    def of(self, configuration: Configuration) -> dict[str, BlockSize]:
        """At each kernel's first launch; nothing where there is no valid launch."""
        try:
            launches = plan(self._target, configuration, self._scalars)
        except LaunchError:
            return {}
        # Backwards, so that the first launch is what stays.
        return {
            launch.kernel: BlockSize(math.prod(launch.block), launch.shared)
            for launch in reversed(launches)
        }
