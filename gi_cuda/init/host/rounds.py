"""The variables of loops of host code that launch a kernel round after round.

In the first round such a variable is 0, with which much comes out alike: a kernel that forgets it
is as right. In the second one it is 1, and nothing is special about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile

SECOND = 1
"""The number of the second round."""

_FROM_0 = re.compile(r"(?:[^=;]*\s)?([A-Za-z_]\w*)\s*=\s*0[uUlL]*\s*;?")


def counted(
    code: CudaFile, node: Node, number: Callable[[Node], int | float | None]
) -> Iterator[str]:
    """The variables that loops around a node count from 0 on, one by one, unless it is known that
    they have a single round.

    Args:
        number: the value of an expression, where it is a constant.
    """
    above = node.parent
    while above is not None and above.type != "function_definition":
        if above.type == "for_statement" and (name := _variable(code, above)):
            end = _end(above)
            most = None if end is None else number(end)
            if most is None or most > SECOND:
                yield name
        above = above.parent


def _variable(code: CudaFile, loop: Node) -> str:
    """What a loop counts from 0 on, one by one; "" where it does anything else."""
    begin, step = (loop.child_by_field_name(one) for one in ("initializer", "update"))
    found = None if begin is None else _FROM_0.fullmatch(code.of(begin))
    if found is None or step is None:
        return ""
    name = found[1]
    steps = rf"\+\+\s*{name}|{name}\s*\+\+|{name}\s*\+=\s*1"
    return name if re.fullmatch(steps, code.of(step).strip()) else ""


def _end(loop: Node) -> Node | None:
    """What the variable of a loop stays below."""
    condition = loop.child_by_field_name("condition")
    plain = condition is not None and condition.type == "binary_expression"
    return condition.child_by_field_name("right") if plain and condition is not None else None
