"""Memory of a target's buffers on the device, and memory that no launch may write to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout.arena import Arena, arena_supported
from gi_cuda.backends.cuda.device.memory_layout.memory import (
    GUARD,
    Memory,
    MemoryCheck,
    Region,
    guards,
)
from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.backends.protocol.programs import CasePlan
from gi_cuda.spec import Buffer, BufferRole, CaseData, CaseRole, Target
from gi_cuda.spec.case_data.addresses import addressed, numbered

_Key: TypeAlias = tuple[str, str, int]
"""Key of a buffer's memory: the case, the buffer's name, the number of elements."""

_PLANS = 256
"""Number of buffer sizes for which zones are cached; many variants have the same."""


@dataclass(frozen=True, slots=True)
class Zone:
    """Memory that no launch may write to: a check that also mends it, and its name."""

    check: MemoryCheck
    name: str


class Buffers:
    """The memory of a target's buffers, case by case.

    Args:
        target: the target.
        cases: its cases by name.
        context: the worker's context.
        memory: the device's memory.
    """

    def __init__(
        self, target: Target, cases: Mapping[str, CaseData], context: Context, memory: Memory
    ) -> None:
        self._target = target
        self._cases = cases
        self._context = context
        self._memory = memory
        self._pristine: dict[tuple[str, str], Any] = {}
        self._written = set[tuple[str, str]]()
        self._rooms: dict[_Key, Region] = {}
        self._regions: dict[_Key, Region] = {}
        cushioned = target.cases if arena_supported() else ()
        self._cushioned = {case.name for case in cushioned if case.role is CaseRole.TRAIN}
        self._arena: tuple[Arena, Region] | None = None
        self._control = 0
        self._zones: dict[int, tuple[Mapping[str, int], int, Sequence[Zone]]] = {}

    def original(self, plan: CasePlan, buffer: Buffer) -> int:
        """Return the address of a copy of a case's contents, which no launch gets."""
        key, room = (plan.case, buffer.name), self._room_for_original(plan, buffer)
        if key not in self._written:
            given = self._cases[plan.case].buffers[buffer.name]
            self._memory.write(room, self.stored(plan, buffer, given))
            self._written.add(key)
        return int(room)

    def _room_for_original(self, plan: CasePlan, buffer: Buffer) -> Any:
        """Return memory for this copy, which may still be unfilled."""
        key = (plan.case, buffer.name)
        if key not in self._pristine:
            given = self._cases[plan.case].buffers[buffer.name]
            self._pristine[key] = self._memory.room_for(f"the buffer {buffer.name}", given)
        return self._pristine[key]

    def stored(self, plan: CasePlan, buffer: Buffer, values: Any) -> Any:
        """Convert a buffer's values to their form in memory: see :func:`addressed`."""
        return addressed(self._target, buffer, values, partial(self._address, plan))

    def told(self, plan: CasePlan, buffer: Buffer, held: Any) -> Any:
        """Convert the contents of a buffer's memory to values: see :func:`numbered`."""
        return numbered(self._target, buffer, held, partial(self._address, plan))

    def _address(self, plan: CasePlan, name: str) -> int:
        """Return the address of a buffer's first element. The buffer may still be unfilled."""
        return self._room(plan, name).address + plan.offsets.get(name, 0)

    def region(self, plan: CasePlan, name: str) -> Region:
        """Return the memory of a buffer; it is made and filled by the first call."""
        key = _key(plan, name)
        if key not in self._regions:
            buffer, region = self._buffer(name), self._room(plan, name)
            if buffer.role.given:
                self.original(plan, buffer)
            arena, _ = self._cushion(plan) or (None, None)
            self._memory.fill(region, arena)
            self._regions[key] = region
        return self._regions[key]

    def _room(self, plan: CasePlan, name: str) -> Region:
        """Return the memory of a buffer, which may still be unfilled."""
        key, buffer = _key(plan, name), self._buffer(name)
        if key not in self._rooms:
            pristine = int(self._room_for_original(plan, buffer)) if buffer.role.given else 0
            size = plan.sizes[name] * buffer.dtype.itemsize
            arena, _ = self._cushion(plan) or (None, None)
            self._rooms[key] = self._memory.room(name, size, pristine, arena)
        return self._rooms[key]

    def _buffer(self, name: str) -> Buffer:
        return next(b for b in self._target.buffers if b.name == name)

    def _cushion(self, plan: CasePlan) -> tuple[Arena, Region] | None:
        """Return the arena for the buffers of a case that gives fitness; None for other cases."""
        if plan.case not in self._cushioned:
            return None
        if self._arena is None:
            arena = Arena(self._context)
            arena.extend()
            self._control = arena.allocate("the control of confined code", GUARD)
            self._arena = (arena, self._memory.cushion(arena))
        return self._arena

    def control(self, plan: CasePlan) -> int:
        """Return the address of the control block of confined code; 0 if the case has none."""
        return self._control if self._cushion(plan) else 0

    @property
    def shadowed(self) -> bool:
        """Tell whether confined code can look up the addresses that it accesses."""
        return self._arena is not None and self._arena[0].shadow.there

    def all(
        self, plan: CasePlan, variables: Mapping[str, Region]
    ) -> Iterator[tuple[Buffer, Region]]:
        """Yield each buffer with its memory, as far as that is known.

        Args:
            variables: the variant's variables that are buffers.
        """
        for buffer in self._target.buffers:
            if buffer.symbol is None:
                yield buffer, self.region(plan, buffer.name)
            elif buffer.name in variables:
                yield buffer, variables[buffer.name]

    def judged(
        self, plan: CasePlan, variables: Mapping[str, Region]
    ) -> list[tuple[Buffer, Region]]:
        """Return the buffers that the oracle judges, with their memory after all launches.

        Args:
            variables: the variant's variables that are buffers.

        Raises:
            LaunchRefused: the variant has lost a variable that is an output.
        """
        regions = {b.name: region for b, region in self.all(plan, variables)}
        judged = []
        for buffer in self._target.buffers:
            if buffer.role.judged:
                name = plan.storage[buffer.name]
                if name not in regions:
                    raise LaunchRefused(f"the compiled source holds no variable {buffer.symbol}")
                judged.append((buffer, regions[name]))
        return judged

    def make_room(self, plan: CasePlan) -> None:
        """Allocate and fill the buffers of a case, unless that was done before.

        Raises:
            LaunchRefused: the device has too little memory.
        """
        names = [
            buffer.name
            for buffer in self._target.buffers
            if buffer.symbol is None and _key(plan, buffer.name) not in self._regions
        ]
        if names:
            self._cushion(plan)
            for name in names:
                self._room(plan, name)
            # Filling them would disturb the measurements of others.
            with self._context.slot.lock.turn():
                for name in names:
                    self.region(plan, name)

    def restore(self, plan: CasePlan) -> None:
        """Restore all buffers except inputs for a launch. Does not wait."""
        for buffer in self._target.buffers:
            if buffer.symbol is None and buffer.role is not BufferRole.INPUT:
                self._memory.restore(self.region(plan, buffer.name))

    def zones(self, plan: CasePlan, variables: Mapping[str, Region]) -> Sequence[Zone]:
        """Return everything that no launch may write to; ``variables`` as for :meth:`all`.

        This includes buffers of other cases: otherwise a later variant that runs on these would be
        blamed for the writes.
        """
        # Sizes belong to one case. They are kept so that their id() stays unique.
        sizes, known, zones = self._zones.get(id(plan.sizes), (None, 0, ()))
        if variables or sizes is None or known != len(self._regions):
            zones = tuple(self._all_zones(plan, variables))
        if not variables:
            if len(self._zones) > _PLANS:
                self._zones.clear()
            self._zones[id(plan.sizes)] = plan.sizes, len(self._regions), zones
        return zones

    def _all_zones(self, plan: CasePlan, variables: Mapping[str, Region]) -> Iterator[Zone]:
        for buffer, region in self.all(plan, variables):
            yield from self._around(region, buffer.name, buffer.role)
        roles = {buffer.name: buffer.role for buffer in self._target.buffers}
        own = {(plan.case, name, size) for name, size in plan.sizes.items()}
        for (case, name, size), region in self._regions.items():
            if (case, name, size) not in own:
                yield from self._around(region, f"{name} of the case {case}", roles[name])
        if cushion := self._cushion(plan):
            _, filling = cushion
            check = MemoryCheck(filling.address, filling.size, mended=True)
            yield Zone(check, "memory far from all buffers")

    def _around(self, region: Region, name: str, role: BufferRole) -> Iterator[Zone]:
        """Yield the zones of a buffer: an input itself, and the memory beside any buffer."""
        if role is BufferRole.INPUT:
            yield Zone(MemoryCheck(region.address, region.size, region.pristine, True), name)
        for check, word in zip(guards(region), ("before", "behind"), strict=False):
            yield Zone(check, f"memory {word} {name}")


def _key(plan: CasePlan, name: str) -> _Key:
    return (plan.case, name, plan.sizes[name])
