"""What a target for a kernel could be: buffers, scalars, launch, parameters, cases."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tree_sitter import Node

from gi_cuda.errors import UserError
from gi_cuda.grammar import Function, convert
from gi_cuda.scaffold.access import Access, accesses, is_compared
from gi_cuda.scaffold.code import Argument, Code, Kernel, choose_kernel, read_code, walk
from gi_cuda.scaffold.compilation import Compilation, Headers, find_headers
from gi_cuda.scaffold.elements import Element, Types, read_types
from gi_cuda.scaffold.launching import Use, uses
from gi_cuda.scaffold.sizes import (
    Extent,
    constant,
    constants,
    elements,
    extents,
    is_count_name,
    is_looped,
)
from gi_cuda.scaffold.tuning import Standing, Tunable, tunables
from gi_cuda.target.expression import ExpressionError, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
DEFAULT_BLOCK = 128


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array that the kernel gets, or a variable of the source that it uses.

    Attributes:
        role: as in ``target.toml``.
        access: how the kernel uses it.
        elements: how many items it has, as the source says; None where it does not.
        symbol: the variable's name.
    """

    name: str
    element: Element
    role: str
    access: Access
    shown: str
    elements: str | None = None
    symbol: str | None = None


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value that the kernel gets.

    Attributes:
        value: what it is where it does not say how much data there is.
        source: whether the host code says so.
    """

    name: str
    element: Element
    value: int | float
    source: bool


@dataclass(frozen=True, slots=True)
class Launching:
    """How the kernel is launched.

    Attributes:
        line: of the host code that it was read from, 0 where it could not be.
        named: the same with the names of macros that are not parameters yet, if that differs.
    """

    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    line: int = 0
    named: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """All that the files of a target are written from."""

    name: str
    source: Path
    kernel: str
    instances: tuple[str, ...]
    functions: tuple[Function, ...]
    headers: Headers
    compilation: Compilation
    parameters: tuple[Tunable, ...]
    buffers: tuple[Buffer, ...]
    scalars: tuple[Scalar, ...]
    arguments: tuple[str, ...]
    extents: tuple[Extent, ...]
    launching: Launching

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of the scalars that say how much data there is."""
        return tuple(extent.name for extent in self.extents)


def propose(path: Path, wanted: str | None, compilation: Compilation) -> Proposal:
    """Read a source and propose a target for one of its kernels.

    Args:
        wanted: the kernel's name; None for the only one there is.

    Raises:
        UserError: no such kernel, a header that is not found, a parameter no target can pass.
    """
    code = read_code(path)
    kernel = choose_kernel(code, wanted)
    headers = find_headers(path, code.text, compilation)
    codes = (code, *(read_code(header) for header in headers.own))
    functions = convert(code.source, [kernel.name]).functions
    types = read_types(codes)
    named = uses(codes, kernel, types, frozenset(code.macros))
    parameters = tunables(code, codes[1:], functions, compilation.define, _words(named))
    active = frozenset(p.name for p in parameters if p.standing is Standing.ACTIVE)
    found = uses(codes, kernel, types, active)
    use = found[0] if found else None
    bound, instance = _instance(kernel, types, use, active)
    instances = dict.fromkeys([instance, *(_instance(kernel, types, u, active)[1] for u in found)])
    buffers, scalars, arguments = _arguments(code, kernel, bound, use)
    counting = [s.name for s in scalars if _counts(code, kernel, s)]
    buffers = tuple(_sized(buffer, use, counting) for buffer in buffers)
    body = code.of(kernel.definition.node)
    sizes = extents(
        counting,
        taken=frozenset([*arguments, *code.macros]),
        constants=_constants(code, functions),
        checked=all(is_compared(code, kernel.definition, name) for name in counting),
        looped=any(is_looped(body, name) for name in counting),
        least=_threads(use) if any(b.elements is None for b in buffers) else None,
        host={} if use is None else use.values,
    )
    own = {**compilation.define}
    for one in parameters:
        if one.standing is Standing.ACTIVE:
            own.pop(one.name, None)
    return Proposal(
        name=kernel.definition.name,
        source=path.resolve(),
        kernel=instance,
        instances=tuple(instances)[1:],
        functions=functions,
        headers=headers,
        compilation=replace(compilation, define=own),
        parameters=parameters,
        buffers=(*buffers, *_variables(code, functions, bound)),
        scalars=scalars,
        arguments=arguments,
        extents=sizes,
        launching=_launching(code, kernel, found, named, sizes, parameters, bound),
    )


