"""Loop splitting: the iterations of a loop are spread over another dimension of the grid."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, Code, Function, descend, geometry
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import has_effect
from gi_cuda.grammar.frontends.cuda.transforms.reading.dataflow import Facts, read_facts
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.serial import (
    Loop,
    independent_iterations,
    is_grid_stride,
    read_loop,
    trip_count,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.loop_text import strided
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.values import RANKS

_PASSED = frozenset({"compound_statement", "if_statement", "else_clause"})
_NARROW = frozenset({"int", "unsigned int"})


class Split(Family):
    """``<split_kernel.cu_47><split_K8>`` spreads the iterations of a loop over 8 times the blocks.

    Before and after::

        for (int j = 0; j < n; j++)
            b[j * m + i] = 2 * a[j * m + i];

        for (int j = blockIdx.y; j < n; j += gridDim.y)
            b[j * m + i] = 2 * a[j * m + i];

    The grid gets 8 times the blocks along y, or along z if the kernel uses y. With one block
    along that axis, the loop does the same as before.
    """

    type = RuleType.SPLIT

    def sites(self, code: Code) -> Iterator[Site]:
        """Find loops with independent iterations, outside of which the kernel writes nothing."""
        for kernel in code.kernels:
            if _free_axis(code, kernel) is None or not code.alone(kernel):
                continue
            for node in _loops(kernel):
                loop = _loop(code, kernel, node)
                most = None if loop is None else _most(code, kernel, loop)
                choices = [one for one in self.type.kind.specials if most and _number(one) <= most]
                if choices:
                    yield Site(node.start_byte, kernel.number, tuple(choices))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Let the loop begin with the block's number and go on by the number of blocks."""
        for kernel in code.kernels:
            axis = _free_axis(code, kernel)
            node = next((one for one in _loops(kernel) if one.start_byte == at), None)
            if node is None or axis is None or not code.alone(kernel):
                continue
            loop = _loop(code, kernel, node)
            if loop is None:
                return None
            first = _block_number(code, kernel, loop, axis)
            splices = strided(code, loop, first, f"gridDim.{axis}")
            return Rewrite(tuple(splices), {f"{kernel.name}.times.{axis}": _number(choice)})
        return None


def _number(choice: str) -> int:
    """Return by how much the number of blocks is multiplied."""
    return int(choice.rpartition("K")[2])


def _free_axis(code: Code, kernel: Function) -> str | None:
    """Return the first of y and z of which a kernel uses no geometry."""
    used = {geometry(one, code.text) for one in descend(kernel.body)}
    axes = {one[1] for one in used if one is not None}
    return next((axis for axis in ("y", "z") if axis not in axes), None)


def _loops(kernel: Function) -> Iterator[Node]:
    """Return all ``for`` statements of a kernel."""
    return (one for one in descend(kernel.body) if one.type == "for_statement")


def _loop(code: Code, kernel: Function, node: Node) -> Loop | None:
    """Read a loop; None if it cannot be split."""
    facts = read_facts(code, kernel)
    if facts is None or not _is_outermost(facts, node):
        return None
    loop = read_loop(facts, node)
    if loop is None or is_grid_stride(facts, node):
        return None
    found = independent_iterations(facts, loop)
    if found is None or found.accumulators or not found.written:
        return None
    return loop if _writes_all(facts, node, found.written) else None


def _is_outermost(facts: Facts, node: Node) -> bool:
    """Tell whether a loop stands in no other loop, grid-stride loops apart."""
    above = node.parent
    while above is not None and above.id != facts.function.body.id:
        if above.type in LOOPS:
            if not is_grid_stride(facts, above):
                return False
        elif above.type not in _PASSED:
            return False
        above = above.parent
    return True


def _writes_all(facts: Facts, node: Node, written: frozenset[str]) -> bool:
    """Tell whether all writes of a kernel are in one loop, and the memory is read nowhere else."""
    inside = {id(one) for one in facts.within(node)}
    outside = [one for one in facts.uses if id(one) not in inside]
    if any(one.roots and (one.writes or one.roots & written) for one in outside):
        return False
    printing = (one for one in descend(facts.function.body) if one.type == "call_expression")
    return not any(
        has_effect(facts.code, one)
        for one in printing
        if not node.start_byte <= one.start_byte < node.end_byte
    )


def _most(code: Code, kernel: Function, loop: Loop) -> int:
    """Return the largest number of blocks that all get iterations; a literal limit tells it."""
    facts = read_facts(code, kernel)
    found = None if facts is None else trip_count(facts, loop)
    return 1 << 16 if found is None else found


def _block_number(code: Code, kernel: Function, loop: Loop, axis: str) -> str:
    """Write the number of a block, as an ``int`` if the unsigned number would change a result.

    Example: with ``long j = first + blockIdx.y`` a negative ``first`` becomes a large number.
    """
    start = code.type(loop.start, kernel)
    kind = loop.node.child_by_field_name("initializer")
    deduced = kind is not None and "auto" in code.span(kind).split()
    literal = loop.start.type == "number_literal" and not deduced
    if literal or (loop.type.base in _NARROW and not loop.type.levels and not deduced):
        return f"blockIdx.{axis}"
    wide = start is not None and (start.pointer or start.rank >= RANKS["unsigned int"])
    return f"blockIdx.{axis}" if wide else f"(int)blockIdx.{axis}"
