"""The oracle ``tolerance``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gi_cuda.spec.oracles.base import ValueCheck
from gi_cuda.spec.oracles.compare import Array, Mask, beyond

if TYPE_CHECKING:
    from gi_cuda.spec import key_types as key


@dataclass(frozen=True, slots=True)
class Tolerance(ValueCheck):
    """Every value a fulfils ``|a - r| <= absolute + relative * |r|`` for the reference's r."""

    kind: Literal["tolerance"] = field(default="tolerance", kw_only=True)
    absolute: key.NotNegative = 0.0
    relative: key.NotNegative = 0.0
    buffers: tuple[str, ...] = ()

    def wrong(self, got: Array, reference: Array) -> Mask:
        return beyond(got, reference, self.absolute, self.relative)

    def expected(self, reference: Array, index: int) -> object:
        want = reference[index]
        return f"{want} ± {self.absolute + self.relative * abs(float(want)):g}"
