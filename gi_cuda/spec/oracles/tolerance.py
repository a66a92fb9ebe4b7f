"""The oracle ``tolerance``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.oracles.base import Judgement, Outputs, ValueCheck, shown
from gi_cuda.spec.oracles.compare import Array, Mask, besides, beyond, differing, unwritten
from gi_cuda.spec.oracles.rules import Allowed, Rules, ValueRule

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key


@dataclass(frozen=True, slots=True)
class Tolerance(ValueCheck):
    """A check that ``|a - r| <= absolute + relative * |r|`` for each value a and its reference r.

    Attributes:
        absolute, relative: tolerances.
        buffers: names of the judged buffers; empty: all.
        outside: share of a buffer's values that may be further off; NaN and infinities may not.
        item: size of a struct, for buffers that hold structs as bytes; None: no structs.
        members: type, offset and count of each member of a struct. Integer members must be equal;
            bytes between members are not judged.
    """

    kind: Literal["tolerance"] = field(default="tolerance", kw_only=True)
    absolute: key.NotNegative = 0.0
    relative: key.NotNegative = 0.0
    buffers: tuple[str, ...] = ()
    outside: key.Share = 0.0
    item: key.Count | None = None
    members: dict[key.Name, key.Place] = field(default_factory=dict)

    def wider(self, times: float) -> Self:
        return replace(self, absolute=times * self.absolute, relative=times * self.relative)

    def rules(self, types: Mapping[str, NumberType]) -> Rules | None:
        names = self.buffers or tuple(types)
        if self.outside:
            return None
        if not self.members:
            return {name: (self._rule(types[name]),) for name in names}
        if self.item is None or any(types[name].small for name in names):
            return None
        members = tuple(
            replace(
                self._rule(NumberType(place.dtype.name)),
                item=self.item,
                at=place.at,
                count=place.count,
            )
            for place in self.members.values()
        )
        return dict.fromkeys(names, members)

    def _rule(self, kind: NumberType) -> ValueRule:
        """Return the rule for numbers of a type; it agrees with :meth:`wrong`."""
        if self.item and kind.small is None and kind.dtype.kind in "iu":
            return ValueRule(Allowed.UNDEFINED, kind)
        return ValueRule(Allowed.NEAR, kind, self.absolute, self.relative)

    def wrong(self, got: Array, reference: Array) -> Mask:
        if self.item and got.dtype.kind in "iu":
            return differing(got, reference)
        mask = beyond(got, reference, self.absolute, self.relative)
        return besides(mask, got, self.outside)

    def expected(self, reference: Array, index: int) -> object:
        want = reference[index]
        if unwritten(want):
            return shown(want)
        return f"{want} ± {self.absolute + self.relative * abs(float(want)):g}"

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Outputs) -> Judgement:
        """Count the wrong values, or the wrong members of structs."""
        if not self.members:
            return super(Tolerance, self).judge(case, outputs, reference)
        names = self.buffers or tuple(outputs)
        got, want = self._apart(outputs, names), self._apart(reference, names)
        return replace(self, buffers=tuple(got), members={}).judge(case, got, want)

    def _apart(self, outputs: Outputs, names: tuple[str, ...]) -> dict[str, Array]:
        """Split buffers of structs into one array for each member."""
        found = {}
        for name in names:
            raw = outputs[name].view("uint8")
            size = self.item or raw.size
            items = raw[: raw.size // size * size].reshape(-1, size)
            for member, place in self.members.items():
                part = items[:, place.at : place.at + place.bytes]
                found[f"{name}.{member}"] = part.copy().view(place.dtype).reshape(-1)
        return found
