"""Sizes of arrays in shared memory, if the source's text tells them."""

from __future__ import annotations

import re
from collections.abc import Collection

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.constants import evaluated
from gi_cuda.grammar.frontends.cuda.declarations.file import constants_in
from gi_cuda.grammar.frontends.cuda.text.syntax import declarators
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.host_code.kinds import HostKinds

_BYTES = {"char": 1, "bool": 1, "short": 2, "half": 2, "int": 4, "float": 4, "double": 8, "long": 8}
_ELEMENT = re.compile(rf"(?:.*\W|__|)u?({'|'.join(_BYTES)})([1-4]?)")


def shared_bytes(code: Code, kernel: Function, several: Collection[str], count: int) -> int:
    """Return the bytes of the arrays in shared memory whose sizes are known.

    Args:
        several: the arrays that the kernel is to have several times.
        count: how many times.
    """
    known, found = known_numbers(code), 0
    for node in descend(kernel.body):
        kind = node.child_by_field_name("type")
        words = {code.span(one) for one in node.children}
        if node.type != "declaration" or "__shared__" not in words or kind is None:
            continue
        spelled = code.spelled_type(code.span(kind))
        element = _ELEMENT.fullmatch(spelled.base if spelled else code.span(kind))
        for declarator in declarators(node) if element else ():
            name, sizes = extents(declarator)
            size = _BYTES[element[1]] * int(element[2] or 1) if element else 0
            for one in sizes:
                size *= (evaluated(code.bare(one), known) or 0) if one is not None else 0
            found += size * (count if name is not None and code.span(name) in several else 1)
    return found


def extents(declarator: Node) -> tuple[Node | None, list[Node | None]]:
    """Return the name of an array and the sizes of its dimensions, outermost first."""
    sizes: list[Node | None] = []
    inner: Node | None = declarator
    while inner is not None and inner.type == "array_declarator":
        sizes.insert(0, inner.child_by_field_name("size"))
        inner = inner.child_by_field_name("declarator")
    return inner, sizes


def known_numbers(code: Code) -> dict[str, str]:
    """Return the text that each macro and constant of a source stands for."""
    found = {
        name: macros[0].body
        for name, macros in HostKinds(code).macros.items()
        if macros[0].parameters is None and macros[0].body
    }
    for text in (code.text, *code.source.beside):
        for name, value in constants_in(text):
            found.setdefault(name, value)
    return found
