"""Warp-level rows: a group of lanes does the work of one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, statements
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.reductions import (
    Accumulator,
    Operation,
    starts_with_identity,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.serial import Iterations
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.warp_plan import (
    Section,
    WarpPlan,
    read_plan,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, indented, unit
from gi_cuda.grammar.frontends.cuda.transforms.writing.loop_text import (
    behind_comment,
    strided,
    with_lines_around,
)
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, closing, indent, newline, opening, replacing

_WARP = 32
_PRIMARY = frozenset({"parenthesized_expression", "cast_expression", "call_expression"})
_ALONE = frozenset(
    {
        *("init_declarator", "assignment_expression", "argument_list", "subscript_argument_list"),
        *("<", "<=", ">", ">=", "==", "!="),
    }
)
"""Nodes in which a quotient needs no parentheses: their types, or their operators."""


class Warp(Family):
    """``<warp_kernel.cu_41><warp_K32>`` gives each row a group of 32 lanes in place of a thread.

    Before and after::

        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < rows) {
            float sum = 0;
            for (int j = 0; j < n; j++)
                sum += a[i * n + j];
            b[i] = sum;
        }

        int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
        const int lane = threadIdx.x % 32;
        if (i < rows) {
            float sum = 0;
            for (int j = lane; j < n; j += 32)
                sum += a[i * n + j];
            for (int offset = 16; offset > 0; offset /= 2)
                sum += __shfl_xor_sync(0xffffffff, sum, offset);
            if (lane == 0) b[i] = sum;
        }

    With ``<warp_K8i>`` neighbouring threads have neighbouring rows, as before: a warp has 4 rows,
    and the lanes of one are 4 threads apart. Loads that are contiguous in the row, not in the loop,
    stay so in groups of 4::

        int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 4 + threadIdx.x % 4;
        const int lane = threadIdx.x % 32 / 4;

    The grid gets so many times the blocks. The size of a block has to be a multiple of the lanes,
    or of 32.
    """

    type = RuleType.WARP

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the kernels with one thread for each row and a loop that lanes can share."""
        for kernel in code.kernels:
            choices = [
                one
                for one in self.type.kind.specials
                if read_plan(code, kernel, _layout(one).lanes) is not None
            ]
            if choices:
                yield Site(kernel.at, kernel.number, tuple(choices))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Share the iterations of loops among lanes; one lane executes the other writes."""
        kernel, layout = code.function_at(at), _layout(choice)
        plan = None if kernel is None else read_plan(code, kernel, layout.lanes)
        if plan is None or kernel is None:
            return None
        names = _Names(*(fresh(one, code, kernel) for one in ("lane", "mask", "offset", "element")))
        splices = _Text(code, plan, layout, names).splices()
        return Rewrite(tuple(splices), {f"{kernel.name}.times.x": layout.lanes})


@dataclass(frozen=True, slots=True)
class _Layout:
    """The threads that share a row.

    Attributes:
        lanes: how many.
        apart: how far from each other they are; as many rows lie side by side.
    """

    lanes: int
    apart: int = 1

    @property
    def whole(self) -> bool:
        """Tell whether the threads of a row are a whole warp."""
        return self.lanes == _WARP

    @property
    def lane(self) -> str:
        """The expression for the number of a thread among the threads of its row."""
        lane = f"threadIdx.x % {self.lanes * self.apart}"
        return lane if self.apart == 1 else f"{lane} / {self.apart}"

    @property
    def mask(self) -> str:
        """The mask of the lanes of a thread's row in its warp."""
        ones = sum(1 << lane * self.apart for lane in range(self.lanes))
        first = f"threadIdx.x % {_WARP} / {self.lanes} * {self.lanes}"
        return f"0x{ones:x}u << ({first if self.apart == 1 else f'threadIdx.x % {self.apart}'})"

    @property
    def halves(self) -> str:
        """The header of a loop over the distances in a butterfly, without the variable's name."""
        furthest, end = (
            self.lanes * self.apart // 2,
            "> 0" if self.apart == 1 else f">= {self.apart}",
        )
        return f"for (int {{0}} = {furthest}; {{0}} {end}; {{0}} /= 2)"

    def row(self, thread: str) -> str:
        """Return the expression for the number of a row, from the number of its thread."""
        if self.apart == 1:
            return f"{thread} / {self.lanes}"
        return f"{thread} / {_WARP} * {self.apart} + threadIdx.x % {self.apart}"


