"""Fit a proposal that was read from a source to captured launches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gi_cuda.capture.expressions import Names, agrees, blocks_of, size_of
from gi_cuda.capture.launches.observed import Observation
from gi_cuda.capture.launches.recording import Taken
from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element
from gi_cuda.init import Proposal, Step
from gi_cuda.init.kernel.access import Access
from gi_cuda.init.kernel.sizes import Extent, bracketed
from gi_cuda.init.kernel.tuning import is_division
from gi_cuda.init.proposing.buffers import SEEN, Image, Notes, ProposedBuffer
from gi_cuda.init.proposing.geometry import Launching
from gi_cuda.init.proposing.members import ProposedScalar

_AXES = "xyz"
_NAME = re.compile(r"[A-Za-z_]\w*")
_FORMATS = {
    **{1: "uint8", 2: "uint16", 3: "uint32", 8: "int8", 9: "int16", 10: "int32"},
    **{16: "float16", 32: "float32"},
}
_SHORT = ("uint8", "int8", "uint16", "int16")
"""Types that a texture may read as real numbers."""
_MODES = ("wrap", "clamp", "mirror", "border")
_AS_INTEGER, _NORMALIZED = 1, 2
"""Flags of a texture object."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A proposal that agrees with captured launches.

    Attributes:
        proposal: the fitted proposal.
        source: the proposal as it was read from the source.
        launches: launches that one target can make, in order.
        numbers: values of each launch that became scalars of the target, besides the kernel's
            arguments.
        left_out: number of launches that were left out because their pointers have another pattern.
        alike: number of launches that were left out because their inputs equal those of others.
        idle: number of launches that were left out because they changed nothing.
        not_kept: number of launches that could not be recorded.
    """

    proposal: Proposal
    source: Proposal
    launches: tuple[Observation, ...]
    numbers: tuple[Mapping[str, int], ...]
    left_out: int
    alike: int = 0
    idle: int = 0
    not_kept: int = 0

    def only(self, numbers: Sequence[int]) -> Fitted:
        """Keep the launches with the given indices."""
        return replace(
            self,
            launches=tuple(self.launches[i] for i in numbers),
            numbers=tuple(self.numbers[i] for i in numbers),
        )


def fit(proposal: Proposal, observations: Sequence[Observation]) -> Fitted:
    """Set sizes, roles and launch geometry of a proposal to those of captured launches.

    Args:
        proposal: the proposal that was read from the source.
        observations: captured launches, at least one.

    Raises:
        UserError: the kernel wrote nothing.
    """
    patterns = Counter(one.pattern for one in observations)
    most, _ = patterns.most_common(1)[0]
    launches = tuple(one for one in observations if one.pattern == most)
    fitter = _Fitter(proposal, launches)
    fitted = fitter.fitted()
    return Fitted(fitted, proposal, launches, fitter.numbers, len(observations) - len(launches))


def step_name(what: str, number: int) -> str:
    """Return the name of a step's number that becomes a scalar: ``grid``, in step two ``grid2``."""
    return f"{what}{number + 1}" if number else what


