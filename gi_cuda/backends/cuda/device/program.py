"""A variant as the CUDA back end's device holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.device.context import BoundLaunch
from gi_cuda.backends.cuda.device.memory_layout.memory import Region
from gi_cuda.backends.protocol.device import Bindings
from gi_cuda.spec import View


@dataclass(frozen=True, slots=True)
class Bound:
    """A variant bound to one case.

    Attributes:
        bindings: its launches.
        variables: the variant's variables that are buffers.
        surfaces: one view of each surface that its launches get, with the buffer's memory.
        confined: whether its code is confined.
        choices: addresses of the variables that select a schema's variant.
    """

    bindings: Bindings[BoundLaunch]
    variables: Mapping[str, Region]
    surfaces: Sequence[tuple[View, Region]]
    confined: bool
    choices: Sequence[int]


@dataclass(slots=True)
class CudaProgram:
    """A loaded variant: its module, and its bindings by case.

    Attributes:
        kept: the variables that it may write, including those of its parts and its lender.
        lender: the loaded reference, if the variant borrows kernels.
        parts: its other parts, by the identifiers of their kernels and variables.
    """

    binary: CudaBinary
    module: Any
    kept: Sequence[Region]
    lender: CudaProgram | None = None
    parts: Mapping[str, CudaProgram] = field(default_factory=dict)
    bound: dict[str, Bound] = field(default_factory=dict)

    @property
    def others(self) -> list[CudaProgram]:
        """The other programs that hold kernels of the variant."""
        parts = {id(one): one for one in self.parts.values()}.values()
        return [*parts, *([self.lender] if self.lender else [])]

    def holder(self, name: str) -> tuple[CudaBinary, Any]:
        """Return the binary and the module with a kernel or variable of the variant, if one has it.

        Args:
            name: identifier of the kernel or variable.
        """
        if name in self.parts:
            return self.parts[name].holder(name)
        if self.lender is not None and name in self.binary.lent:
            return self.lender.binary, self.lender.module
        return self.binary, self.module
