"""Propose a target of several kernels that are launched one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from gi_cuda.errors import UserError
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.proposing.buffers import Image, ProposedBuffer
from gi_cuda.init.proposing.geometry import with_room
from gi_cuda.init.proposing.members import ProposedScalar
from gi_cuda.init.proposing.proposal import Proposal, Step, propose

_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*(?:\(\))?)*")
"""Expressions of host code that name one value: ``n``, ``grid.width``, ``data.size()``."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_T = TypeVar("_T")
_N = TypeVar("_N", bound=_Named)


def propose_several(
    path: Path, wanted: Sequence[str], compilation: Compilation, hosts: Sequence[Path] = ()
) -> Proposal:
    """Propose a target that launches several kernels once each, in the order of the host code.

    Kernels share the buffers and scalars for which host code passes the same expression. If no
    launch
    is found, they share parameters of equal name and type.

    Raises:
        UserError: one of the kernels cannot become a target, or two of them take a buffer as
            different types.
    """
    names = [*dict.fromkeys(wanted)]
    return join(_in_order([propose(path, name, compilation, hosts) for name in names]))


def join(each: Sequence[Proposal]) -> Proposal:
    """Merge proposals of kernels that are launched in this order.

    Raises:
        UserError: two of them take a buffer as different types.
    """
    first, *others = each
    joined = _Joined(first, dict(_keys(first)))
    for one in others:
        joined = _join(joined, one)
    whole = joined.proposal
    launchings = [step.launching for step in whole.steps]
    elements = [buffer.elements for buffer in whole.buffers if buffer.elements]
    defaults = {p.name: p.default for p in whole.parameters if p.active}
    return replace(whole, extents=with_room(whole.extents, launchings, elements, defaults))


def said_of_several(proposal: Proposal) -> Iterator[str]:
    """Yield messages on the order of the kernels and what they share; none for a single kernel."""
    steps = proposal.steps
    if len(steps) < 2:
        return
    names = ", then ".join(step.kernel for step in steps)
    known = all(step.launching.place is not None for step in steps)
    order = "in the order of the host code" if known else "in an order that is to be confirmed"
    yield f"launches {names}: once each, {order}"
    for buffer in proposal.buffers:
        users = [step.kernel for step in steps if buffer.name in step.arguments]
        if len(users) > 1:
            yield f"  {buffer.name} is shared by {', '.join(users)}"


def _in_order(each: Sequence[Proposal]) -> list[Proposal]:
    """Return proposals in the order of their launches, if one file has all of these; else
    unchanged.
    """
    places = [one.use.place for one in each if one.use is not None]
    if len(places) < len(each) or len({place.file for place in places}) > 1:
        return [*each]
    lines = [place.line for place in places]
    return [each[index] for index in sorted(range(len(each)), key=lambda i: lines[i])]


@dataclass(frozen=True, slots=True)
class _Joined:
    """Several kernels as one proposal; ``keys`` maps each of its names to the host code's
    expression.
    """

    proposal: Proposal
    keys: Mapping[str, str]


def _keys(one: Proposal) -> Iterator[tuple[str, str]]:
    """Yield each buffer and scalar of a kernel with the host code's expression for it."""
    passed = {} if one.use is None else one.use.passed
    for buffer in one.buffers:
        own = f"symbol {buffer.symbol}" if buffer.symbol else passed.get(buffer.name, buffer.name)
        yield buffer.name, own if buffer.texture is None else _texture_key(buffer)
    for scalar in one.scalars:
        text = passed.get(scalar.name, scalar.name)
        # Only named values are shared: two equal numbers may be equal by chance.
        shared = _NAME.fullmatch(text) is not None
        yield scalar.name, text if shared else f"{one.kernel} {scalar.name}"


def _texture_key(buffer: ProposedBuffer) -> str:
    """Return the key of a texture: textures of equal name and shape are shared."""
    return f"texture {buffer.name} {buffer.image}"


