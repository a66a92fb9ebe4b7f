"""The declarations of a CUDA file: kernels with signatures, functions, macros and constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tree_sitter import Node

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.declarations.functions import (
    Definition,
    definitions,
    function_declarator,
)
from gi_cuda.grammar.frontends.cuda.text.macros import study
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text, read
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node, parse
from gi_cuda.grammar.presence import Macro, Presence, read_presence
from gi_cuda.grammar.source import LineIndex, Source, SourceLine, read_source
from gi_cuda.spec.launching.kernel_names import listed

_SPACE = re.compile(r"\s+")
_GLOBAL = re.compile(r"\b__global__\b")
_CONSTANTS = re.compile(
    r"\b(?:static\s+|constexpr\s+|const\s+|inline\s+|__device__\s+|unsigned\s+|long\s+)+"
    r"(?:(?:std::)?(?:int|unsigned|uint|size_t|ptrdiff_t|long|short|auto|u?int\d+_t|[ui]\d+)\s+"
    r"(?:(?:const|constexpr)\s+)?)"
    r"(\w+\s*(?:=(?!=)[^;{}]*|=?\s*\{[^;{}]*\}))\s*;"
)
"""Declarations of constants that are not macros."""

_CONSTANT = re.compile(r"\s*(\w+)\s*(?:=\s*\{?|\{)\s*([^{}]+?)\s*\}?\s*")
_COMMA = re.compile(r",(?![^(]*\))")
"""Commas between declarators, but not between arguments."""

_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|register|typename|struct|class|enum|__restrict__|__restrict|restrict"
    r"|__grid_constant__)\b"
)


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter in a function's signature.

    Attributes:
        name: name of the parameter; ``""`` if it has none.
        type: type without qualifiers; for a pointer, the type of the pointed-to values.
        pointers: number of pointer levels; an array parameter counts as one.
        const: True if the pointed-to values are const.
        reference: True if the parameter is a reference.
    """

    name: str
    type: str
    pointers: int
    const: bool
    reference: bool

    @property
    def text(self) -> str:
        """The type as written to distinguish overloads."""
        stars = " " + "*" * self.pointers if self.pointers else ""
        return f"{'const ' if self.const and self.pointers else ''}{self.type}{stars}"


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    """A template parameter.

    Attributes:
        type: None for ``typename T``; else the type of its value, for example ``int``.
        default: text of the default; None if there is none.
    """

    name: str
    type: str | None
    default: str | None


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel that the source defines.

    Attributes:
        name: name with namespaces.
        definition: the kernel's definition.
        templates: the template parameters.
        arguments: the parameters.
        overloaded: True if another kernel or function has the same name.
    """

    name: str
    definition: Definition
    templates: tuple[TemplateParameter, ...]
    arguments: tuple[Argument, ...]
    overloaded: bool = False

    @property
    def shown(self) -> str:
        """The name that identifies the kernel in the source, with parameter types if overloaded."""
        types = ", ".join(argument.text for argument in self.arguments)
        return f"{self.name}({types})" if self.overloaded else self.name


@dataclass(frozen=True, slots=True)
class CudaFile:
    """A source file, together with the headers that are read with it.

    Attributes:
        path: path of the main file.
        source: the text.
        root: root of the syntax tree.
        presence: the conditional structure.
        macros: the macros, by name; of several definitions, the first that is compiled.
        names: for each macro, the names that its expansion may use.
        definitions: the functions.
        around: further headers that the source includes.
    """

    path: Path
    source: Source
    root: Node
    presence: Presence
    macros: Mapping[str, Macro]
    names: Mapping[str, frozenset[str]]
    definitions: tuple[Definition, ...]
    around: tuple[CudaFile, ...] = ()

    @property
    def text(self) -> str:
        """The whole text."""
        return self.source.text

    def place(self, node: Node) -> SourceLine:
        """Return the file and line of a node; paths are relative to the main file's folder."""
        return LineIndex(self.source).at(node.start_byte)

    def where(self, node: Node) -> str:
        """Return the file and line of a node, for a message."""
        file, line = self.place(node)
        return f"{self.path if file == self.source.name else self.path.parent / file}:{line}"

    def of(self, node: Node) -> str:
        """Return a node's text."""
        return self.text[node.start_byte : node.end_byte]

    def function(self, name: str) -> Definition | None:
        """Return a function that can run on the device, by its unqualified name."""
        return next((d for d in self.definitions if d.name == name and d.device), None)


