"""Reciprocals: divisions by one number become products with its reciprocal."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, TOGETHER, Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import indices
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import (
    is_pure,
    literal_value,
    number_type,
    operator,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.dataflow import Facts, read_facts
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import unparenthesized
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import certain
from gi_cuda.grammar.frontends.cuda.transforms.writing.around_loops import around
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, replacing
from gi_cuda.grammar.values import arithmetic_result

_ONE = {"float": "1.0f", "double": "1.0"}
_MEMORY = frozenset({"subscript_expression", "pointer_expression", "->"})
_BODIES = LOOPS | {"if_statement", "else_clause", "compound_statement"}
_GROUPS = frozenset({"compound_statement", "case_statement", "declaration"})
_NAMES = frozenset({"identifier", "field_identifier"})
_LONGEST = 24


@dataclass(frozen=True, slots=True)
class _Division:
    """A division ``dividend / divisor`` or ``dividend /= divisor``.

    Attributes:
        node: the division.
        sign: its operator.
        dividend: its left side.
        right: its right side.
        divisor: the same without parentheses.
        type: the type that it is computed in: ``float`` or ``double``.
        home: the outermost statement in which the divisor keeps its value; None for a literal.
    """

    node: Node
    sign: Node
    dividend: Node
    right: Node
    divisor: Node
    type: str
    home: Node | None


class Recip(Family):
    """``<recip_kernel.cu_14><recip_K>`` makes the divisions by a number products with its
    reciprocal.

    Before and after::

        for (int j = 0; j < n; j++)
            out[j] = in[j] / sum;

        const float inv_sum = 1.0f / sum;
        for (int j = 0; j < n; j++)
            out[j] = in[j] * inv_sum;

    At a function's name, ``<recip_kernel.cu_8><recip_K>`` does so for all numbers that the function
    divides by.

    The reciprocal is computed before the outermost statement in which the divisor keeps its value.
    ``x / 3.0f`` becomes ``x * (1.0f / 3.0f)``, which the compiler computes. The answers differ in
    the last bits; the oracle's tolerance decides.
    """

    type = RuleType.RECIP

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the divisions that a reciprocal can replace.

        A site is the first division by each literal, and by each divisor that occurs more than
        once. A function with several such divisors has a further site at its name.
        """
        for function in code.functions:
            groups, choices = _groups(code, function), tuple(self.type.kind.specials)
            for group in groups:
                yield Site(group[0].sign.start_byte, function.number, choices)
            if len(groups) > 1:
                yield Site(function.at, function.number, choices)

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Multiply by the reciprocal instead of all divisions by the divisor at the place."""
        for function in code.functions:
            if function.node.start_byte <= at < function.node.end_byte:
                groups = _groups(code, function)
                meant = [one for one in groups if at in (function.at, one[0].sign.start_byte)]
                splices = _all_rewritten(code, function, meant)
                return Rewrite(tuple(splices)) if splices else None
        return None


def _groups(code: Code, function: Function) -> list[list[_Division]]:
    """Find the divisions that one reciprocal can serve, where it pays."""
    facts = read_facts(code, function)
    found: list[list[_Division]] = []
    for one in _divisions(code, function, facts):
        group = next((group for group in found if _joins(code, facts, group[0], one)), None)
        if group is None:
            found.append([one])
        else:
            group.append(one)
    return [group for group in found if _pays(code, function, facts, group)]


def _divisions(code: Code, function: Function, facts: Facts | None) -> Iterator[_Division]:
    """Find the divisions by literals, and by what keeps its value in a whole statement."""
    for node in descend(function.body):
        if operator(node) not in ("/", "/=") or "#" in code.span(node):
            continue
        sign, left, right = (node.child_by_field_name(one) for one in ("operator", "left", "right"))
        types = [number_type(code, one, function) for one in (left, right)]
        if sign is None or left is None or right is None or None in types:
            continue
        one, other = (type_ for type_ in types if type_ is not None)
        type_, divisor = arithmetic_result(one, other), unparenthesized(right)
        if type_ is None or type_.base not in _ONE:
            continue
        value = literal_value(code, divisor)
        home = _home(facts, divisor) if value is None and facts is not None else None
        literal = value is not None and math.frexp(abs(value))[0] not in (0, 0.5)
        if home is not None or (literal and literal_value(code, left) is None):
            yield _Division(node, sign, left, right, divisor, type_.base, home)


def _home(facts: Facts, divisor: Node) -> Node | None:
    """Find the outermost statement in which a divisor keeps its value, and stands for one."""
    found, at = None, divisor
    if any(one.writes for one in facts.within(divisor)):
        return None
    if not is_pure(facts.code, divisor, facts.function):
        return None
    while (above := at.parent) is not None and at != facts.function.body:
        if not _keeps(facts, divisor, at, at):
            break
        statement = at.type.endswith("_statement") and at.type not in _GROUPS
        in_block = at.type == "declaration" and above.type == "compound_statement"
        if above.type in _BODIES and (statement or in_block):
            found = at
        at = above
    return found


def _keeps(facts: Facts, value: Node, first: Node, last: Node) -> bool:
    """Tell whether an expression has one value from one statement to another, and may be computed
    before them."""
    span, code = range(first.start_byte, last.end_byte), facts.code
    used = facts.within(value)
    own = {one.own for one in used if one.own is not None}
    roots = frozenset[str]().union(*(one.roots for one in used))
    inside = [one for one in facts.uses if one.writes and one.node.start_byte in span]
    if any(one in span for one in own) or any(
        one.own in own or one.roots & roots for one in inside
    ):
        return False
    memory = _reads_memory(value)
    names = "|".join(code.span(one.node) for one in used) or "$^"
    shared = re.search(rf"__shared__[^;]*\b(?:{names})\b", code.span(facts.function.body))
    if (memory or shared) and _meets(code, code.text[span.start : span.stop]):
        return False
    return not memory or (bool(used) and bool(certain(first, {used[0].node.id: "value"})))


def _reads_memory(value: Node) -> bool:
    return any(one.type in _MEMORY for one in descend(value))


def _meets(code: Code, text: str) -> bool:
    """Tell whether threads may wait for each other in a piece of code, or in what it calls."""
    functions = [one.name for one in code.functions if TOGETHER.search(code.bare(one.node))]
    called = re.search(rf"\b(?:{'|'.join(functions) or '$^'})\b", text)
    return called is not None or TOGETHER.search(text) is not None


def _joins(code: Code, facts: Facts | None, one: _Division, other: _Division) -> bool:
    """Tell whether one reciprocal can serve two divisions, the second of which stands later."""
    if (one.type, _text(code, one)) != (other.type, _text(code, other)):
        return False
    if facts is None or one.home is None or other.home is None or one.home == other.home:
        return one.home == other.home
    locals_ = [[use.local for use in facts.within(each.divisor)] for each in (one, other)]
    block = one.home.parent
    in_block = block is not None and block.type == "compound_statement"
    return (
        in_block
        and block == other.home.parent
        and locals_[0] == locals_[1]
        and _keeps(facts, one.divisor, one.home, other.home)
    )


def _pays(code: Code, function: Function, facts: Facts | None, group: list[_Division]) -> bool:
    """Tell whether the compiler would divide more often than once: by several divisions, in a
    loop, or in a function whose parameters are the divisor, which is called again; a kernel, for
    the next of several items that a thread has."""
    if facts is None or group[0].home is None:
        return True
    found = [one for one in group if literal_value(code, one.dividend) != 1]
    if found and len({code.span(one.dividend) for one in group}) > 1:
        return True
    again = not function.kernel or bool(indices(code, function).axes())
    if again and found and group[0].home.parent == function.body:
        divisor, *dividends = (
            [(use.local or 0) < function.body.start_byte for use in facts.within(one)]
            for one in (group[0].divisor, *(each.dividend for each in found))
        )
        if divisor and all(divisor) and not (function.kernel and all(map(all, dividends))):
            return True
    return any(_varies(facts, one) for one in found)


def _varies(facts: Facts, division: _Division) -> bool:
    """Tell whether a loop divides different numbers by the divisor of a division."""
    at, dividend = division.node, division.dividend
    while at != division.home and at.parent is not None:
        at = at.parent
        steady = at.type not in LOOPS or _keeps(facts, dividend, at, at)
        if not steady or (at.type in LOOPS and _reads_memory(dividend)):
            return True
    return False


def _text(code: Code, division: _Division) -> str:
    """Return the text of the divisor on one line."""
    return " ".join(code.span(division.divisor).split())


def _all_rewritten(code: Code, function: Function, groups: list[list[_Division]]) -> list[Splice]:
    """Rewrite groups of divisions; skip groups whose divisions are nested in earlier ones."""
    found: list[Splice] = []
    names: set[str] = set()
    for group in groups:
        spans = [(one.start, one.end) for one in found if one.start < one.end]
        free = [
            one
            for one in group
            if not any(one.sign.start_byte < end and at < one.right.end_byte for at, end in spans)
        ]
        if free:
            name = _name(code, function, free[0].divisor, names)
            names.add(name)
            found += _rewritten(code, free, name)
    return found


def _rewritten(code: Code, group: list[_Division], name: str) -> list[Splice]:
    """Put the reciprocal in front of the first statement with a division, and multiply by it."""
    first = group[0]
    text, one = _text(code, first), _ONE[first.type]
    simple = first.divisor.type not in ("binary_expression", "conditional_expression")
    quotient = f"{one} / {text}" if simple else f"{one} / ({text})"
    found: list[Splice] = []
    if first.home is None:
        factor = f"({quotient})"
        product = quotient
    else:
        factor = product = name
        line = f"const {first.type} {factor} = {quotient};"
        placed = around(code, first.home, [line], [])
        if placed is None:
            return []
        found += placed
    for each in group:
        if literal_value(code, each.dividend) == 1 and each.node.type == "binary_expression":
            found.append(replacing(each.node.start_byte, each.node.end_byte, factor))
            continue
        assigned = each.sign.type == "/="
        sign, other = ("*=", product) if assigned else ("*", factor)
        found.append(replacing(each.sign.start_byte, each.sign.end_byte, sign))
        found.append(replacing(each.right.start_byte, each.right.end_byte, other))
    return found


def _name(code: Code, function: Function, divisor: Node, taken: set[str]) -> str:
    """Choose a name for a reciprocal: ``inv_p_dx`` of ``2 * p.dx``, ``inv_divisor`` of a long
    one."""
    found = [one for one in descend(divisor) if one.type in _NAMES]
    called = [one.child_by_field_name("function") for one in descend(divisor)]
    name = "_".join(dict.fromkeys(code.span(one) for one in found if one not in called))
    return fresh(f"inv_{name if len(name) <= _LONGEST else 'divisor'}", code, function, taken)
