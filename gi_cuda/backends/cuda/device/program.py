"""A variant as the CUDA back end's device holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.device.context import BoundLaunch
from gi_cuda.backends.cuda.device.memory import Region
from gi_cuda.backends.protocol.device import Bindings
from gi_cuda.spec import View


@dataclass(frozen=True, slots=True)
class Bound:
    """A variant on one case.

    Attributes:
        bindings: its launches.
        variables: those of its own that are buffers.
        surfaces: one view of each that its launches get, with the memory of its buffer.
        confined: whether its code is.
        choices: where a schema reads which of its variants it is.
    """

    bindings: Bindings[BoundLaunch]
    variables: Mapping[str, Region]
    surfaces: Sequence[tuple[View, Region]]
    confined: bool
    choices: Sequence[int]


@dataclass(slots=True)
class CudaProgram:
    """A variant's module and what was bound of it, by case.

    Attributes:
        kept: the variables that it may write to, those of its parts and its lender among them.
        lender: the reference's, where the variant is lent some of its kernels.
        parts: its other parts, by the identifiers of what they have.
    """

    binary: CudaBinary
    module: Any
    kept: Sequence[Region]
    lender: CudaProgram | None = None
    parts: Mapping[str, CudaProgram] = field(default_factory=dict)
    bound: dict[str, Bound] = field(default_factory=dict)

    @property
    def others(self) -> list[CudaProgram]:
        """What has the rest of the variant."""
        parts = {id(one): one for one in self.parts.values()}.values()
        return [*parts, *([self.lender] if self.lender else [])]

    def holder(self, name: str) -> tuple[CudaBinary, Any]:
        """The binary that has a kernel or variable of the variant, if any has it, and its module.

        Args:
            name: its identifier.
        """
        if name in self.parts:
            return self.parts[name].holder(name)
        if self.lender is not None and name in self.binary.lent:
            return self.lender.binary, self.lender.module
        return self.binary, self.module
