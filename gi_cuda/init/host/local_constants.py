"""Constants that functions of host code declare: ``const int threads = 256;`` in ``main``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, source_constants, walk
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node
from gi_cuda.grammar.macro_values import constants_said
from gi_cuda.init.host.host import HostCode, is_value

_CHANGED = (
    r"\b{0}\b\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\{{|\+\+|--)|(?:\+\+|--|&|>>)\s*{0}\b(?!\s*\()"
)
"""Pattern of a variable that is assigned, or that may be changed through its address."""

_DECLARES = ("declaration", "parameter_declaration", "optional_parameter_declaration")


def local_constants(hosts: Sequence[HostCode]) -> dict[str, str]:
    """Return the constants of a source's host functions by name: ``{"threads": "256"}``.

    A variable that nothing changes is a constant, too. The name must be unambiguous: the source
    declares no other constant of this name, and no host function another variable or parameter.

    Args:
        hosts: the files with launches, the source first.
    """
    code = hosts[0].code
    said = [one.name for one in constants_said(code.text)]
    declared = [name for host in hosts for name, _, _ in _declared(host.code)]
    elsewhere = {*code.macros, *source_constants(code), *(one.name for one in code.definitions)}
    found = {}
    for name, node, function in _declared(code):
        number = next((one for one in constants_said(code.of(node)) if one.name == name), None)
        once = said.count(name) == declared.count(name) == 1
        if number is None or not once or name in elsewhere:
            continue
        if number.const or len(re.findall(_CHANGED.format(name), code.of(function))) == 1:
            found[name] = number.value
    return found


def _declared(code: CudaFile) -> Iterator[tuple[str, Node, Node]]:
    """Yield name, declaration and function of the variables and parameters of host functions."""
    for function in code.definitions:
        for node in walk(function.node) if not function.device else ():
            if node.type in _DECLARES and not is_value(node):
                for one in node.children_by_field_name("declarator"):
                    name = name_node(one)
                    if name is not None:
                        yield code.of(name), node, function.node
