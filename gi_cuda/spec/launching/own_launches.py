"""Launches of a rewritten source that replaces a target's source."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gi_cuda.spec.target import LaunchSequence, Scalar, Target


@dataclass(frozen=True, slots=True)
class OwnLaunches:
    """The launches of a rewritten source on the cases of a target.

    Attributes:
        launches: launches of the rewritten source, in order.
        scalars: the target's scalars, and scalars that are computed from them for the launches.
    """

    launches: tuple[LaunchSequence, ...]
    scalars: tuple[Scalar, ...]

    def of(self, target: Target) -> Target:
        """Return the target with these launches, their kernels and scalars."""
        steps = (step for sequence in self.launches for step in sequence.steps)
        kernels = tuple(dict.fromkeys(step.kernel for step in steps))
        return replace(target, kernels=kernels, launches=self.launches, scalars=self.scalars)
