"""What a kernel gets: buffers, scalars, and what the host code passes for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.element_types import Element
from gi_cuda.grammar.frontends.cuda.file import Argument
from gi_cuda.init.access import Access, accesses
from gi_cuda.init.buffers import ProposedBuffer, role_of
from gi_cuda.init.launching import LaunchSite
from gi_cuda.init.sources import Chosen
from gi_cuda.init.texture_setup import set_up
from gi_cuda.init.textures import is_object, memory_of


@dataclass(frozen=True, slots=True)
class ProposedScalar:
    """A value that the kernel gets.

    Attributes:
        value: what it is where it does not say how much data there is.
        source: whether the host code says so.
        computed: how the host code computes it from other scalars, if it does.
        note: what was found out about its value.
    """

    name: str
    element: Element
    value: int | float
    source: bool
    computed: str | None = None
    note: str = ""


def read_arguments(
    source: Chosen, use: LaunchSite | None
) -> tuple[tuple[ProposedBuffer, ...], tuple[ProposedScalar, ...], tuple[str, ...]]:
    """The buffers and scalars that a kernel gets, and all their names in its order.

    Args:
        use: a launch, for what the host code passes.

    Raises:
        UserError: a parameter that no target can pass.
    """
    code, kernel, types = source.code, source.kernel, source.types
    buffers, scalars, names = [], [], []
    for index, argument in enumerate(kernel.arguments):
        if is_object(types, argument) and argument.name:
            taken = [one.name for one in kernel.arguments]
            names.append(argument.name)
            memory = memory_of(code, kernel.definition, argument, types, taken)
            passed = "" if use is None else use.passed.get(argument.name, "")
            texts = (code.text, *(host.code.text for host in source.hosts))
            buffers.append(set_up(memory, texts, passed, types))
            continue
        element = types.element(argument.type)
        if element is None and argument.pointers == 1 and argument.type == "void":
            element = Element("uint8")
        what = f"the parameter {argument.name or index + 1!r} of {kernel.name} "
        if element is None or argument.pointers > 1 or argument.reference:
            kind = argument.text + ("&" if argument.reference else "")
            raise _cannot(source, what, kind, types.members(argument.type))
        name = argument.name or f"argument{index + 1}"
        names.append(name)
        if argument.pointers:
            buffers.append(_buffer(source, argument, name, element))
        elif element.parts > 1:
            raise _cannot(source, what, argument.type, types.members(argument.type))
        else:
            scalars.append(_scalar(name, element, use))
    return tuple(buffers), tuple(scalars), tuple(names)


def _cannot(source: Chosen, what: str, kind: str, members: Sequence[str]) -> UserError:
    hint = "targets pass numbers, textures, surfaces, and pointers to numbers or plain structs"
    by_value = bool(members) and kind[-1] not in "*&"
    if by_value:
        hint += (
            f", but no struct by value: let the kernel take `const {kind} *`, or the members as"
            f" parameters of their own: {', '.join(members)}"
        )
    else:
        hint += "; let the kernel take these"
    return UserError(
        f"{what}is of type `{kind}`, which no target can pass",
        where=source.code.where(source.kernel.definition.node),
        hint=hint,
    )


def _buffer(source: Chosen, argument: Argument, name: str, element: Element) -> ProposedBuffer:
    if argument.const:
        return ProposedBuffer(name, element, "input", Access.READ, argument.text)
    access = accesses(source.code, source.kernel.definition, name)
    return ProposedBuffer(name, element, role_of(access), access, argument.text)


def _scalar(name: str, element: Element, use: LaunchSite | None) -> ProposedScalar:
    computed = None if use is None or element.floating else use.computed.get(name)
    if computed is not None:
        return ProposedScalar(name, element, 0, source=True, computed=computed)
    value = None if use is None else use.values.get(name)
    if value is not None and not (isinstance(value, float) and not element.floating):
        return ProposedScalar(name, element, value, source=True)
    small = 0.5 if element.floating else 1 if element.truth else 2
    return ProposedScalar(name, element, small, source=False)