def _join(joined: _Joined, one: Proposal) -> _Joined:
    """Append a kernel to a joined proposal."""
    whole, keys = joined.proposal, dict(joined.keys)
    types = {b.name: b.element for b in whole.buffers} | {s.name: s.element for s in whole.scalars}
    known = {key: name for name, key in keys.items()}
    own = {b.name: b for b in one.buffers} | {s.name: s for s in one.scalars}
    names: dict[str, str] = {}
    for name, key in _keys(one):
        shared = known.get(key)
        if shared is not None and _kind(own[name].element) == _kind(types[shared]):
            names[name] = shared
            continue
        if shared is not None and isinstance(own[name], ProposedBuffer):
            raise UserError(
                f"{one.kernel} takes `{key}` as {own[name].element.type}, and another kernel "
                f"as {types[shared].type}",
                where=str(one.source),
                hint="a target's buffer has one type: name fewer kernels with --kernel",
            )
        names[name] = _free(name, key, {*keys, *names.values()})
        keys[names[name]] = key
    textures = {b.texture for b in whole.buffers if b.texture}
    shared_textures = {b.name: b.texture for b in whole.buffers}
    for buffer in one.buffers:
        same = shared_textures.get(names[buffer.name])
        if buffer.texture is not None and same:
            names[buffer.texture] = same
        elif buffer.texture is not None:
            names[buffer.texture] = _free(buffer.texture, "", {*keys, *names.values(), *textures})
    structs = {struct.name for struct in whole.structs}
    for struct in one.structs:
        names[struct.name] = _free(struct.name, "", {*keys, *names.values(), *textures, *structs})
    return _Joined(_merged(whole, _renamed(one, names)), keys)


def _kind(element: object) -> str:
    """Return the scalar type of an element; vectors of different lengths have the same."""
    return str(getattr(element, "type", ""))


def _free(name: str, key: str, taken: set[str]) -> str:
    """Return a name that is not taken: the parameter's, the host code's, or one with a number."""
    tried = [name, *([key] if key.isidentifier() else [])]
    tried += [f"{name}_{number}" for number in range(2, 2 + len(taken) + 1)]
    return next(one for one in tried if one not in taken)


def _renamed(one: Proposal, names: Mapping[str, str]) -> Proposal:
    """Return a proposal with its kernel's parameters renamed."""

    def change(text: str) -> str:
        return _WORD.sub(lambda match: names.get(match[0], match[0]), text)

    return replace(
        one,
        buffers=tuple(_buffer(buffer, names, change) for buffer in one.buffers),
        scalars=tuple(_scalar(scalar, names, change) for scalar in one.scalars),
        structs=tuple(struct.renamed(names) for struct in one.structs),
        arguments=tuple(names.get(name, name) for name in one.arguments),
        extents=tuple(replace(e, name=names.get(e.name, e.name)) for e in one.extents),
        launching=one.launching.rewritten(change),
    )


def _buffer(
    buffer: ProposedBuffer, names: Mapping[str, str], change: Callable[[str], str]
) -> ProposedBuffer:
    return replace(
        buffer,
        name=names[buffer.name],
        elements=None if buffer.elements is None else change(buffer.elements),
        texture=None if buffer.texture is None else names[buffer.texture],
        addresses=tuple((names.get(name, name), at) for name, at in buffer.addresses),
        into=names.get(buffer.into, ""),
        image=None if buffer.image is None else _image(buffer.image, change),
    )


def _image(image: Image, change: Callable[[str], str]) -> Image:
    layers = None if image.layers is None else change(image.layers)
    return replace(image, size=tuple(map(change, image.size)), layers=layers)


def _scalar(
    scalar: ProposedScalar, names: Mapping[str, str], change: Callable[[str], str]
) -> ProposedScalar:
    computed = None if scalar.computed is None else change(scalar.computed)
    return replace(scalar, name=names[scalar.name], computed=computed)


def _merged(whole: Proposal, one: Proposal) -> Proposal:
    """Append a kernel's proposal to others; objects of equal name are shared."""
    latter = {buffer.name: buffer for buffer in one.buffers}
    both = [
        _shared(buffer, latter[buffer.name]) if buffer.name in latter else buffer
        for buffer in whole.buffers
    ]
    step = Step(one.kernel, one.launching, one.arguments)
    return replace(
        whole,
        evolving=_union(whole.evolving, one.evolving),
        kept=_union(whole.kept, one.kept),
        instances=_union(whole.instances, one.instances),
        functions=_by_name(whole.functions, one.functions),
        files={**one.files, **whole.files},
        parameters=_by_name(whole.parameters, one.parameters),
        buffers=_by_name(both, one.buffers),
        scalars=_by_name(whole.scalars, one.scalars),
        structs=(*whole.structs, *one.structs),
        extents=_by_name(whole.extents, one.extents),
        further=(*whole.further, step),
    )


def _shared(first: ProposedBuffer, then: ProposedBuffer) -> ProposedBuffer:
    """Return a buffer that one kernel uses after another."""
    role = first.role
    if role == "input" and then.role != "input":
        role = "inout"
    access = first.access if first.role == "inout" else first.access | then.access
    return replace(first, role=role, access=access, elements=first.elements or then.elements)


def _union(one: Sequence[_T], other: Sequence[_T]) -> tuple[_T, ...]:
    return (*one, *(item for item in other if item not in one))


def _by_name(one: Sequence[_N], other: Sequence[_N]) -> tuple[_N, ...]:
    known = {item.name for item in one}
    return (*one, *(item for item in other if item.name not in known))
