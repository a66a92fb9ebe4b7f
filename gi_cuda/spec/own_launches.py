"""Launches of a source that takes the place of a target's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gi_cuda.spec.target import LaunchSequence, Scalar, Target


@dataclass(frozen=True, slots=True)
class OwnLaunches:
    """The launches of a rewritten source on the cases of a target.

    Attributes:
        launches: in order.
        scalars: the target's, and those that are computed from them for these launches.
    """

    launches: tuple[LaunchSequence, ...]
    scalars: tuple[Scalar, ...]

    def of(self, target: Target) -> Target:
        """The target with these launches."""
        steps = (step for sequence in self.launches for step in sequence.steps)
        kernels = tuple(dict.fromkeys(step.kernel for step in steps))
        return replace(target, kernels=kernels, launches=self.launches, scalars=self.scalars)
