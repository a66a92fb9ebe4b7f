"""The oracle ``exact``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.oracles.base import ValueCheck
from gi_cuda.spec.oracles.compare import Array, Mask, differing
from gi_cuda.spec.oracles.rules import Allowed, Rules, ValueRule


@dataclass(frozen=True, slots=True)
class Exact(ValueCheck):
    """A check that every value has the same bits as the reference's; all NaNs are equal."""

    kind: Literal["exact"] = field(default="exact", kw_only=True)
    buffers: tuple[str, ...] = ()

    def rules(self, types: Mapping[str, NumberType]) -> Rules:
        return {
            name: (ValueRule(Allowed.UNDEFINED, types[name]),) for name in self.buffers or types
        }

    def wrong(self, got: Array, reference: Array) -> Mask:
        return differing(got, reference)