class _Fitter:
    """Expressions for observed numbers. A number without one becomes a scalar of each case."""

    def __init__(self, proposal: Proposal, launches: Sequence[Observation]) -> None:
        self._proposal, self._launches = proposal, launches
        self._defaults = {p.name: p.default for p in proposal.parameters if p.active}
        self._scalars = [one.integers for one in launches]
        self._names: list[dict[str, int]] = [{**self._defaults, **one} for one in self._scalars]
        self._own: dict[str, list[int]] = {}
        self._extents: list[Extent] = []
        self._grids: list[str] = []

    @property
    def numbers(self) -> tuple[dict[str, int], ...]:
        """Numbers of each launch that became scalars of the target."""
        count = range(len(self._launches))
        return tuple({name: values[i] for name, values in self._own.items()} for i in count)

    def fitted(self) -> Proposal:
        """Return the proposal, fitted to the launches."""
        proposal, first = self._proposal, self._launches[0]
        steps = [self._step(number, step) for number, step in enumerate(proposal.steps)]
        gone = first.same.keys() | first.nowhere
        kept = [self._buffer(one) for one in proposal.buffers if one.name not in gone]
        named = dict.fromkeys(name for step in proposal.steps for name in step.arguments)
        nulls = [self._null(name) for name in named if name in first.nowhere]
        buffers = _judged(tuple(kept), proposal)
        structs = tuple(
            replace(one, members=tuple(self._members(one.members))) for one in proposal.structs
        )
        return replace(
            proposal,
            buffers=buffers,
            scalars=(*map(self._seen, proposal.scalars), *nulls),
            structs=structs,
            arguments=steps[0].arguments,
            extents=tuple(self._extents),
            launching=steps[0].launching,
            further=tuple(steps[1:]),
            mark="confirm",
        )

    def _members(self, members: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
        """Yield the members of a struct, without null pointers.

        Raises:
            UserError: two pointers in the struct are equal.
        """
        first, seen = self._launches[0], set[str]()
        for name, at in members:
            own = first.same.get(name, name)
            if own in seen:
                raise UserError(
                    f"two pointers in a struct are the same: {own} and {name}",
                    where=str(self._proposal.source),
                    hint="take other launches: --launches FIRST..LAST, or another kernel",
                )
            if name not in first.nowhere:
                seen.add(own)
                yield own, at

    def _seen(self, scalar: ProposedScalar) -> ProposedScalar:
        """Set a scalar's value to the integer that the first launch got, and say if it varied."""
        first, *others = (one.integers.get(scalar.name) for one in self._launches)
        value = scalar.value if first is None else first
        varied = first is None or any(one != first for one in others)
        return replace(scalar, computed=None, source=True, value=value, varied=varied)

    def _null(self, name: str) -> ProposedScalar:
        note = "a null pointer"
        return ProposedScalar(name, Element("uint64"), 0, source=True, computed="0", note=note)

    def _step(self, number: int, read: Step) -> Step:
        same = self._launches[0].same
        taken = [one.taken.steps[number] for one in self._launches]
        arguments = tuple(same.get(name, name) for name in read.arguments)
        return Step(read.kernel, self._launching(number, read.launching, taken), arguments)

    def _launching(self, number: int, read: Launching, taken: Sequence[Taken]) -> Launching:
        names = [step_name(what, number) for what in ("grid", "block", "shared")]
        block = self._extent(names[1], read.block, [one.block for one in taken], self._threads)
        by = [*block, *["1"] * 3]
        grids = [one.grid for one in taken]
        found: list[str] = []

        def blocks(values: Sequence[int], names: Sequence[Names]) -> str | None:
            return _worded(blocks_of(values, names, by[len(found)], self._names))

        grid = self._extent(names[0], read.grid, grids, blocks, found)
        many = " * ".join(map(bracketed, (one for one in grid if one != "1")))
        # Sizes do not depend on parameters, so parameters are replaced by their defaults.
        self._grids.append(_NAME.sub(lambda name: str(self._defaults.get(name[0], name[0])), many))
        shared = self._shown(names[2], read.shared, [one.shared for one in taken], size_of)
        as_read = (grid, block, shared) == (read.grid, read.block, read.shared)
        place = read.place if as_read else None
        return Launching(grid, block, shared, place, seen=True, cooperative=read.cooperative)

    def _extent(
        self,
        what: str,
        read: Sequence[str],
        seen: Sequence[Sequence[int]],
        guess: Callable[[Sequence[int], Sequence[Names]], str | None],
        found: list[str] | None = None,
    ) -> tuple[str, ...]:
        """Return an expression for each axis, up to the last one along which a launch exceeds 1."""
        found = [] if found is None else found
        axes = max([1, *(axis + 1 for axis in range(3) if any(one[axis] != 1 for one in seen))])
        for axis in range(axes):
            text = read[axis] if axis < len(read) else "1"
            values = [one[axis] for one in seen]
            found.append(self._shown(f"{what}_{_AXES[axis]}", text, values, guess))
        return tuple(found)

    def _shown(
        self,
        name: str,
        read: str | None,
        values: Sequence[int],
        guess: Callable[[Sequence[int], Sequence[Names]], str | None],
    ) -> str:
        """Return an expression for observed numbers: from the source, else guessed, else a scalar.

        Args:
            name: name of the scalar.
            read: expression of the source; None if there is none.
            values: observed number in each launch.
            guess: finds an expression for numbers, or returns None.
        """
        if read is not None and agrees(read, values, self._names):
            return read
        return guess(values, self._scalars) or self._scalar(name, values)

    def _threads(self, values: Sequence[int], names: Sequence[Names]) -> str | None:
        """Guess an expression for the threads of a block along an axis.

        If the name of exactly one parameter suggests a block size and its default is the observed
        number, the expression is this parameter.
        """
        divisions = [name for name in self._defaults if is_division(name)]
        meant = [name for name in divisions if set(values) == {self._defaults[name]}]
        return meant[0] if len(meant) == 1 else size_of(values, names)

    def _items(self, values: Sequence[int], names: Sequence[Names]) -> str | None:
        """Guess an expression for the number of items of a buffer; at last, one item per block."""
        found = _sized(values, names)
        grids = (text for text in self._grids if agrees(text, values, self._names))
        return found or next(grids, None)

    def _scalar(self, name: str, values: Sequence[int]) -> str:
        proposal = self._proposal
        taken = {one.name for one in proposal.buffers} | {one.name for one in proposal.scalars}
        taken |= {one.name for one in proposal.structs} | self._own.keys()
        taken |= {one.name for one in proposal.parameters}
        while name in taken:
            name += "_"
        self._own[name] = list(values)
        for known, value in zip(self._names, values, strict=True):
            known[name] = value
        note = "as it was in each launch"
        self._extents.append(Extent(name, False, values[0], values[0], values[0], note))
        return name

    def _buffer(self, buffer: ProposedBuffer) -> ProposedBuffer:
        """Return a buffer with its observed size and role."""
        if buffer.texture is not None:
            buffer = self._texture(buffer)
        pieces = [one.pieces[buffer.name] for one in self._launches]
        size = buffer.element.bytes
        begins = [(one.end - one.begin - one.ahead) // size for one in pieces]
        items = [one.ahead // size for one in pieces]
        if buffer.symbol is None:
            read = buffer.elements
            elements = self._shown(f"{buffer.name}_size", read, items, self._items)
        else:
            elements = str(items[0])
        begin = ""
        if any(begins):
            begin = self._shown(f"{buffer.name}_begin", None, begins, size_of)
        names = [name for name, other in self._launches[0].same.items() if other == buffer.name]
        also = [one for one in self._proposal.buffers if one.name in names]
        access = buffer.access
        for one in also:
            access |= one.access
        const = buffer.const and all(one.const for one in also)
        role, note = _role(access, const, any(one.changed for one in pieces))
        return replace(
            buffer,
            elements=elements,
            begin=begin,
            role=role,
            access=Access.READ if role == "input" else access,
            const=const,
            notes=Notes(role=note),
        )

    def _texture(self, buffer: ProposedBuffer) -> ProposedBuffer:
        """Return a buffer with the properties of the texture object that reads it.

        Raises:
            UserError: the texture objects of the launches differ.
        """
        every = [one.pieces[buffer.name].memory.texture for one in self._launches]
        seen = [one for one in every if one is not None]
        first = seen[0]
        alike = {replace(one, size=()) for one in seen}
        kind = _FORMATS.get(first.format)
        if len(alike) > 1 or kind is None:
            raise UserError(
                f"the texture {buffer.texture} is not made of the same in all launches",
                where=str(self._proposal.source),
                hint="take launches that are alike: --launches FIRST..LAST",
            )
        count = 0 if first.linear else sum(1 for one in first.size if one) - first.layered
        sizes = tuple(
            self._shown(f"{buffer.texture}_{name}", None, [one.size[axis] for one in seen], _sized)
            for axis, name in enumerate(_AXES[:count])
        )
        layers = None
        if first.layered:
            deep = [one.size[2] for one in seen]
            layers = self._shown(f"{buffer.texture}_layers", None, deep, _sized)
        modes = tuple(_MODES[mode] for mode in first.address[: max(1, count)])
        if first.linear:
            modes = ("clamp",)  # the default; linear memory has no address mode
        image = Image(
            size=sizes,
            layers=layers,
            filter="linear" if first.filter else "point",
            address=modes if len(set(modes)) > 1 else modes[:1],
            normalized=bool(first.flags & _NORMALIZED),
            as_float=kind in _SHORT and not first.flags & _AS_INTEGER,
            note=SEEN,
        )
        element = Element(kind, first.channels)
        return replace(buffer, element=element, image=image, access=Access.READ)


_UNCHANGED = "written, as far as the source says; no launch was seen to change it"
"""Note on a buffer that no launch changed although the source writes to it. Such a buffer is
restored and judged, because the launches may have written the values that it held."""


def _worded(text: str | None) -> str | None:
    """Return an expression; None if it is a mere number, which another run may change."""
    return None if text is not None and text.isdecimal() and text != "1" else text


def _sized(values: Sequence[int], names: Sequence[Names]) -> str | None:
    return _worded(size_of(values, names))


def _role(access: Access, const: bool, changed: bool) -> tuple[str, str]:
    """Return the role of a buffer and the reason for it."""
    if access == Access.WRITE:
        return "output", "only written, as the source says"
    if changed:
        return "inout", "seen to be written"
    if const or access in (Access.NONE, Access.READ):
        return "input", "only read"
    return "inout", _UNCHANGED


def _judged(buffers: tuple[ProposedBuffer, ...], proposal: Proposal) -> tuple[ProposedBuffer, ...]:
    if any(one.role != "input" and one.notes.role != _UNCHANGED for one in buffers):
        return buffers
    raise UserError(
        f"no launch of {proposal.kernel} that was captured changed anything, so there is nothing to"
        " judge",
        where=str(proposal.source),
        hint="take launches that do: --launches FIRST..LAST, numbers from 1",
    )