def read_cuda_file(path: Path) -> CudaFile:
    """Read a source or header.

    Raises:
        UserError: the file is missing, or is not text.
    """
    return of_source(path, read_source(path))


def of_source(path: Path, source: Source) -> CudaFile:
    """Parse a source; ``path`` is the path of its main file."""
    presence = read_presence(source.text)
    names = study(presence.macros()).names
    root = parse(read(source.text, presence).code)
    macros: dict[str, Macro] = {}
    active = presence.active({})
    # Of several definitions, the first that is compiled by default.
    for macro in sorted(presence.macros(), key=lambda one: not active[one.directive.region]):
        macros.setdefault(macro.name, macro)
    found = tuple(definitions(root, source.text, names))
    return CudaFile(path, source, root, presence, macros, names, found)


def kernels(code: CudaFile) -> tuple[KernelSource, ...]:
    """Return all kernels of a source, in order.

    If a kernel has several definitions under different ``#if`` conditions, the definition that is
    compiled without outside macros represents the kernel. (All definitions evolve.)
    """
    active = code.presence.active({})
    known: dict[str, KernelSource] = {}
    for definition in sorted(
        (d for d in code.definitions if d.kernel),
        key=lambda d: not active[code.presence.region(d.node.start_byte)],
    ):
        kernel = _kernel(code, definition)
        types = ", ".join(argument.text for argument in kernel.arguments)
        known.setdefault(f"{kernel.name}({types})", kernel)
    found = sorted(known.values(), key=lambda kernel: kernel.definition.node.start_byte)
    names = [kernel.name for kernel in found]
    # A host function that launches a kernel may have the kernel's name.
    names += {d.qualified for d in code.definitions if not d.kernel}
    return tuple(replace(k, overloaded=names.count(k.name) > 1) for k in found)


def choose_kernel(code: CudaFile, wanted: str | None) -> KernelSource:
    """Return the kernel of a name, or the only kernel if ``wanted`` is None.

    Raises:
        UserError: there is no such kernel, or there are several; the message lists the kernels.
    """
    every = kernels(code)
    # Kernels of headers count only if the source has none, or if a name is given.
    own = tuple(k for k in every if code.place(k.definition.node).file == code.source.name)
    known = (own or every) if wanted is None else every
    names = listed([kernel.shown for kernel in known])
    if not known:
        raise _no_kernel(code)
    if wanted is None:
        if len(known) == 1:
            return known[0]
        raise UserError(
            f"the file has {len(known)} kernels",
            where=str(code.path),
            hint=f"name one with --kernel: {names}",
        )
    found = [kernel for kernel in known if _squeezed(wanted) == _squeezed(kernel.shown)]
    found = found or [k for k in known if wanted in (k.name, k.definition.name)]
    if not found:
        raise UserError(
            f"there is no kernel {wanted!r}", where=str(code.path), hint=f"its kernels: {names}"
        )
    if len(found) > 1:
        raise UserError(
            f"the name {wanted!r} is ambiguous",
            where=str(code.path),
            hint=f"it may be: {'; '.join(kernel.shown for kernel in found)}",
        )
    return found[0]


def _no_kernel(code: CudaFile) -> UserError:
    what = "there is no kernel (no __global__ function with a body) in this file or its headers"
    if (said := _GLOBAL.search(bare_text(code.text))) is None:
        hint = "name the file that defines the kernel"
        return UserError(what, where=str(code.path), hint=hint)
    file, line = LineIndex(code.source).at(said.start())
    return UserError(
        what,
        where=f"{code.path if file == code.source.name else code.path.parent / file}:{line}",
        hint="what stands there is no function that could be read: write the kernel out, as in"
        " __global__ void NAME(...) { ... }, with a semicolon behind each macro that stands for"
        " statements, or name the file that defines it",
    )


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text)


