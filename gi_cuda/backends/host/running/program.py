"""A variant as the host back end's device holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gi_cuda.backends.host.running.runtime import BoundLaunch
from gi_cuda.backends.host.running.shard import Shard
from gi_cuda.backends.host.running.variables import OpenLibrary
from gi_cuda.backends.protocol.device import Bindings
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.spec.launching.kernel_names import identifier


@dataclass(slots=True)
class HostProgram:
    """A loaded variant: its library, and its bound calls by case.

    Attributes:
        lender: the loaded reference, if the variant borrows kernels.
        parts: its other parts, by the identifiers of their kernels and variables.
    """

    binary: Binary
    library: OpenLibrary
    lender: HostProgram | None = None
    parts: Mapping[str, HostProgram] = field(default_factory=dict)
    calls: dict[str, Bindings[BoundLaunch]] = field(default_factory=dict)

    def holder(self, name: str) -> tuple[Shard, str]:
        """Return the shard with a kernel or variable of the variant, and its namespace."""
        own = identifier(name)
        if own in self.parts:
            return self.parts[own].holder(name)
        if self.lender is not None and own in self.binary.lent:
            return self.lender.holder(name)
        return self.library.shard, self.binary.namespace

    def restore(self) -> None:
        """Reset all variables to their values after loading."""
        self.library.restore(self.binary.namespace)
        for one in self.others:
            one.restore()

    @property
    def others(self) -> list[HostProgram]:
        """The other programs that hold kernels of the variant."""
        parts = {id(one): one for one in self.parts.values()}.values()
        return [*parts, *([self.lender] if self.lender else [])]