def _layout(choice: str) -> _Layout:
    count, interleaved, _ = choice.rpartition("K")[2].partition("i")
    return _Layout(int(count), _WARP // int(count) if interleaved else 1)


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of the variables that a rewritten kernel gets."""

    lane: str
    mask: str
    offset: str
    element: str


class _Text:
    """Writer of the changes of one kernel."""

    def __init__(self, code: Code, plan: WarpPlan, layout: _Layout, names: _Names) -> None:
        self.code = code
        self.plan = plan
        self.layout = layout
        self.names = names
        self.mask = "0xffffffff" if layout.whole else names.mask
        self.unit = unit(code, plan.facts.function)

    def splices(self) -> Iterator[Splice]:
        """Write all changes of the text."""
        for index in self.plan.index:
            yield self._divided(index.node, self.layout.row)
        for stride in self.plan.strides:
            yield self._divided(stride, _Layout(self.layout.lanes).row)
        yield self._lane()
        for loop in self.plan.loops:
            yield from self._loop(loop)
        for single in self.plan.single:
            yield from self._single(single)

    def _divided(self, node: Node, row: Callable[[str], str]) -> Splice:
        """Make the index of a thread, or the number of all threads, that of rows."""
        text, above = self.code.span(node), node.parent
        product = node.type == "binary_expression" and "+" not in (
            one.type for one in node.children
        )
        inner = text if product or node.type in _PRIMARY else f"({text})"
        operator = None if above is None else above.child_by_field_name("operator")
        binary = operator if above is not None and above.type == "binary_expression" else above
        alone = binary is not None and binary.type in _ALONE
        divided = row(inner)
        return replacing(node.start_byte, node.end_byte, divided if alone else f"({divided})")

    def _lane(self) -> Splice:
        """Declare the lane: behind the first index, or at the start of the body."""
        lines = [f"const int {self.names.lane} = {self.layout.lane};"]
        if not self.layout.whole and self._has_mask():
            lines.append(f"const unsigned {self.mask} = {self.layout.mask};")
        body, text = self.plan.facts.function.body, self.code.text
        own, index = statements(body), self.plan.index[0].node
        holder = next(one for one in own if one.end_byte > index.start_byte)
        needed = min(one.nodes[0].start_byte for one in self.plan.sections)
        behind = holder.type in ("declaration", "expression_statement")
        if behind and holder.end_byte <= needed:
            gap = newline(text, holder.start_byte) + indent(text, holder.start_byte)
            end = behind_comment(text, holder.end_byte)
            return closing(holder.start_byte, end, "".join(gap + one for one in lines))
        start = own[0].start_byte
        gap = newline(text, start) + indent(text, start)
        return opening(start, body.end_byte, "".join(one + gap for one in lines))

    def _has_mask(self) -> bool:
        """Tell whether any shuffle or ``__syncwarp`` needs a mask."""
        synchronized = any(one.sync_before or one.sync_after for one in self.plan.sections)
        found = [one.iterations for one in self.plan.loops]
        return synchronized or any(one is not None and one.accumulators for one in found)

    def _sync(self, wanted: bool) -> list[str]:
        return [f"__syncwarp({self.mask});"] if wanted else []

    def _loop(self, section: Section) -> Iterator[Splice]:
        """Write the header of a shared loop, and the lines around the loop."""
        work = section.iterations
        assert work is not None, "it is a loop"
        yield from strided(self.code, work.loop, self.names.lane, str(self.layout.lanes))
        before = list(self._starts(work))
        after = list(self._totals(work.accumulators))
        before += self._sync(section.sync_before)
        after += self._sync(section.sync_after)
        if before or after:
            yield from with_lines_around(self.code, section.nodes, before, after)

    def _starts(self, work: Iterations) -> Iterator[str]:
        """Write the lines by which all lanes but lane 0 start with the identity."""
        head = f"if ({self.names.lane} != 0) "
        chains: dict[str, list[str]] = {}
        for one in work.accumulators:
            identity = one.operation.identity
            if identity is None or starts_with_identity(self.plan.facts, work.loop.node, one):
                continue
            if one.size:
                yield f"{head}{self._elements(one)} {self._of(one)} = {identity};"
            else:
                chains.setdefault(identity, []).append(one.name)
        for identity, names in chains.items():
            yield f"{head}{' = '.join(names)} = {identity};"

    def _elements(self, one: Accumulator) -> str:
        element = self.names.element
        return f"for (int {element} = 0; {element} < {one.size}; {element}++)"

    def _of(self, one: Accumulator) -> str:
        return f"{one.name}[{self.names.element}]" if one.size else one.name

    def _totals(self, accumulators: tuple[Accumulator, ...]) -> Iterator[str]:
        """Write the butterfly reductions, after which all lanes have the totals."""
        halves = self.layout.halves.format(self.names.offset)
        scalars = [one for one in accumulators if not one.size]
        if len(scalars) == 1:
            yield halves
            yield f"{self.unit}{self._added(scalars[0])}"
        elif scalars:
            yield f"{halves} {{"
            yield from (f"{self.unit}{self._added(one)}" for one in scalars)
            yield "}"
        for one in accumulators:
            if one.size:
                yield self._elements(one)
                yield f"{self.unit}{halves}"
                yield f"{self.unit}{self.unit}{self._added(one)}"

    def _added(self, one: Accumulator) -> str:
        """Write the statement that adds the value of another lane."""
        name = self._of(one)
        other = f"__shfl_xor_sync({self.mask}, {name}, {self.names.offset})"
        if one.operation in (Operation.MIN, Operation.MAX):
            end = {"float": "f", "double": ""}.get(one.type.base)
            called = one.operation.value if end is None else f"f{one.operation.value}{end}"
            return f"{name} = {called}({name}, {other});"
        return f"{name} {one.operation.value}= {other};"

    def _single(self, section: Section) -> Iterator[Splice]:
        """Write the condition around statements that one lane executes."""
        code, nodes = self.code, section.nodes
        before, after = self._sync(section.sync_before), self._sync(section.sync_after)
        condition = f"if ({self.names.lane} == 0) "
        if len(nodes) == 1:
            yield from with_lines_around(code, nodes, before, after, condition)
            return
        yield from indented(code, nodes[0].start_byte, nodes[-1].end_byte, self.unit)
        yield from with_lines_around(
            code, nodes, [*before, condition + "{"], ["}", *after], self.unit
        )
