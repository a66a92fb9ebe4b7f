"""Assign the arguments and memory of a recorded launch to the names of a proposal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.capture.launches.recording import Memory, Pointer, Taken
from gi_cuda.errors import UserError
from gi_cuda.init import Proposal
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.proposing.members import ProposedScalar
from gi_cuda.spec.numbers import NumberType

_ALIGNED = 256
"""Alignment of allocators, bytes. An aligned pointer into a memory is taken for the start of an
allocation of its own, made within the memory."""

Value = int | float | NDArray[Any]
"""Value of a scalar argument; an array if the scalar has several elements."""


_PART = 1 << 22
"""Elements that are processed at a time, because arrays may be too large for a copy."""


def in_parts(*arrays: NDArray[Any]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield arrays of the same length in parts of at most `_PART` elements."""
    for begin in range(0, len(arrays[0]), _PART):
        yield tuple(one[begin : begin + _PART] for one in arrays)


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a memory that belongs to a buffer.

    Attributes:
        memory: the memory.
        begin, end: offsets in the memory, bytes.
        ahead: bytes from the address in the kernel's pointer to `end`.
    """

    memory: Memory
    begin: int
    end: int
    ahead: int

    def read(self, dtype: str, *, after: bool) -> NDArray[Any]:
        """Read the contents before the launch, or after it."""
        return self._part(self.memory.after if after else self.memory.before, dtype)

    def again(self, dtype: str) -> list[NDArray[Any]]:
        """Read the contents after each repetition of the launch with the same inputs."""
        return [self._part(file, dtype) for file in self.memory.again]

    def _part(self, file: Path, dtype: str) -> NDArray[Any]:
        return self.memory.read(file)[self.begin : self.end].view(NumberType(dtype).dtype)

    @property
    def changed(self) -> bool:
        """Tell whether the launch changed the contents."""
        if not self.memory.changed:
            return False
        before, after = self.read("uint8", after=False), self.read("uint8", after=True)
        return any(not np.array_equal(one, other) for one, other in in_parts(before, after))


@dataclass(frozen=True)
class Observation:
    """One launch of a proposal's kernel.

    Attributes:
        taken: the recorded launch.
        scalars: value of each scalar.
        same: buffers that begin at the address of another buffer: name to name of the other.
        nowhere: buffers whose pointer is null or, in a struct, a host pointer.
        pieces: memory of all other buffers.
    """

    taken: Taken
    scalars: Mapping[str, Value]
    same: Mapping[str, str]
    nowhere: frozenset[str]
    pieces: Mapping[str, Piece]

    @property
    def pattern(self) -> tuple[object, ...]:
        """Pattern of equal and null pointers. Launches of one target share their pattern."""
        return tuple(sorted(self.same.items())), self.nowhere

    @cached_property
    def integers(self) -> dict[str, int]:
        """Integer scalars, which expressions may use."""
        return {name: value for name, value in self.scalars.items() if isinstance(value, int)}


def observe(proposal: Proposal, taken: Taken) -> Observation:
    """Assign arguments and memory of a launch to the names of a proposal.

    Raises:
        UserError: the launch does not fit the source, or an address cannot be followed.
    """
    parts = list(_parts(proposal, taken))
    scalars: dict[str, Value] = {}
    addresses: dict[str, tuple[int, int, int]] = {}
    named = {s.name: s for s in proposal.scalars}
    for name, parameter, at in parts:
        got = taken.parameters[parameter]
        if name in named:
            value = _value(named[name], got, at)
            alike = np.array_equal(scalars.setdefault(name, value), value)
        else:
            place = (parameter, at, _address(got, at))
            alike = addresses.setdefault(name, place)[2] == place[2]
        if not alike:
            raise UserError(
                f"the kernels get {name} for another thing each, though the source has one name for"
                " both",
                where=str(proposal.source),
                hint="capture each by itself: one --kernel in a command",
            )
    places = {(one.parameter, one.at): one for one in taken.pointers}
    pointers: dict[str, Pointer] = {}
    for name, (parameter, at, address) in addresses.items():
        if (parameter, at) in places:
            pointers[name] = places[parameter, at]
        elif address and any(name in step.arguments for step in proposal.steps):
            raise UserError(
                f"the kernel got {address:#x} for {name}, which is no address in memory that can"
                " be read",
                where=str(proposal.source),
                hint="host memory that is not made by CUDA, and memory of other processes, cannot"
                " be captured: cudaMalloc, cudaMallocManaged or cudaHostAlloc can",
            )
    for name, one in pointers.items():
        element = next(b.element for b in proposal.buffers if b.name == name)
        if element.addresses and taken.memories[one.memory].addresses:
            raise _not_followed(proposal, f"pointers in memory, {name}")
    pieces, same = _pieces(proposal, taken, pointers)
    nowhere = frozenset(addresses.keys() - pointers.keys())
    pieces |= _variables(proposal, taken)
    names = texture_names(proposal)
    for memory in taken.memories:
        if memory.texture is not None:
            name = names[proposal.arguments[memory.texture.parameter]]
            pieces[name] = Piece(memory, 0, memory.size, memory.size)
    return Observation(taken, scalars, same, nowhere, pieces)


def _parts(proposal: Proposal, taken: Taken) -> Iterator[tuple[str, int, int]]:
    """Yield scalars and buffers: name, number of the parameter, and offset in it, bytes.

    Raises:
        UserError: the sizes of the parameters differ from those of the source.
    """
    sizes = {s.name: NumberType(s.element.type).dtype.itemsize * s.count for s in proposal.scalars}
    structs = {one.name: one for one in proposal.structs}
    textures = texture_names(proposal)
    arguments = [name for step in proposal.steps for name in step.arguments]
    expected = [structs[name].size if name in structs else sizes.get(name, 8) for name in arguments]
    found = [len(one) for one in taken.parameters]
    if expected != found:
        raise UserError(
            f"the source of {proposal.kernel} is not that of the program: it takes parameters of"
            f" {_list(expected)} bytes, and the launch got {_list(found)}",
            where=str(proposal.source),
            hint="build the program from this source, or name the right one: --source FILE",
        )
    for index, name in enumerate(arguments):
        if name in textures:
            continue
        if name in structs:
            yield from ((member, index, at) for member, at in structs[name].members)
        else:
            yield name, index, 0


def texture_names(proposal: Proposal) -> dict[str, str]:
    """Map each parameter that is a texture to the name of the buffer that the texture reads.

    Raises:
        UserError: a parameter is a surface, or a texture is part of a struct.
    """
    found = {one.texture: one for one in proposal.buffers if one.texture}
    for name, one in found.items():
        if name not in proposal.arguments or (one.image is not None and one.image.surface):
            raise _not_followed(proposal, f"{name}, a surface or a texture in a struct")
    return {name: one.name for name, one in found.items()}


def without_addresses(proposal: Proposal) -> Proposal:
    """Remove from a proposal the buffers behind pointers in memory, which are not followed."""
    inner = {name for one in proposal.buffers for name, _ in one.addresses}
    kept = [replace(one, addresses=()) for one in proposal.buffers if one.name not in inner]
    return replace(proposal, buffers=tuple(kept))


def _not_followed(proposal: Proposal, what: str) -> UserError:
    return UserError(
        f"{proposal.kernel} gets {what}, and what that leads to is not captured",
        where=str(proposal.source),
        hint=f"write a target with other data: `gi-cuda init {proposal.source}`",
    )


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "no"


def _value(scalar: ProposedScalar, parameter: bytes, at: int) -> Value:
    found = np.frombuffer(parameter, scalar.element.type, scalar.count, at)
    one: int | float = found[0].item()
    return found if scalar.count > 1 else one


def _address(parameter: bytes, at: int) -> int:
    return int.from_bytes(parameter[at : at + 8], "little")


def _pieces(
    proposal: Proposal, taken: Taken, pointers: Mapping[str, Pointer]
) -> tuple[dict[str, Piece], dict[str, str]]:
    """Split memories into buffers at the pointers of a launch.

    Returns:
        The part of a memory for each buffer, and the buffers that begin at the address of another.
    """
    elements = {one.name: one.element for one in proposal.buffers}
    first: dict[tuple[int, int], str] = {}
    same: dict[str, str] = {}
    for name, one in pointers.items():
        other = first.setdefault((one.memory, one.offset), name)
        if other != name:
            same[name] = other
    pieces: dict[str, Piece] = {}
    for (number, offset), name in first.items():
        memory = taken.memories[number]
        others = sorted(at for place, at in first if place == number)
        end = next((at for at in others if at > offset), memory.size)
        item = elements[name].bytes
        whole = (end - offset) // item * item
        back = offset if offset == others[0] and offset % _ALIGNED else 0
        begin = offset - back // item * item
        pieces[name] = Piece(memory, begin, offset + whole, whole)
    return pieces, same


def _variables(proposal: Proposal, taken: Taken) -> dict[str, Piece]:
    found = {one.symbol: one for one in taken.memories if one.symbol}
    pieces: dict[str, Piece] = {}
    for buffer in proposal.buffers:
        if buffer.symbol is None:
            continue
        memory = found.get(buffer.symbol)
        if memory is None:
            raise UserError(
                f"the program has no variable {buffer.symbol}, which {proposal.kernel} uses",
                where=str(proposal.source),
                hint="build the program from this source, or name the right one: --source FILE",
            )
        pieces[buffer.name] = Piece(memory, 0, memory.size, memory.size)
    return pieces


def mangled_variable(buffer: ProposedBuffer) -> tuple[str, ...]:
    """Return the mangled names that a device variable may have."""
    parts = (buffer.symbol or "").split("::")
    inner = "".join(f"{len(part)}{part}" for part in parts)
    if len(parts) > 1:
        own = f"L{len(parts[-1])}{parts[-1]}"
        outer = "".join(f"{len(part)}{part}" for part in parts[:-1])
        return f"_ZN{inner}E", f"_ZN{outer}{own}E", f"_ZN12_GLOBAL__N_1{inner}E"
    return parts[0], f"_ZL{inner}", f"_ZN12_GLOBAL__N_1{inner}E", f"_ZN12_GLOBAL__N_1L{inner}E"
