"""Turn a kernel's parameters into buffers, scalars and structs, with the host code's values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element
from gi_cuda.grammar.frontends.cuda.declarations.file import Argument
from gi_cuda.grammar.frontends.cuda.declarations.functions import function_declarator
from gi_cuda.init.host.launching import LaunchSite
from gi_cuda.init.kernel.access import accesses
from gi_cuda.init.kernel.meanings import are_offsets
from gi_cuda.init.kernel.places import leads_into
from gi_cuda.init.proposing.buffers import OFFSETS, ProposedBuffer, of_pointer
from gi_cuda.init.proposing.members import ProposedScalar, ProposedStruct, pointed, take_apart
from gi_cuda.init.proposing.shapes import is_polymorphic
from gi_cuda.init.proposing.texture_setup import set_up
from gi_cuda.init.proposing.textures import is_object, memory_of
from gi_cuda.init.source.headers import where_to_look
from gi_cuda.init.source.layouts import Layouts, Shape
from gi_cuda.init.source.sources import Chosen
from gi_cuda.spec.numbers import NumberType

_PLACE = 4
"""Smallest integer, in bytes, that can be an index or offset."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """All parameters of a kernel.

    Attributes:
        names: the object for each parameter, in the kernel's order.
    """

    buffers: tuple[ProposedBuffer, ...]
    scalars: tuple[ProposedScalar, ...]
    structs: tuple[ProposedStruct, ...]
    names: tuple[str, ...]


def read_arguments(source: Chosen, use: LaunchSite | None, layouts: Layouts) -> Arguments:
    """Return the buffers, scalars and structs of a kernel's parameters.

    Args:
        use: a launch, for the host code's values.
        layouts: types of parameters from the compiler, for those that the text does not tell.

    Raises:
        UserError: a target cannot pass one of the parameters.
    """
    reader = _Reader(source, use, layouts.parameters)
    declared = source.kernel.arguments
    head = function_declarator(source.kernel.definition.node)
    packed = head is not None and "..." in source.code.of(head)
    if packed or any(not reader.is_plain(argument) for argument in declared):
        shapes = layouts.parameters() or ()
        # A parameter pack is one parameter in the text, but several for the compiler.
        further = range(len(declared), len(shapes))
        declared = (
            *declared,
            *(Argument(f"argument{n + 1}", "", 0, False, False) for n in further),
        )
    for index, argument in enumerate(declared):
        reader.take(index, argument)
    buffers, scalars, structs = reader.buffers, reader.scalars, reader.structs
    return Arguments(tuple(buffers), tuple(scalars), tuple(structs), tuple(reader.names))


class _Reader:
    """Collects buffers, scalars and structs, one parameter after the other."""

    def __init__(
        self,
        source: Chosen,
        use: LaunchSite | None,
        shapes: Callable[[], Sequence[Shape] | None],
    ) -> None:
        self._source, self._use, self._shapes = source, use, shapes
        self._taken = {one.name for one in source.kernel.arguments} | set(source.code.macros)
        self._pointers = {one.name for one in source.kernel.arguments if one.pointers == 1}
        self.buffers: list[ProposedBuffer] = []
        self.scalars: list[ProposedScalar] = []
        self.structs: list[ProposedStruct] = []
        self.names: list[str] = []

    def is_plain(self, argument: Argument) -> bool:
        """Tell whether the text alone determines a parameter's type."""
        types = self._source.types
        if is_object(types, argument):
            return True
        if argument.type == "void" and argument.pointers == 1:
            return True
        element = types.element(argument.type)
        known = element is not None and argument.pointers <= 1 and not argument.reference
        return known and (argument.pointers == 1 or (element is not None and element.parts == 1))

    def take(self, index: int, argument: Argument) -> None:
        """Add the objects for a parameter."""
        source = self._source
        name = argument.name or self._free(f"argument{index + 1}")
        self.names.append(name)
        if is_object(source.types, argument):
            self._object(replace(argument, name=name))
        elif self.is_plain(argument):
            self._plain(name, argument)
        else:
            shapes = self._shapes() or ()
            shape = shapes[index] if index < len(shapes) else None
            if shape is None or not self._shaped(name, argument, shape):
                raise _cannot(source, f"the parameter {name!r}", argument, shape)

    def _object(self, argument: Argument) -> None:
        source, use = self._source, self._use
        taken = sorted(self._taken)
        memory = memory_of(source.code, source.kernel.definition, argument, source.types, taken)
        passed = "" if use is None else use.passed.get(argument.name, "")
        texts = (source.code.text, *(host.code.text for host in source.hosts))
        self.buffers.append(set_up(memory, texts, passed, source.types))

    def _plain(self, name: str, argument: Argument) -> None:
        element = self._source.types.element(argument.type)
        if argument.pointers:
            self._pointer(name, argument, element or Element("uint8"))
        elif element is not None:
            self.scalars.append(_scalar(name, element, self._use))

    def _pointer(self, name: str, argument: Argument, element: Element) -> None:
        code, definition = self._source.code, self._source.kernel.definition
        access = accesses(code, definition, name)
        buffer = of_pointer(name, element, access, argument.text, const=argument.const)
        led = None
        if buffer.role == "input" and buffer.is_whole and element.bytes >= _PLACE:
            if are_offsets(code, definition, name):
                note = "rising: where one row ends, the next one begins"
                buffer = buffer.with_data(OFFSETS, note)
            else:
                led = leads_into(code, definition, name, self._pointers)
        elif buffer.role == "input" and _is_whole_vector(element):
            # All components of an index vector, such as a triangle's, index the same array.
            led = leads_into(code, definition, name, self._pointers)
        self.buffers.append(buffer if led is None else buffer.leading_into(led))

    def _shaped(self, name: str, argument: Argument, shape: Shape) -> bool:
        """Add a parameter of a type from the compiler; return False if no target can pass it."""
        if shape.kind == "number":
            self.scalars.append(_scalar(name, Element(shape.name, truth=shape.truth), self._use))
        elif is_polymorphic(self._source, shape):
            return False
        elif shape.kind == "pointer" and not argument.reference:
            self.buffers += pointed(self._source, name, name, shape, self._taken)
        elif shape.kind == "struct" and not argument.reference:
            parts = take_apart(self._source, name, shape, self._taken)
            if parts is None:
                return False
            self.structs.append(parts.struct)
            self.scalars += parts.scalars
            self.buffers += parts.buffers
        else:
            return False
        return True

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def with_members_set(
    scalars: Sequence[ProposedScalar], use: LaunchSite | None
) -> tuple[ProposedScalar, ...]:
    """Return the scalars; members of structs have the numbers that host code sets them to.

    Args:
        use: a launch that was read with the names of members.
    """
    values = {} if use is None else use.values
    return tuple(
        replace(one, value=values[one.name], source=True)
        if one.member
        and one.name in values
        and one.count == 1
        and not (isinstance(values[one.name], float) and not one.element.floating)
        else one
        for one in scalars
    )


