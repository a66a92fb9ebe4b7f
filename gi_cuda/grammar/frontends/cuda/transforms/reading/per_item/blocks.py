"""Blocks as items: the work of a block that one larger block can do for several neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import assigned_root, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    GEOMETRY,
    Code,
    Function,
    descend,
    geometry,
    is_nested,
    statements,
)
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import derived_names, is_derived
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import Passing, is_cast, passing_of
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.bounds import joined
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import unparenthesized
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.guards import is_return
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.items import (
    Work,
    depends,
    held_names,
    read_work,
    shared_nodes,
)

_MEETS = re.compile(r"__syncthreads|__shared__|barrier")
_DECLINED = re.compile(
    r"cooperative_groups|\bcg\b|\bcub\b|this_thread|\basm\b|\bgoto\b|cudaLaunch|\bclock"
    r"|__threadfence\b|__nanosleep|cluster_|\bpipeline\b"
)
"""Words of code in which blocks wait for each other, or that is not analysed."""

_UNREAD = frozenset({"lambda_expression", "labeled_statement"})
_CONDITIONAL = {
    "if_statement": ("consequence",),
    "conditional_expression": ("consequence",),
    "for_statement": ("body", "update"),
    "while_statement": ("body",),
}
"""Fields that are executed only if the node's condition holds, by node type."""

_LIMITED = {"<": ("left", "right"), "<=": ("left", "right")}
_LIMITED |= {">": ("right", "left"), ">=": ("right", "left")}
"""The sides of a comparison: the one that has an upper limit, and the limit."""


class NotMerged(Exception):
    """A kernel whose blocks cannot be merged; the text says why."""


def read_blocks(code: Code, kernel: Function, axis: str) -> Work:
    """Read the blocks of a kernel along an axis as items that share loops or barriers.

    Raises:
        NotMerged: the kernel is not understood, its threads work alone, or blocks would meet at
            barriers that not all of them reach.
    """
    called = [*code.called(kernel)]
    if code.alone(kernel, conditional=True):
        raise NotMerged("its threads work alone")
    if code.hidden(kernel) or any(_is_directive(code, one) for one in descend(kernel.body)):
        raise NotMerged("it has directives")
    if any(_DECLINED.search(code.bare(one.body)) for one in (kernel, *called)):
        raise NotMerged("it has words that are not understood")
    hidden = code.macro_words(kernel.body).union(*(code.words(one.body) for one in called))
    if hidden & {"blockIdx", "gridDim"}:
        raise NotMerged("a macro or function uses the number of the block")
    named = (one for one in descend(kernel.body) if one.type == "identifier")
    told = [geometry(one, code.text) for one in descend(kernel.body)]
    fields = [one for one in told if one]
    if len(fields) != sum(code.span(one) in GEOMETRY for one in named):
        raise NotMerged("geometry is used as a whole")
    if ("blockIdx", axis) not in fields or ("gridDim", axis) in fields:
        raise NotMerged("no number of the block, or the number of blocks")
    work = read_work(code, kernel, statements(kernel.body), f"blockIdx.{axis}")
    if work is None:
        raise NotMerged("items cannot be told apart")
    meeting = {one.name for one in called if _MEETS.search(code.bare(one.node))}
    for one in (one for run in work.runs for one in run.statements):
        words = code.words(one)
        apart = one.type != "declaration" and any(map(_MEETS.match, words))
        if apart or words & meeting:
            raise NotMerged("a barrier depends on the item")
        if any(inner.type in _UNREAD for inner in descend(one)):
            raise NotMerged("a function within the function")
        if any(one not in work.statements or is_nested(n, kernel.body) for n in returns(one)):
            raise NotMerged("a return from a loop depends on the item")
    once = (one for one in shared_nodes(work) if one.type == "identifier")
    if not any(_MEETS.match(word) or word in meeting for one in once for word in code.words(one)):
        raise NotMerged("no barrier is shared")
    return work


def returns(node: Node) -> Iterator[Node]:
    """Find the ``return`` in a statement."""
    return (one for one in descend(node) if one.type == "return_statement")


