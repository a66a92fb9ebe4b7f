"""Warp-aggregated atomics: the lanes of a warp add up before one of them adds to memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import OfFunctions
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import called_name
from gi_cuda.grammar.frontends.cuda.transforms.reading.derived import derived
from gi_cuda.grammar.frontends.cuda.transforms.reading.uniform import (
    is_of_variables,
    is_shared_address,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, unit
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, indent, newline, replacing
from gi_cuda.grammar.values import RANKS

_LANE = "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32"
_ALL = "0xffffffff"


@dataclass(frozen=True, slots=True)
class _Addition:
    """A call of ``atomicAdd`` by all threads of a block.

    Attributes:
        statement: the statement that it is.
        address, added: its arguments.
        type: the type of what is added.
    """

    statement: Node
    address: Node
    added: Node
    type: str


class Aggregate(OfFunctions):
    """``<aggregate_kernel.cu_8><aggregate_K>`` adds up over the warp what all threads of a block
    add to one place, so that one lane adds to memory.

    Before and after::

        atomicAdd(&sum, x);

        if (__activemask() == 0xffffffff) {
            double total = x;
            for (int offset = 16; offset > 0; offset /= 2) {
                total += __shfl_xor_sync(0xffffffff, total, offset);
            }
            if (LANE == 0) {
                atomicAdd(&sum, total);
            }
            __syncwarp();
        } else {
            atomicAdd(&sum, x);
        }

    The address is the same for all threads of a block. Where some lanes of a warp are elsewhere, or
    have left, each of the others adds by itself as before. The barrier keeps the order of memory: a
    lane that goes on finds what was added. 32-bit integers stay: the compiler gathers them by
    itself. Sums of floating-point numbers are added in another order.
    """

    type = RuleType.AGGREGATE

    def splices(self, code: Code, function: Function) -> list[Splice]:
        """Rewrite the calls that all threads may make with the same address."""
        if "atomicAdd" not in code.span(function.body):
            return []
        runs = _runs(_additions(code, function))
        return [
            replacing(
                run[0].statement.start_byte,
                run[-1].statement.end_byte,
                _rewritten(code, function, run),
            )
            for run in runs
        ]


def _additions(code: Code, function: Function) -> Iterator[_Addition]:
    """Find the atomic additions that are worth to be gathered, and whose results are not used."""
    lanes = derived(code, function, ("threadIdx",))
    for statement in descend(function.body):
        call = statement.named_children[0] if statement.named_child_count == 1 else statement
        if statement.type != "expression_statement" or called_name(code, call) != "atomicAdd":
            continue
        arguments = parts(call.child_by_field_name("arguments"))
        type_ = code.type(arguments[0], function) if len(arguments) == 2 else None
        if type_ is None or type_.levels != ("*",) or 0 <= type_.rank <= RANKS["unsigned int"]:
            continue
        if code.opaque(statement) or _is_for_few(code, statement, lanes):
            continue
        if is_shared_address(code, function, arguments[0]):
            yield _Addition(statement, arguments[0], arguments[1], type_.base)


def _is_for_few(code: Code, statement: Node, lanes: frozenset[str]) -> bool:
    """Tell whether a condition on the thread picks few threads: ``threadIdx.x == 0``."""
    above = statement.parent
    while above is not None and above.type != "function_definition":
        condition = above.child_by_field_name("condition")
        for node in descend(condition) if condition is not None else ():
            operator = node.child_by_field_name("operator")
            if operator is not None and operator.type in ("==", "!") and code.words(node) & lanes:
                return True
        above = above.parent
    return False


def _runs(additions: Iterator[_Addition]) -> list[list[_Addition]]:
    """Put together additions that follow each other and do not depend on each other."""
    found: list[list[_Addition]] = []
    for one in additions:
        before = found[-1][-1] if found else None
        if (
            before is not None
            and before.statement.next_sibling == one.statement
            and is_of_variables(before.added)
            and is_of_variables(one.added)
        ):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _rewritten(code: Code, function: Function, run: Sequence[_Addition]) -> str:
    totals: list[str] = []
    for _ in run:
        totals.append(fresh("total", code, function, totals))
    offset, step = fresh("offset", code, function), unit(code, function)
    pairs = [*zip(run, totals, strict=True)]
    lines = [
        f"if (__activemask() == {_ALL}) {{",
        *(f"{step}{one.type} {total} = {code.span(one.added)};" for one, total in pairs),
        f"{step}for (int {offset} = 16; {offset} > 0; {offset} /= 2) {{",
        *(f"{step * 2}{one} += __shfl_xor_sync({_ALL}, {one}, {offset});" for one in totals),
        f"{step}}}",
        f"{step}if ({_LANE} == 0) {{",
        *(f"{step * 2}atomicAdd({code.span(one.address)}, {total});" for one, total in pairs),
        f"{step}}}",
        f"{step}__syncwarp();",
        "} else {",
        *(f"{step}{code.span(one.statement)}" for one in run),
        "}",
    ]
    first = run[0].statement
    joint = newline(code.text, first.start_byte) + indent(code.text, first.start_byte)
    in_block = first.parent is not None and first.parent.type == "compound_statement"
    return joint.join(lines if in_block else ["{", *(step + one for one in lines), "}"])