def _cannot(source: Chosen, what: str, argument: Argument, shape: Shape | None) -> UserError:
    kind = argument.text + ("&" if argument.reference else "")
    said = f"{what} of {source.kernel.name} is of type `{kind}`, which no target can pass"
    hint = "targets pass numbers, structs, textures, surfaces, pointers to numbers or plain structs"
    if shape is not None and shape.kind == "function":
        hint = (
            "only device code can take the address of a device function: let the kernel name the"
            " function itself, or take it as a template parameter, and try again"
        )
    elif argument.type in {one.name for one in source.kernel.templates if one.type is None}:
        hint = (
            f"{argument.type} is a parameter of its template, and no launch that is found says what"
            " it stands for: write the instance into the file that defines it, template __global__"
            f" void {source.kernel.name}<TYPES>(...);, or name a file that launches it: --host FILE"
        )
    elif shape is None and (lost := source.headers.not_found):
        said += f" while {lost[0]!r} is not found, which its file includes"
        hint = where_to_look(source.code.path, lost[0])
    elif shape is None:
        hint = (
            "no file that is found declares this type: include the header that does; if it is"
            " included, say where it is: -I DIR"
        )
    elif is_polymorphic(source, shape):
        hint = (
            "objects with virtual functions can only be made on the device: let the kernel take the"
            " data that such an object has"
        )
    else:
        hint += "; let the kernel take these"
    return UserError(said, where=source.code.where(source.kernel.definition.node), hint=hint)


def _is_whole_vector(element: Element) -> bool:
    plain = not element.fields and not element.addresses
    whole = "int" in element.type and element.bytes >= _PLACE * element.parts
    return plain and whole and element.parts > 1


def _scalar(name: str, element: Element, use: LaunchSite | None) -> ProposedScalar:
    element = replace(element, type=NumberType(element.type).dtype.name)
    computed = None if use is None or element.floating else use.computed.get(name)
    if computed is not None:
        return ProposedScalar(name, element, 0, source=True, computed=computed)
    value = None if use is None else use.values.get(name)
    if value is not None and not (isinstance(value, float) and not element.floating):
        return ProposedScalar(name, element, value, source=True)
    return ProposedScalar.guessed(name, element)