def _kernel(code: CudaFile, definition: Definition) -> KernelSource:
    arguments = tuple(signature(code, definition))
    # ``Real T`` is a type if ``Real`` is a concept: then there are arguments of type ``T``.
    types = {one.type.partition("<")[0].strip() for one in arguments}
    templates = (
        replace(one, type=None) if one.name in types else one
        for one in _templates(code, definition.outer)
    )
    return KernelSource(definition.qualified, definition, tuple(templates), arguments)


def signature(code: CudaFile, definition: Definition) -> Iterator[Argument]:
    """Yield a function's parameters."""
    head = function_declarator(definition.node)
    listed = None if head is None else head.child_by_field_name("parameters")
    for node in listed.named_children if listed is not None else ():
        if node.type in ("parameter_declaration", "optional_parameter_declaration"):
            argument = read_argument(code, node)
            if argument.type != "void" or argument.pointers or argument.name:
                yield argument


def read_argument(code: CudaFile, node: Node) -> Argument:
    """Read a declaration of one name."""
    kind, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    name = name_node(declarator)
    # Qualifiers beside the type belong to what is pointed to, others to the pointer.
    const = any(c.type == "type_qualifier" and code.of(c) == "const" for c in node.children)
    pointers, arrays, reference, called = 0, 0, False, False
    while declarator is not None and declarator.child_count:
        pointers += declarator.type in ("pointer_declarator", "abstract_pointer_declarator")
        called |= declarator.type.endswith("function_declarator")
        arrays += declarator.type in ("array_declarator", "abstract_array_declarator")
        reference |= "reference_declarator" in declarator.type
        named = declarator.named_children
        declarator = declarator.child_by_field_name("declarator") or (
            named[-1]
            if named and declarator.type.endswith(("reference_declarator", "sized_declarator"))
            else None
        )
    text = "" if kind is None else code.of(kind)
    if called:
        # The type of a function pointer is the text of the whole declaration.
        return Argument("" if name is None else code.of(name), code.of(node), 0, const, reference)
    return Argument(
        "" if name is None else code.of(name),
        plain_type(text),
        max(pointers, min(arrays, 1)),
        const,
        reference,
    )


def plain_type(text: str) -> str:
    """Return a type without qualifiers and superfluous white space."""
    return _SPACE.sub(" ", _QUALIFIERS.sub(" ", text)).strip()


def _templates(code: CudaFile, outer: Node) -> Iterator[TemplateParameter]:
    listed = outer.child_by_field_name("parameters") if "template" in outer.type else None
    for node in listed.named_children if listed is not None else ():
        default = node.child_by_field_name("default_type") or node.child_by_field_name(
            "default_value"
        )
        given = None if default is None else code.of(default)
        if "type_parameter" in node.type:
            name = node.child_by_field_name("name") or next(
                (c for c in node.named_children if c.type == "type_identifier"), None
            )
            yield TemplateParameter("" if name is None else code.of(name), None, given)
        else:
            argument = read_argument(code, node)
            yield TemplateParameter(argument.name, argument.type or "int", given)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, in source order."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(reversed(one.children))


def inside_function(node: Node) -> bool:
    """Tell whether a node is inside a function's definition."""
    parent = node.parent
    while parent is not None and parent.type != "function_definition":
        parent = parent.parent
    return parent is not None


def source_constants(code: CudaFile) -> dict[str, str]:
    """Return the constants of a source that are not macros.

    Example: ``const int TILE = 8;`` gives ``{"TILE": "8"}``. Local constants are left out.
    """
    declared = "\n".join(
        code.of(node)
        for node in walk(code.root)
        if node.type == "declaration" and not inside_function(node)
    )
    return dict(constants_in(declared))


def constants_in(text: str) -> list[tuple[str, str]]:
    """Return name and value of each constant in a text that is not a macro."""
    declared = [one for group in _CONSTANTS.findall(text) for one in _COMMA.split(group)]
    found = map(_CONSTANT.fullmatch, declared)
    return [(one[1], one[2]) for one in found if one is not None]


def first_macro(codes: Sequence[CudaFile], name: str) -> Macro | None:
    """Return the first definition of a macro in several files; None if there is none."""
    return next((code.macros[name] for code in codes if name in code.macros), None)
