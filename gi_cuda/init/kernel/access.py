"""Determine from a kernel's text if it reads or writes through a pointer."""

from __future__ import annotations

import re
from enum import Flag, auto

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, signature, walk
from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node


class Access(Flag):
    """Kinds of access to the memory behind a pointer."""

    NONE = 0
    READ = auto()
    WRITE = auto()
    ATOMIC = auto()
    """``atomicAdd``: the memory is an accumulator."""


UNKNOWN = Access.READ | Access.WRITE
"""Assumed access through a pointer that cannot be followed."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_LOADS = ("__ldg", "__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldlu", "printf", "tex1Dfetch")
_TRANSPARENT = frozenset({"parenthesized_expression", "cast_expression", "update_expression"})
_COMPARES = ("<", "<=", ">", ">=", "==", "!=")
_CASTS = ("reinterpret_cast", "static_cast", "const_cast")


def accesses(code: CudaFile, function: Definition, name: str) -> Access:
    """Return how ``function`` and the functions it calls access the memory behind pointer ``name``.

    Copies of the pointer are followed. If it is passed to a function that the file does not define,
    or a macro names it, the result is `UNKNOWN`.
    """
    found = _Follower(code).follow(function, name)
    words = set(_WORD.findall(code.of(function.node)))
    macros = [code.macros[word] for word in words & code.macros.keys()]
    named = any(name in macro.free_names for macro in macros)
    return found | UNKNOWN if named and name not in code.macros else found


def member_accesses(code: CudaFile, function: Definition, member: str) -> Access:
    """Return how ``function`` accesses the memory behind a member that it names itself.

    Functions that take the whole struct are not followed.

    Args:
        member: the pointer as the code writes it, e.g. ``matrix.data``.
    """
    return _Follower(code).follow_member(function, member)


class _Follower:
    def __init__(self, code: CudaFile) -> None:
        self._code = code
        self._seen: set[tuple[int, str]] = set()

    def follow(self, function: Definition, name: str) -> Access:
        """Return all accesses through a name in a function."""
        key = (function.node.start_byte, name)
        body = function.node.child_by_field_name("body")
        if body is None or key in self._seen:
            return Access.NONE
        self._seen.add(key)
        found = Access.NONE
        for node in walk(body):
            if node.type == "identifier" and self._code.of(node) == name:
                found |= self._pointer(node, function)
        return found

    def follow_member(self, function: Definition, member: str) -> Access:
        """Return all accesses through a member in a function."""
        found = Access.NONE
        for node in walk(function.node):
            if node.type == "field_expression" and self._code.of(node) == member:
                found |= self._pointer(node, function)
        return found

    def _pointer(self, node: Node, function: Definition) -> Access:
        """Return the accesses through an expression that is the pointer."""
        parent = node.parent
        if parent is None:
            return UNKNOWN
        kind = parent.type
        if kind == "subscript_expression":
            own = parent.child_by_field_name("argument") == node
            return self._place(parent, function) if own else Access.NONE
        if kind == "field_expression" or (
            kind == "pointer_expression" and self._operator(parent) == "*"
        ):
            return self._place(parent, function)
        if kind == "binary_expression":
            sums = self._operator(parent) in ("+", "-")
            return self._pointer(parent, function) if sums else Access.NONE
        if kind in _TRANSPARENT or kind == "conditional_expression":
            return self._pointer(parent, function)
        if kind in ("init_declarator", "assignment_expression"):
            return self._copied(parent, node, function)
        if kind == "argument_list":
            return self._passed(parent, node, function)
        declares = kind.endswith("declarator") or kind == "expression_statement"
        return Access.NONE if declares or "sizeof" in kind else UNKNOWN

    def _copied(self, parent: Node, node: Node, function: Definition) -> Access:
        target = parent.child_by_field_name("declarator") or parent.child_by_field_name("left")
        if target is None or target == node:
            return Access.NONE
        name = name_node(target)
        return UNKNOWN if name is None else self.follow(function, self._code.of(name))

    def _passed(self, arguments: Node, node: Node, function: Definition) -> Access:
        call = arguments.parent
        called = None if call is None else call.child_by_field_name("function")
        if call is None or called is None:
            # ``T *copy(pointer)``
            return self._copied(call, node, function) if call is not None else UNKNOWN
        text = self._code.of(called)
        name = text.partition("<")[0].rpartition("::")[2].strip()
        index = arguments.named_children.index(node)
        if name in _CASTS:
            return self._pointer(call, function)
        if name.startswith("atomic"):
            return Access.ATOMIC if name == "atomicAdd" else UNKNOWN
        if name in _LOADS:
            return Access.READ
        definition = self._code.function(name)
        parameters = [] if definition is None else list(signature(self._code, definition))
        if definition is None or index >= len(parameters) or not parameters[index].name:
            return UNKNOWN
        return self.follow(definition, parameters[index].name)

    def _place(self, node: Node, function: Definition) -> Access:
        """Return the accesses of an expression that lies in the memory behind the pointer."""
        while node.parent is not None and (
            node.parent.type in ("field_expression", "parenthesized_expression")
            or (
                node.parent.type == "subscript_expression"
                and node.parent.child_by_field_name("argument") == node
            )
        ):
            node = node.parent
        parent = node.parent
        if parent is None:
            return UNKNOWN
        if "sizeof" in parent.type:
            return Access.NONE
        if parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
            return Access.WRITE if self._operator(parent) == "=" else UNKNOWN
        if parent.type == "update_expression":
            return UNKNOWN
        if parent.type == "pointer_expression" and self._operator(parent) == "&":
            return self._pointer(parent, function)
        if parent.type == "argument_list" and parent.parent is not None:
            return self._given(parent, node)
        if parent.type == "call_expression" and node.type == "field_expression":
            return UNKNOWN
        if parent.type == "init_declarator":
            return self._bound(parent)
        return Access.READ

    def _bound(self, declares: Node) -> Access:
        """Return the access of a declaration that an element initializes, perhaps a reference."""
        target, whole = declares.child_by_field_name("declarator"), declares.parent
        const = whole is not None and "const" in self._code.of(whole).partition("&")[0].split()
        reference = target is not None and target.type == "reference_declarator"
        return UNKNOWN if reference and not const else Access.READ

    def _given(self, arguments: Node, node: Node) -> Access:
        """Return the access of a call that takes an element, perhaps by reference."""
        call = arguments.parent
        called = None if call is None else call.child_by_field_name("function")
        name = "" if called is None else self._code.of(called).rpartition("::")[2]
        if name in self._code.macros or name == "swap":
            return UNKNOWN
        definition = self._code.function(name.partition("<")[0])
        parameters = [] if definition is None else list(signature(self._code, definition))
        index = arguments.named_children.index(node)
        taken = parameters[index] if index < len(parameters) else None
        by_reference = taken is not None and taken.reference and not taken.const
        return UNKNOWN if by_reference else Access.READ

    def _operator(self, node: Node) -> str:
        operator = node.child_by_field_name("operator")
        return "" if operator is None else self._code.of(operator)


def is_compared(code: CudaFile, function: Definition, name: str) -> bool:
    """Tell whether a function compares a variable with something that may be a bound of data.

    Comparisons with an item of an array (a threshold), or for equality with a number (a mode), do
    not
    count.
    """
    body = function.node.child_by_field_name("body")
    if body is None:
        return False
    sides = [one for node in walk(body) for one in _compared_with(code, node, name)]
    return any(not _is_item(code, body, one) for one in sides)


def _compared_with(code: CudaFile, node: Node, name: str) -> list[Node]:
    """Return the expressions that a comparison compares a variable with, mode tests excepted."""
    if node.type != "binary_expression":
        return []
    left, *_, right = node.children
    signs = [code.of(one) for one in node.children[1:-1] if code.of(one) in _COMPARES]
    if not signs:
        return []
    sides = [other for one, other in ((left, right), (right, left)) if code.of(one) == name]
    return [o for o in sides if o.type != "number_literal" or signs[0] not in ("==", "!=")]


def _is_item(code: CudaFile, body: Node, node: Node, depth: int = 0) -> bool:
    """Tell whether an expression is an item of an array or the result of a method.

    Parts of such expressions count, and variables that are set to nothing else.
    """
    while node.type in ("parenthesized_expression", "cast_expression"):
        node = node.child_by_field_name("value") or node.named_children[0]
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        return called is not None and called.type == "field_expression"
    if node.type == "field_expression":
        node = node.child_by_field_name("argument") or node
    if node.type != "identifier" or depth > 1:
        return node.type == "subscript_expression"
    held = [one for part in walk(body) if (one := _set_to(code, part, code.of(node))) is not None]
    return bool(held) and all(_is_item(code, body, one, depth + 1) for one in held)


def _set_to(code: CudaFile, node: Node, name: str) -> Node | None:
    """Return the value of a declaration or assignment of a variable; for ``+=`` or ``++``, the
    node.
    """
    if node.type == "init_declarator":
        target, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
    elif node.type == "assignment_expression":
        plain = any(code.of(one) == "=" for one in node.children[1:-1])
        target, value = node.child_by_field_name("left"), node.children[-1] if plain else node
    elif node.type == "update_expression":
        target, value = node.child_by_field_name("argument"), node
    else:
        return None
    return value if target is not None and code.of(target) == name else None