def is_covered(code: Code, kernel: Function, work: Work, axis: str) -> bool:
    """Tell whether blocks beyond the grid would access no memory but their own: a comparison with
    an upper limit guards each access that depends on the number of the block."""
    limits, held = _Limits(code, kernel, axis), held_names(code, [kernel.body])
    return all(
        any(limits.is_limit(one, holds) for one, holds in _known(node, work.statements))
        for run in work.runs
        for top in run.statements
        for node in descend(top)
        if _is_access(code, kernel, node, held) and depends(code, node, work.own)
    )


class _Limits:
    """Upper limits of what grows with the number of a block.

    ``i`` of ``i = blockIdx.x * 8 + threadIdx.x`` grows; ``i % 4``, ``min(i, 9)`` and ``9 - i`` do
    not, and a limit of theirs is none of the number.
    """

    def __init__(self, code: Code, kernel: Function, axis: str) -> None:
        nodes, at = [*descend(kernel.body)], ("blockIdx", axis)
        self._code = code
        self._where = frozenset(one.id for one in nodes if geometry(one, code.text) == at)
        self._names = derived_names(code, kernel, self._where)
        self._bent = frozenset(one.id for one in nodes if any(map(self._derives, _bends(one))))
        self._others = derived_names(code, kernel, self._bent)

    def is_limit(self, node: Node, holds: bool) -> bool:
        """Tell whether a condition that holds, or does not, gives an upper limit."""
        operator = node.child_by_field_name("operator")
        sides = _LIMITED.get(operator.type, ()) if operator is not None else ()
        found = [one for side in sides if (one := node.child_by_field_name(side)) is not None]
        if any(is_derived(self._code, one, self._others, self._bent) for one in found):
            return False
        return [*map(self._derives, found)] == [holds, not holds]

    def _derives(self, node: Node) -> bool:
        return is_derived(self._code, node, self._names, self._where)


def _bends(node: Node) -> Sequence[Node]:
    """Return the parts of an expression that need not grow when they do."""
    operator = node.child_by_field_name("operator")
    sign = "" if operator is None else operator.type
    if node.type in ("call_expression", "conditional_expression") or sign in ("%", "&", "^", "~"):
        return node.named_children
    return node.named_children[-1:] if sign == "-" else ()


def _is_directive(code: Code, node: Node) -> bool:
    return node.type.startswith("preproc") and "pragma" not in code.span(node)


def _known(node: Node, work: Sequence[Node]) -> Iterator[tuple[Node, bool]]:
    """Return the conditions that are known wherever a node is executed, and whether they hold."""
    inner, above = node, node.parent
    while above is not None and inner not in work:
        condition, operator = None, above.child_by_field_name("operator")
        if any(above.child_by_field_name(one) == inner for one in _CONDITIONAL.get(above.type, ())):
            condition = _condition(above)
        elif operator is not None and operator.type == "&&":
            condition = above.child_by_field_name("left")
        if condition is not None and condition != inner:
            yield from ((unparenthesized(one), True) for one in joined(condition, "&&"))
        inner, above = above, above.parent
    for before in work[: work.index(inner)] if inner in work else ():
        body = before.child_by_field_name("consequence")
        if body is not None and is_return(body) and (condition := _condition(before)) is not None:
            yield from ((unparenthesized(one), False) for one in joined(condition, "||"))


def _condition(node: Node) -> Node | None:
    condition = node.child_by_field_name("condition")
    return parts(condition)[0] if condition and condition.type == "condition_clause" else condition


def _is_access(code: Code, kernel: Function, node: Node, held: frozenset[str]) -> bool:
    """Tell whether a node accesses memory beside variables, or may do so."""
    if node.type == "call_expression" and not is_cast(code, node):
        passing = passing_of(code, kernel, node)
        arguments = parts(node.child_by_field_name("arguments"))
        given = zip(arguments, passing or (), strict=False)
        return passing is None or any(
            way is not Passing.VALUE and not _is_held(code, one, held) for one, way in given
        )
    if node.type == "pointer_expression":
        return code.span(node).startswith("*") and not _is_held(code, node, held)
    through = node.type == "subscript_expression" or any(one.type == "->" for one in node.children)
    return through and not _is_held(code, node, held)


def _is_held(code: Code, node: Node, held: frozenset[str]) -> bool:
    root = assigned_root(node)
    return root is not None and code.span(root) in held
