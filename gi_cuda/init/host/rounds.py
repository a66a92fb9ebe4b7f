"""Analyze loops of host code around launches: loop variables and iteration counts.

Loop variables get their value of the second iteration, 1. With the value of the first, 0, a wrong
variant may pass: one that ignores the variable often computes the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile

SECOND = 1
"""Value of a loop variable in the second iteration."""

_BEGIN = re.compile(r"(?:[^=;]*\s)?([A-Za-z_]\w*)\s*=\s*([01])[uUlL]*\s*;?")


def counted(
    code: CudaFile, node: Node, number: Callable[[Node], int | float | None]
) -> Iterator[str]:
    """Yield the variables of the loops around a node that count from 0 in steps of one.

    Loops that are known to have a single iteration are left out.

    Args:
        number: returns the value of a constant expression, or None.
    """
    for loop in _loops(node):
        name, begin = _counter(code, loop)
        if name and begin == 0:
            end = _end(loop)
            most = None if end is None else number(end)
            if most is None or most > SECOND:
                yield name


def times(code: CudaFile, node: Node, number: Callable[[Node], int | float | None]) -> int | None:
    """Return the number of times that the loops of a function reach a node.

    None if the iterations of a loop are unknown, if it may end early, or if a branch decides
    whether an iteration reaches the node.
    """
    loops = list(_loops(node))
    rounds = [_rounds(code, loop, number) for loop in loops]
    early = any(re.search(r"\b(?:break|goto)\b", code.of(loop)) for loop in loops)
    if None in rounds or early or (loops and is_conditional(node, loops[-1])):
        return None
    return math.prod(one for one in rounds if one is not None)


def is_conditional(node: Node, loop: Node | None = None) -> bool:
    """Tell whether a branch inside the loop (or the function) decides if a node is reached."""
    above = node.parent
    while above is not None and above != loop and above.type != "function_definition":
        if above.type in ("if_statement", "case_statement", "conditional_expression"):
            return True
        above = above.parent
    return False


def _rounds(code: CudaFile, loop: Node, number: Callable[[Node], int | float | None]) -> int | None:
    """Return the iterations of a loop that counts one by one from 0 or 1 to a known number."""
    (name, begin), end = _counter(code, loop), _end(loop)
    condition = loop.child_by_field_name("condition")
    compared = re.match(rf"{name}\s*(<=?|!=)", "" if condition is None else code.of(condition))
    last = number(end) if name and compared and end is not None else None
    if compared is None or not isinstance(last, int):
        return None
    return last - begin + (compared[1] == "<=")


def _loops(node: Node) -> Iterator[Node]:
    """Yield the loops around a node in its function, the innermost first."""
    above = node.parent
    while above is not None and above.type != "function_definition":
        if above.type in ("for_statement", "while_statement", "do_statement", "for_range_loop"):
            yield above
        above = above.parent


def _counter(code: CudaFile, loop: Node) -> tuple[str, int]:
    """Return the variable that a loop counts one by one, and its start (0 or 1); "" if there is
    none.
    """
    begin, step = (loop.child_by_field_name(one) for one in ("initializer", "update"))
    found = None if begin is None else _BEGIN.fullmatch(code.of(begin))
    if found is None or step is None:
        return "", 0
    name = found[1]
    steps = rf"\+\+\s*{name}|{name}\s*\+\+|{name}\s*\+=\s*1"
    return (name if re.fullmatch(steps, code.of(step).strip()) else ""), int(found[2])


def _end(loop: Node) -> Node | None:
    """Return the upper bound in the condition of a loop, or None."""
    condition = loop.child_by_field_name("condition")
    plain = condition is not None and condition.type == "binary_expression"
    return condition.child_by_field_name("right") if plain and condition is not None else None