def _words(found: Sequence[Use]) -> frozenset[str]:
    texts = [text for use in found for text in (*(use.grid or ()), *(use.block or ()))]
    return frozenset(word for text in texts for word in _WORD.findall(text))


def _instance(
    kernel: Kernel, types: Types, use: Use | None, active: frozenset[str]
) -> tuple[Types, str]:
    """The types with template parameters bound, and the kernel's name as an instance."""
    if not kernel.templates:
        return types, kernel.shown
    given = () if use is None else use.templates
    aliases, words = dict(types.aliases), []
    for index, parameter in enumerate(kernel.templates):
        text = given[index] if index < len(given) else None
        if text is None and parameter.type is None:
            text = _deduced(kernel, parameter.name, use)
        text = text or parameter.default
        if parameter.type is None:
            known = text is not None and types.element(text) is not None
            text = text if text is not None and known else "float"
            aliases[parameter.name] = text
        elif text is None or not _is_constant(text, active):
            text = str(DEFAULT_BLOCK if "lock" in parameter.name.lower() else 4)
            if parameter.type == "bool":
                text = "true"
        words.append(text)
    # Those left out have their defaults.
    name = f"{kernel.name}<{', '.join(words)}>"
    return replace(types, aliases=aliases), name


def _is_constant(text: str, active: frozenset[str]) -> bool:
    return set(re.findall(r"\b[A-Za-z_]\w*", text)) <= active | {"true", "false"}


def _deduced(kernel: Kernel, name: str, use: Use | None) -> str | None:
    for argument in kernel.arguments:
        if argument.type == name and use is not None and argument.name in use.types:
            return use.types[argument.name]
    return None


def _threads(use: Use | None) -> int:
    """Four for each thread of a launch that is always the same, 0 for any other."""
    texts = () if use is None else (*(use.grid or ("x",)), *(use.block or ("x",)))
    product = 4
    for text in texts:
        try:
            product *= parse(text).evaluate({})
        except ExpressionError:
            return 0
    return product if texts else 0


def _sized(buffer: Buffer, use: Use | None, counting: Sequence[str]) -> Buffer:
    """With the number of items that the host code allocates, if it can be told."""
    bytes_ = None if use is None else use.allocated.get(buffer.name)
    items = None if bytes_ is None else elements(bytes_, buffer.element.bytes)
    if items is None or not set(_WORD.findall(items)) <= set(counting):
        return buffer
    return replace(buffer, elements=items)


def _arguments(
    code: Code, kernel: Kernel, types: Types, use: Use | None
) -> tuple[tuple[Buffer, ...], tuple[Scalar, ...], tuple[str, ...]]:
    buffers, scalars, names = [], [], []
    for index, argument in enumerate(kernel.arguments):
        element = types.element(argument.type)
        if element is None and argument.pointers == 1 and argument.type == "void":
            element = Element("uint8")
        what = f"the parameter {argument.name or index + 1!r} of {kernel.name} "
        if element is None or argument.pointers > 1 or argument.reference:
            kind = argument.text + ("&" if argument.reference else "")
            raise _cannot(code, kernel, what, kind)
        name = argument.name or f"argument{index + 1}"
        names.append(name)
        if argument.pointers:
            buffers.append(_buffer(code, kernel, argument, name, element))
        elif element.parts > 1:
            raise _cannot(code, kernel, what, argument.type)
        else:
            scalars.append(_scalar(name, element, use))
    return tuple(buffers), tuple(scalars), tuple(names)


def _cannot(code: Code, kernel: Kernel, what: str, kind: str) -> UserError:
    line = kernel.definition.node.start_point[0] + 1
    return UserError(
        f"{what}is of type `{kind}`, which no target can pass",
        where=f"{code.path}:{line}",
        hint="targets pass numbers, and pointers to numbers or plain structs; give the kernel a"
        " wrapper that takes these",
    )


def _buffer(code: Code, kernel: Kernel, argument: Argument, name: str, element: Element) -> Buffer:
    if argument.const:
        return Buffer(name, element, "input", Access.READ, argument.text)
    access = accesses(code, kernel.definition, name)
    return Buffer(name, element, role_of(access), access, argument.text)


def role_of(access: Access) -> str:
    """The role of a buffer that a kernel uses like this."""
    if access in (Access.NONE, Access.READ):
        return "input"
    return "output" if access is Access.WRITE else "inout"


