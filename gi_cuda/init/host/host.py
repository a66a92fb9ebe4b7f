"""Parse host code for the search of launches: constants, calls, variables visible at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import (
    CudaFile,
    constants_in,
    plain_type,
    walk,
)
from gi_cuda.grammar.frontends.cuda.declarations.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node, parts
from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.spec.expression import ExpressionError, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
_ALLOCATORS = frozenset({"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"})
_DECLARED = frozenset({"declaration", "field_declaration", "enumerator_list"})


@dataclass(frozen=True, slots=True)
class HostCode:
    """A file whose host code may launch a kernel.

    Attributes:
        codes: the file, then the files whose macros and constants it uses.
        constants: the values of constants and enumerators, by name.
        calls: the calls of each function in the file, in order.
        kernels: the names, without scope, of all kernels in these files.
    """

    codes: tuple[CudaFile, ...]
    constants: Mapping[str, str]
    calls: Mapping[str, tuple[Node, ...]]
    kernels: frozenset[str]
    _seen: dict[tuple[int, bool], Locals] = field(default_factory=dict, repr=False, compare=False)

    @property
    def code(self) -> CudaFile:
        """Return the file itself."""
        return self.codes[0]

    def defined(self, name: str) -> tuple[CudaFile, Node] | None:
        """Return the definition of a function, and the file that has it; None if none has."""
        every = ((code, one) for code in self.codes for one in code.definitions)
        return next(((code, one.node) for code, one in every if one.name == name), None)

    def before(self, at: Node, *, starts: bool) -> Locals:
        """Return the variables that are known before a place; results are cached."""
        key = (at.start_byte, starts)
        if key not in self._seen:
            self._seen[key] = Locals(self.code, at, starts=starts)
        return self._seen[key]


def read_host_code(code: CudaFile, around: Sequence[CudaFile] = ()) -> HostCode:
    """Parse the host code of a file.

    Args:
        code: the file.
        around: its headers, and other files with constants that it uses.
    """
    constants: dict[str, str] = {}
    for one in (code, *around):
        for name, text in _constants(one):
            constants.setdefault(name, text)
    calls: dict[str, list[Node]] = {}
    for node in walk(code.root):
        if node.type == "call_expression" and (called := node.child_by_field_name("function")):
            calls.setdefault(plain_name(code.of(called)), []).append(node)
    kernels = frozenset(d.name for one in (code, *around) for d in one.definitions if d.kernel)
    every = {name: (*found,) for name, found in calls.items()}
    return HostCode((code, *around), constants, every, kernels)


def plain_name(text: str) -> str:
    """Return the name of a called function, without scope and template arguments."""
    return text.partition("<")[0].rpartition("::")[2].strip()


def _constants(code: CudaFile) -> Iterator[tuple[str, str]]:
    """Yield name and value of the constants at the level of file, namespace or class."""
    stack = [code.root]
    while stack:
        node = stack.pop()
        if node.type == "enumerator_list":
            yield from _enumerators(code, node)
        elif node.type in _DECLARED:
            yield from constants_in(code.of(node))
        if node.type != "function_definition":
            stack.extend(reversed(node.children))


def _enumerators(code: CudaFile, listed: Node) -> Iterator[tuple[str, str]]:
    last, behind = "-1", 0
    for node in listed.named_children:
        name = node.child_by_field_name("name")
        if node.type == "enumerator" and name is not None:
            given = node.child_by_field_name("value")
            last, behind = (last, behind + 1) if given is None else (code.of(given), 0)
            value = f"{last} + {behind}" if behind else last
            with suppress(ExpressionError):
                value = str(parse(value).evaluate({}))
            yield code.of(name), bracketed(value)


def enclosing_function(node: Node) -> Node | None:
    """Return the definition of the function that contains a node; None if none does."""
    function: Node | None = node
    while function is not None and function.type != "function_definition":
        function = function.parent
    return function


def without_casts(node: Node) -> Node:
    """Return an expression without the casts and parentheses around it."""
    while True:
        inner = None
        if node.type == "cast_expression":
            inner = node.child_by_field_name("value")
        elif node.type == "parenthesized_expression" and node.named_children:
            inner = node.named_children[0]
        elif node.type == "call_expression":
            called = node.child_by_field_name("function")
            given = node.child_by_field_name("arguments")
            casts = called is not None and b"_cast" in (called.text or b"")
            inner = given.named_children[0] if casts and given and given.named_children else None
        if inner is None:
            return node
        node = inner


def parameters(code: CudaFile, function: Node | None) -> list[str]:
    """Return the names of a function's parameters, "" for an unnamed one."""
    head = None if function is None else function_declarator(function)
    listed = None if head is None else head.child_by_field_name("parameters")
    nodes = [] if listed is None else listed.named_children
    names = [
        name_node(one.child_by_field_name("declarator"))
        for one in nodes
        if one.type in ("parameter_declaration", "optional_parameter_declaration")
    ]
    return ["" if name is None else code.of(name) for name in names]


