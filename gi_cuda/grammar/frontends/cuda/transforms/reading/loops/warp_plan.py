"""Find what a kernel becomes when a group of lanes does the work of one thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, Code, Function, descend, holds
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import (
    Index,
    indices,
    is_guarded,
    is_whole,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import has_effect
from gi_cuda.grammar.frontends.cuda.transforms.reading.dataflow import Facts, Use, read_facts
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.serial import (
    Iterations,
    independent_iterations,
    is_grid_stride,
    read_loop,
    trip_count,
)
from gi_cuda.grammar.splice import is_first

_NO_STATEMENT = frozenset({"declaration", "condition_clause", "for_statement", "return_statement"})


@dataclass(frozen=True, slots=True)
class Section:
    """A loop whose iterations the lanes share, or adjacent statements that one lane executes.

    Attributes:
        nodes: the loop, or the statements.
        sync_before: whether ``__syncwarp`` is needed before the section.
        sync_after: whether ``__syncwarp`` is needed after the section.
        iterations: of a loop, how its iterations can be shared.
    """

    nodes: tuple[Node, ...]
    sync_before: bool
    sync_after: bool
    iterations: Iterations | None = None


@dataclass(frozen=True, slots=True)
class WarpPlan:
    """The parts of a kernel that change when each row gets a group of lanes.

    Attributes:
        facts: the uses of variables in the kernel.
        index: the global indices of threads, which become rows.
        strides: the products ``blockDim.x * gridDim.x``, which become numbers of rows.
        loops: the loops that the lanes share.
        single: the statements that one lane executes, because they write memory or print.
    """

    facts: Facts
    index: tuple[Index, ...]
    strides: tuple[Node, ...]
    loops: tuple[Section, ...]
    single: tuple[Section, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """All loops and statements that change."""
        return (*self.loops, *self.single)


def read_plan(code: Code, kernel: Function, lanes: int) -> WarpPlan | None:
    """Plan how lanes share the rows of a kernel that has one thread for each row.

    Returns:
        None if no loop of the kernel can be shared by so many lanes, or if the kernel has effects
        that cannot be left to one lane.
    """
    found = indices(code, kernel)
    if not code.alone(kernel) or not found.plain or found.axes() != ("x",):
        return None
    if not is_guarded(code, kernel, "x"):
        return None
    if not all(is_whole(code, one) for one in found.found):
        return None
    facts = read_facts(code, kernel)
    if facts is None:
        return None
    loops = list(_loops(facts, kernel.body, lanes))
    single = _single_lane(facts, [one.loop.node for one in loops])
    if not loops or single is None:
        return None
    sections = _synchronized([*_loop_sections(facts, loops), *_single_sections(facts, single)])
    shared, rest = sections[: len(loops)], sections[len(loops) :]
    strides = tuple(node for _, node in found.strides)
    return WarpPlan(facts, found.found, strides, tuple(shared), tuple(rest))


def _loops(facts: Facts, node: Node, lanes: int) -> Iterator[Iterations]:
    """Find the outermost loops that so many lanes can share."""
    if node.type == "for_statement":
        loop = read_loop(facts, node)
        if loop is not None and not is_grid_stride(facts, node):
            trips = trip_count(facts, loop)
            found = independent_iterations(facts, loop)
            if found is not None and (trips is None or trips >= lanes):
                yield found
                return
    for child in node.named_children:
        yield from _loops(facts, child, lanes)


def _single_lane(facts: Facts, loops: Sequence[Node]) -> list[tuple[Node, ...]] | None:
    """Find the statements outside of shared loops that one lane has to execute.

    Returns:
        Adjacent statements as one group. None if an effect is no statement by itself, or if the
        statement also sets a variable, which the other lanes need.
    """
    effects = [one.by for one in facts.uses if one.roots and one.writes and one.by is not None]
    effects += [
        one
        for one in descend(facts.function.body)
        if one.type == "call_expression" and has_effect(facts.code, one)
    ]
    found: dict[int, Node] = {}
    for effect in effects:
        if any(holds(loop, effect) for loop in loops):
            continue
        statement = _statement(effect)
        if statement is None:
            return None
        if any(one.writes and one.own is not None for one in facts.within(statement)):
            return None
        found[statement.start_byte] = statement
    return list(_adjacent(facts.code.text, [found[at] for at in sorted(found)]))


def _statement(effect: Node) -> Node | None:
    """Return the statement that an assignment or call is, or is part of."""
    at: Node | None = effect
    while at is not None and at.type != "expression_statement":
        if at.type in _NO_STATEMENT:
            return None
        at = at.parent
    return at


def _adjacent(text: str, statements: Sequence[Node]) -> Iterator[tuple[Node, ...]]:
    """Group statements that follow each other in one block, each on a line of its own."""
    group: list[Node] = []
    for one in statements:
        in_block = one.parent is not None and one.parent.type == "compound_statement"
        follows = bool(group) and in_block and _previous(one) == group[-1].id
        if group and not (follows and all(is_first(text, x.start_byte) for x in (group[0], one))):
            yield tuple(group)
            group = []
        group.append(one)
    if group:
        yield tuple(group)


def _loop_sections(facts: Facts, loops: Sequence[Iterations]) -> Iterator[Section]:
    """Find where lanes have to synchronize before and after each shared loop."""
    memory = [one for one in facts.uses if one.roots]
    for found in loops:
        node = found.loop.node
        others = [one for one in memory if not holds(node, one.node)]
        before, after = _conflicts(facts, (node,), others)
        around = _loops_around(facts, node)
        repeated = bool(found.written) and not all(is_grid_stride(facts, one) for one in around)
        yield Section((node,), before, after or repeated, found)


def _single_sections(facts: Facts, groups: Sequence[tuple[Node, ...]]) -> Iterator[Section]:
    """Find where lanes have to synchronize before and after the statements of a single lane."""
    by_one = [one for group in groups for one in group]
    by_all = [
        one
        for one in facts.uses
        if one.roots and not any(holds(statement, one.node) for statement in by_one)
    ]
    for group in groups:
        yield Section(group, *_conflicts(facts, group, by_all))


def _conflicts(facts: Facts, nodes: Sequence[Node], others: Sequence[Use]) -> tuple[bool, bool]:
    """Tell whether other code accesses the memory that some statements write, before and after.

    Code in the same loop comes both before and after the statements.
    """
    inside = [use for node in nodes for use in facts.within(node)]
    written = frozenset[str]().union(*(one.roots for one in inside if one.writes))
    loops = list(_loops_around(facts, nodes[0]))
    found = [one.node for one in others if one.roots & written]
    again = any(holds(loop, one) for one in found for loop in loops)
    before = any(one.start_byte < nodes[0].start_byte for one in found)
    after = any(one.start_byte >= nodes[-1].end_byte for one in found)
    return before or again, after or again


def _synchronized(sections: Sequence[Section]) -> list[Section]:
    """Drop the synchronization before a section that directly follows the one after another."""
    done = {one.nodes[-1].id for one in sections if one.sync_after}
    return [
        replace(one, sync_before=one.sync_before and _previous(one.nodes[0]) not in done)
        for one in sections
    ]


def _previous(statement: Node) -> int | None:
    """Return the ``Node.id`` of the statement before another one."""
    before = statement.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    return None if before is None else before.id


def _loops_around(facts: Facts, node: Node) -> Iterator[Node]:
    above = node.parent
    while above is not None and above.id != facts.function.body.id:
        if above.type in LOOPS:
            yield above
        above = above.parent