def _scalar(name: str, element: Element, use: Use | None) -> Scalar:
    value = None if use is None else use.values.get(name)
    if value is not None and not (isinstance(value, float) and not element.floating):
        return Scalar(name, element, value, source=True)
    small = 0.5 if element.floating else 1 if element.truth else 2
    return Scalar(name, element, small, source=False)


def _counts(code: Code, kernel: Kernel, scalar: Scalar) -> bool:
    whole = "int" in scalar.element.type and not scalar.element.truth
    return whole and is_count_name(
        scalar.name, compared=is_compared(code, kernel.definition, scalar.name)
    )


def _variables(code: Code, functions: Sequence[Function], types: Types) -> tuple[Buffer, ...]:
    """``__constant__`` and ``__device__`` variables without a value that the kernel uses."""
    used = {w for f in functions for w in _WORD.findall(code.text[f.start : f.end])}
    found = []
    for node in walk(code.root):
        text = code.of(node)
        if node.type != "declaration" or "(" in text or "=" in text or "extern" in text.split():
            continue
        memory = re.match(r"\s*(?:static\s+)?__(constant|device)__\b", text)
        match = re.search(r"(\w+)((?:\s*\[[^\]]*\])*)\s*;", text)
        if memory is None or match is None or match[1] not in used or _in_function(node):
            continue
        kind = node.child_by_field_name("type")
        element = None if kind is None else types.element(code.of(kind))
        length = _length(code, re.findall(r"\[([^\]]*)\]", match[2]))
        if element is None or length is None:
            continue
        access = Access.READ if memory[1] == "constant" else Access.READ | Access.WRITE
        found.append(
            Buffer(
                match[1],
                element,
                role_of(access),
                access,
                text.strip(" ;"),
                str(length),
                symbol=_qualified(code, node, match[1]),
            )
        )
    return tuple(found)


def _in_function(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type != "function_definition":
        parent = parent.parent
    return parent is not None


def _qualified(code: Code, node: Node, name: str) -> str:
    parent = node.parent
    while parent is not None:
        scope = (
            parent.child_by_field_name("name") if parent.type == "namespace_definition" else None
        )
        name = f"{code.of(scope)}::{name}" if scope is not None else name
        parent = parent.parent
    return name


def _length(code: Code, dimensions: Sequence[str]) -> int | None:
    length = 1
    for dimension in dimensions:
        value = constant(code, dimension)
        if value is None:
            return None
        length *= value
    return length


def _constants(code: Code, functions: Sequence[Function]) -> dict[str, int]:
    """Constants of the source that say how much data there is, and that the functions use."""
    return constants(code, [code.text[f.start : f.end] for f in functions])


def _launching(
    code: Code,
    kernel: Kernel,
    found: Sequence[Use],
    named: Sequence[Use],
    sizes: Sequence[Extent],
    parameters: Sequence[Tunable],
    types: Types,
) -> Launching:
    known = {e.name for e in sizes} | {a.name for a in kernel.arguments}
    known |= {p.name for p in parameters if p.standing is Standing.ACTIVE}
    for use, full in zip(found, named, strict=True):
        if use.grid and use.block and _names(use.grid, use.block, (use.shared or "0",)) <= known:
            shared = use.shared or _shared(code, kernel, types, use.block)
            text = ""
            if (full.grid, full.block) != (use.grid, use.block):
                text = f"grid = {_list(full.grid)}, block = {_list(full.block)}"
            return Launching(use.grid, use.block, shared, use.line, text)
    blocks = [p.name for p in parameters if p.why == "threads per block" and p.name in known]
    block = blocks[0] if blocks else str(DEFAULT_BLOCK)
    total = " * ".join(e.name for e in sizes) or "1"
    grid = f"({total} + {block} - 1) / {block}"
    return Launching((grid,), (block,), _shared(code, kernel, types, (block,)))


def _list(texts: Sequence[str] | None) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts or ()) + "]"


def _names(*texts: Sequence[str]) -> set[str]:
    return {word for group in texts for text in group for word in _WORD.findall(text)}


def _shared(code: Code, kernel: Kernel, types: Types, block: Sequence[str]) -> str:
    """An element per thread for an ``extern __shared__`` array, if there is one."""
    body = code.of(kernel.definition.node)
    match = re.search(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w:\s]+?)\s+\w+\s*\[", body)
    if match is None:
        return "0"
    element = types.element(match[1])
    return f"{' * '.join(block)} * {8 if element is None else element.bytes}"


def python_name(name: str) -> str:
    """A name that Python takes, too."""
    return f"{name}_" if keyword.iskeyword(name) else name