def function_name(code: CudaFile, function: Node | None) -> str:
    """Return the name of a function definition, without scope; "" for None."""
    head = None if function is None else function_declarator(function)
    name = None if head is None else head.child_by_field_name("declarator")
    return "" if name is None else plain_name(code.of(name))


def passed(code: CudaFile, function: Node | None, call: Node) -> dict[str, Node]:
    """Return the arguments of a call by the names of the function's parameters."""
    given = parts(call.child_by_field_name("arguments"))
    return dict(zip(parameters(code, function), given, strict=False))


def template_names(code: CudaFile, function: Node | None) -> list[str]:
    """Return the names of a function's template parameters."""
    outer = None if function is None else function.parent
    listed = None if outer is None else outer.child_by_field_name("parameters")
    if outer is None or outer.type != "template_declaration" or listed is None:
        return []
    words = [_WORD.findall(code.of(node).partition("=")[0]) for node in listed.named_children]
    return [found[-1] if found else "" for found in words]


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names that may stay in translated expressions, and how to treat unknown values.

    Attributes:
        scalars: the kernel's scalar for each host expression that is passed for one.
        members: for each struct that the kernel takes, the scalar for each member, with keys such
            as
            ``.width``.
        kept: macros and constants that stay names.
        own: keep unknown variables whose names suggest an amount of data.
        starts: take a loop variable as its initial value instead of as unknown.
        free: keep all unknown integers as names. A variable with several values has its first known
            one, and so has a conditional expression.
        callers: number of callers that were already followed.
    """

    scalars: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    own: bool = False
    starts: bool = False
    free: bool = False
    callers: int = 0


class Locals:
    """Declarations, assignments and allocations before a place, in its function and its file.

    Attributes:
        values: the values that each name is set to, in order; None for an unknown one.
        declared: types, without qualifiers.
        pointers: number of ``*`` and ``[]`` in the declaration of each name.
        allocated: the bytes allocated for each pointer.
        aliases: types by the aliases that the function declares.
    """

    def __init__(self, code: CudaFile, at: Node, *, starts: bool) -> None:
        self._code, self._at, self._starts = code, at, starts
        self.values: dict[str, list[Node | None]] = {}
        self.declared: dict[str, str] = {}
        self.pointers: dict[str, int] = {}
        self.allocated: dict[str, Node] = {}
        self.aliases: dict[str, str] = {}
        for child in code.root.children:
            if child.type == "declaration":
                self._note(child)
        function = enclosing_function(at)
        for node in walk(function) if function is not None else ():
            if node.start_byte < at.start_byte:
                self._note(node)

    def _note(self, node: Node) -> None:
        if node.type in ("declaration", "parameter_declaration", "optional_parameter_declaration"):
            if not is_value(node):
                self._note_declaration(node)
        elif node.type == "call_expression":
            self._note_call(node)
        elif node.type in ("alias_declaration", "type_definition"):
            self._note_alias(node)
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            operator = node.child_by_field_name("operator")
            plain = operator is None or operator.type == "="
            if left is not None and not (self._starts and _in_header(node)):
                values = self.values.setdefault(self._code.of(left), [])
                right = _last_of_chain(right)
                if plain and right is not None and self._always_before(node, left, right):
                    values.clear()
                # Several entries mean that the value is unknown; None is an unknown value, too.
                values.append(right if plain else None)

    def _note_alias(self, node: Node) -> None:
        name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        kind = node.child_by_field_name("type")
        if name is not None and kind is not None and name.type == "type_identifier":
            self.aliases[self._code.of(name)] = " ".join(self._code.of(kind).split())

    def _always_before(self, assignment: Node, left: Node, right: Node) -> bool:
        """Tell whether an assignment always replaces the earlier values before the place is
        reached.
        """
        statement = assignment.parent
        while statement is not None and statement.type == "assignment_expression":
            statement = statement.parent
        block = None if statement is None else statement.parent
        if statement is None or block is None or statement.type != "expression_statement":
            return False
        name = self._code.of(left)
        within = block.start_byte <= self._at.start_byte < block.end_byte
        of_itself = any(self._code.of(one) == name for one in walk(right))
        return block.type == "compound_statement" and within and not of_itself

    def _note_declaration(self, node: Node) -> None:
        kind = node.child_by_field_name("type")
        for one in node.children_by_field_name("declarator"):
            name = name_node(one)
            if name is None:
                continue
            text = self._code.of(name)
            for known in [text, *(f"{text}.{part}" for part in "xyz")]:
                self.values.pop(known, None)
            if kind is not None:
                self.declared[text] = plain_type(self._code.of(kind))
                self.pointers[text] = _depth(one, name)
            value = one.child_by_field_name("value")
            if one.type == "function_declarator":
                # ``dim3 block(BLOCK_X, BLOCK_Y);`` reads like a prototype.
                value = one.child_by_field_name("parameters")
            if value is not None:
                self.values.setdefault(text, []).append(value)

    def _note_call(self, node: Node) -> None:
        """Record an allocation, or variables that a call may set through ``&name``."""
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or given is None:
            return
        if self._code.of(called).partition("<")[0] in _ALLOCATORS and len(given.named_children) > 1:
            pointer, size = given.named_children[:2]
            for inner in walk(pointer):
                if inner.type == "identifier":
                    self.allocated[self._code.of(inner)] = size
            return
        if self._code.of(called).startswith("cudaMemcpy"):
            return
        for one in given.named_children:
            name = one.child_by_field_name("argument") if one.type == "pointer_expression" else None
            if name is not None and name.type == "identifier" and self._code.of(one)[:1] == "&":
                self.values.setdefault(self._code.of(name), []).append(None)


def is_value(node: Node) -> bool:
    """Tell whether a node that parses as a parameter is a value, as in ``dim3 grid(a, b * c);``."""
    listed = node.parent if node.type == "parameter_declaration" else None
    head = None if listed is None else listed.parent
    return head is not None and head.parent is not None and head.parent.type == "declaration"


def _last_of_chain(right: Node | None) -> Node | None:
    """Return ``c`` of ``a = b = c``, the value that all variables get."""
    while right is not None and right.type == "assignment_expression":
        operator = right.child_by_field_name("operator")
        if operator is None or operator.type != "=":
            return right
        right = right.child_by_field_name("right")
    return right


def _depth(declarator: Node | None, name: Node) -> int:
    """Return the number of ``*`` and ``[]`` that a declaration puts on a name."""
    depth = 0
    while declarator is not None and declarator != name:
        depth += declarator.type in ("pointer_declarator", "array_declarator")
        declarator = declarator.child_by_field_name("declarator")
    return depth


def _in_header(node: Node) -> bool:
    """Tell whether an assignment is the update of a ``for`` loop."""
    loop = node.parent
    return (
        loop is not None
        and loop.type == "for_statement"
        and (loop.child_by_field_name("update") == node)
    )


def is_name(node: Node) -> bool:
    """Tell whether an expression names one value: ``n``, ``matrix.rows``, ``data.size()``."""
    if node.type == "call_expression":
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        member = called is not None and called.type == "field_expression"
        return member and given is not None and not given.named_children
    return node.type in ("identifier", "field_expression")
