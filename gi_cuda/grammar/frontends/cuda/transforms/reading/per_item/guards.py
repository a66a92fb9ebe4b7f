"""The test that a thread has an item: ``if (i >= n) return;``, or ``if (i < n) { ... }``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import statements
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.bounds import joined


class Guard(NamedTuple):
    """A test that a thread has an item, with the work that follows.

    Attributes:
        returns: whether the threads without an item return; their conditions are joined by ``||``.
        conditions: of the threads that return, or of those that work, joined by ``&&``.
        work: the statements for the item.
        body: the statement or block of the ``if``.
    """

    returns: bool
    conditions: tuple[Node, ...]
    work: tuple[Node, ...]
    body: Node


def read_guard(block: Node, guard: Node) -> Guard | None:
    """Read a statement of a kernel's body as a guard of all statements behind it, or inside it as
    the last one."""
    condition, body = (guard.child_by_field_name(one) for one in ("condition", "consequence"))
    held, own = parts(condition), own_statements(block)
    if guard.type != "if_statement" or guard.child_by_field_name("alternative") is not None:
        return None
    if len(held) != 1 or body is None or guard not in own:
        return None
    returns = is_return(body)
    if not returns and own[-1] != guard:
        return None
    work: Sequence[Node] = own[own.index(guard) + 1 :] if returns else own_statements(body)
    conditions = tuple(joined(held[0], "||" if returns else "&&"))
    return Guard(returns, conditions, tuple(work), body) if work else None


def own_statements(body: Node) -> list[Node]:
    """Return the statements of a block, empty ones apart; of another statement, itself."""
    if body.type != "compound_statement":
        return [body]
    return [one for one in statements(body) if one.type != "expression_statement" or parts(one)]


def is_return(body: Node) -> bool:
    """Tell whether a statement does nothing but ``return``."""
    if body.type == "compound_statement" and len(statements(body)) == 1:
        body = statements(body)[0]
    return body.type == "return_statement" and not parts(body)
