"""Host code as it is searched for launches: constants, calls, and what is visible at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile, constants_in, plain_type, walk
from gi_cuda.grammar.frontends.cuda.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.syntax import name_node, parts
from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.spec.expression import ExpressionError, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
_ALLOCATORS = frozenset({"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"})
_DECLARED = frozenset({"declaration", "field_declaration", "enumerator_list"})


@dataclass(frozen=True, slots=True)
class HostCode:
    """A file whose host code may launch a kernel.

    Attributes:
        codes: the file, then those whose macros and constants it uses.
        constants: what names of constants and of enumerations stand for.
        calls: by a function's name, the calls of it in the file, in order.
        kernels: the names, without scope, of all kernels that it can see.
    """

    codes: tuple[CudaFile, ...]
    constants: Mapping[str, str]
    calls: Mapping[str, tuple[Node, ...]]
    kernels: frozenset[str]
    _seen: dict[tuple[int, bool], Locals] = field(default_factory=dict, repr=False, compare=False)

    @property
    def code(self) -> CudaFile:
        """The file itself."""
        return self.codes[0]

    def defined(self, name: str) -> tuple[CudaFile, Node] | None:
        """The definition of a function, and the file that has it; None where none does."""
        every = ((code, one) for code in self.codes for one in code.definitions)
        return next(((code, one.node) for code, one in every if one.name == name), None)

    def before(self, at: Node, *, starts: bool) -> Locals:
        """What is known before a place; asked for often, so it is kept."""
        key = (at.start_byte, starts)
        if key not in self._seen:
            self._seen[key] = Locals(self.code, at, starts=starts)
        return self._seen[key]


def read_host_code(code: CudaFile, around: Sequence[CudaFile] = ()) -> HostCode:
    """Host code of a file; ``around`` are its headers, and others with constants that it uses."""
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
    """The name of what is called, without scope and template arguments."""
    return text.partition("<")[0].rpartition("::")[2].strip()


def _constants(code: CudaFile) -> Iterator[tuple[str, str]]:
    """Constants at the level of file, namespace or class: name and value."""
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
    """The definition of the function that a node stands in."""
    function: Node | None = node
    while function is not None and function.type != "function_definition":
        function = function.parent
    return function


def without_casts(node: Node) -> Node:
    """What is cast, also by ``reinterpret_cast``, and without brackets."""
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
    """The names of a function's parameters, "" for one that has none."""
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
    """What a function that is defined is called by; "" for what is none."""
    head = None if function is None else function_declarator(function)
    name = None if head is None else head.child_by_field_name("declarator")
    return "" if name is None else plain_name(code.of(name))


def passed(code: CudaFile, function: Node | None, call: Node) -> dict[str, Node]:
    """What a call of a function passes for its parameters."""
    given = parts(call.child_by_field_name("arguments"))
    return dict(zip(parameters(code, function), given, strict=False))


def template_names(code: CudaFile, function: Node | None) -> list[str]:
    """The names of the parameters of a function's template."""
    outer = None if function is None else function.parent
    listed = None if outer is None else outer.child_by_field_name("parameters")
    if outer is None or outer.type != "template_declaration" or listed is None:
        return []
    words = [_WORD.findall(code.of(node).partition("=")[0]) for node in listed.named_children]
    return [found[-1] if found else "" for found in words]


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What stands for itself in the expressions that are read.

    Attributes:
        scalars: what the host code passes for a scalar of the kernel, and that scalar's name.
        members: for a struct that the kernel gets, how one writes a member behind its name
            (``.width``), and the name of the scalar that it is.
        kept: macros and constants that stay names.
        own: whether numbers that nobody can tell, and whose names say how much data there is, do.
        starts: whether a variable of a loop is what it is at first, instead of unknown.
        free: whether whole numbers that nobody can tell stay names, and what is set several times,
            or in one of two ways, is what can be told of it first.
        callers: how many callers of callers were asked already.
    """

    scalars: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    own: bool = False
    starts: bool = False
    free: bool = False
    callers: int = 0


class Locals:
    """What is declared, set and allocated before a place, in its function and the file.

    Attributes:
        values: what each name is set to, in order; None is what nobody can tell.
        declared: types, without qualifiers.
        pointers: how many ``*`` or ``[]`` a declaration puts on a name.
        allocated: the bytes of what a pointer points to.
        aliases: what types the function gives names of its own.
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
                # Set more than once, perhaps conditionally: nobody knows to what.
                values.append(right if plain else None)

    def _note_alias(self, node: Node) -> None:
        name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        kind = node.child_by_field_name("type")
        if name is not None and kind is not None and name.type == "type_identifier":
            self.aliases[self._code.of(name)] = " ".join(self._code.of(kind).split())

    def _always_before(self, assignment: Node, left: Node, right: Node) -> bool:
        """Whether what a name held before an assignment is never what it holds at the place."""
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
        """Remember what is allocated, and what a function may have set."""
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
    """Whether what looks like a parameter is one of the values of ``dim3 grid(a, b * c);``."""
    listed = node.parent if node.type == "parameter_declaration" else None
    head = None if listed is None else listed.parent
    return head is not None and head.parent is not None and head.parent.type == "declaration"


def _last_of_chain(right: Node | None) -> Node | None:
    """What all variables become in ``a = b = c``."""
    while right is not None and right.type == "assignment_expression":
        operator = right.child_by_field_name("operator")
        if operator is None or operator.type != "=":
            return right
        right = right.child_by_field_name("right")
    return right


def _depth(declarator: Node | None, name: Node) -> int:
    """How many ``*`` or ``[]`` a declaration puts on a name."""
    depth = 0
    while declarator is not None and declarator != name:
        depth += declarator.type in ("pointer_declarator", "array_declarator")
        declarator = declarator.child_by_field_name("declarator")
    return depth


def _in_header(node: Node) -> bool:
    """Whether an assignment is the step of a ``for`` loop."""
    loop = node.parent
    return (
        loop is not None
        and loop.type == "for_statement"
        and (loop.child_by_field_name("update") == node)
    )


def is_name(node: Node) -> bool:
    """Whether an expression names one value: ``n``, ``matrix.rows``, ``data.size()``."""
    if node.type == "call_expression":
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        member = called is not None and called.type == "field_expression"
        return member and given is not None and not given.named_children
    return node.type in ("identifier", "field_expression")
