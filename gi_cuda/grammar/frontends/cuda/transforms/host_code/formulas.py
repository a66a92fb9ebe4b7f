"""Rewriter of formulas for the number of blocks, such as ``(n + 255) / 256``.

A formula is recognised by its values, not by its spelling: ``(n - 1) / B + 1`` and
``n / B + (n % B != 0)`` round ``n / B`` up as well.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import descend
from gi_cuda.grammar.frontends.cuda.transforms.host_code.expressions import (
    BINARY,
    HEAD,
    UNARY,
    Number,
    Opaque,
    conversion,
    expression,
    function,
    literal,
    number,
    operands,
    plain,
)
from gi_cuda.spec.launching.shape import Shape

_SAMPLES = 24
_BLOCKS = (4, 7, 32, 64, 100, 256)
_FEWEST_VALUES = 40
_SMALLEST_LITERAL = 4
"""Smallest number of threads that is recognised as a literal in a formula."""

_LESS_ONE = r"\({0} *- *1\)|(?<=[+(])( *){0} *- *1\b"
_TIGHT = re.compile(r"[\w)\]][-+*/%][\w(]")
_SPACED = re.compile(r"\s[-+*/%]\s")
_FACTORS = frozenset({"*", "/", "%"})
_TERMS = _FACTORS | {"+", "-"}


class Rounding(Enum):
    """The rounding of the quotient of the work and the threads of a block, in a formula."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class BlockExtent:
    """The threads of a block along one axis, as the host code writes them.

    Attributes:
        text: an expression that holds them before the rewrite and after it: ``256``, ``block.x``;
            "" where there is none.
        value: their number, where the code says it as a literal; else 0.
        names: all expressions that hold them, without white space: ``block.x`` and ``threads`` of
            ``dim3 block(threads)``.
        renewed: those of the names that hold the new number after the rewrite.
    """

    text: str
    value: int = 0
    names: frozenset[str] = frozenset()
    renewed: frozenset[str] = frozenset()


def new_blocks(
    grid: str, block: BlockExtent, shape: Shape, floating: Callable[[str], bool]
) -> str | None:
    """Rewrite the number of blocks along one axis.

    With blocks of 128 threads in the place of 256 and four items for each thread,
    ``(n + 255) / 256`` becomes ``(n + 511) / 512``, ``blocks`` becomes ``(blocks + 1) / 2``, and
    ``64`` becomes ``32``.

    Args:
        grid: the expression.
        block: the threads of a block.
        shape: how the launch changes along the axis.
        floating: whether a variable has a floating-point type.

    Returns:
        None where no formula gives the number for certain.
    """
    if shape.items == shape.times and shape.threads in (0, block.value):
        return grid
    formula = _Formula(grid, block, floating)
    return formula.rewritten(shape) or formula.scaled(shape)


def rewritten(
    grid: str, block: BlockExtent, shape: Shape, floating: Callable[[str], bool]
) -> str | None:
    """Do as :func:`new_blocks`, for formulas that divide by a block's threads; None of others."""
    return _Formula(grid, block, floating).rewritten(shape)


def rounding(grid: str, block: BlockExtent, floating: Callable[[str], bool]) -> Rounding | None:
    """Return how an expression rounds a quotient by a block's threads; None if it is none."""
    return _Formula(grid, block, floating).rounding


def with_old_block(grid: str, block: BlockExtent, old: str) -> str:
    """Write a block's old extent in a formula, in the place of variables that get the new one.

    Where ``threads`` is to change from 256 to 64, ``n / threads`` becomes ``n / 256``.
    """
    formula = _Formula(grid, BlockExtent("", 0, block.renewed), lambda _: False)
    return formula.replaced([(node, less, old) for node, less in formula.uses])


class _Formula:
    """An expression for the number of blocks along an axis; see :func:`new_blocks`."""

    def __init__(self, text: str, block: BlockExtent, floating: Callable[[str], bool]) -> None:
        self._text = text
        self._block = block
        self._floating = floating
        self._node = expression(text)
        tight = _TIGHT.search(text) is not None and _SPACED.search(text) is None
        self._around = "" if tight else " "
        self.uses = list(self._found(self._node)) if self._node is not None else []
        self.rounding = self._rounding() if self.uses else None

    def _span(self, node: Node) -> str:
        return self._text[node.start_byte - len(HEAD) : node.end_byte - len(HEAD)]

    def _found(self, node: Node) -> Iterator[tuple[Node, int]]:
        """Return the places that hold the threads of a block, or one less, with how many less."""
        less = self._less(node)
        if less is not None:
            yield node, less
        else:
            for one in node.named_children:
                yield from self._found(one)

    def _less(self, node: Node) -> int | None:
        """Return 0 for a node that holds the threads of a block, 1 for one less; else None."""
        text = plain(self._span(node))
        if text in self._block.names:
            return 0
        value = number(text) if node.type == "number_literal" else None
        if value is None or self._block.value < _SMALLEST_LITERAL:
            return None
        less = self._block.value - value
        return int(less) if less in (0, 1) else None

    # -- values ---------------------------------------------------------------------------------

    def value(self, sample: int, block: int) -> Number:
        """Return the value with blocks of so many threads.

        Args:
            sample: which of many samples of the variables' values.
            block: the threads.

        Raises:
            Opaque: the value is not known.
        """
        if self._node is None:
            raise Opaque
        return self._value(self._node, sample, block)

    def _value(self, node: Node, sample: int, block: int) -> Number:
        text = self._span(node)
        less, told = self._less(node), number(text)
        if less is not None:
            return Fraction(block - less) if isinstance(told, Fraction) else block - less
        if told is not None:
            return told
        if node.type == "parenthesized_expression" and len(parts(node)) == 1:
            return self._value(parts(node)[0], sample, block)
        operation = self._operation(node)
        if operation is not None:
            return operation(*(self._value(one, sample, block) for one in operands(node)))
        if any(self._less(one) is not None for one in descend(node)):
            raise Opaque
        drawn = _drawn(sample, plain(text))
        return Fraction(drawn) if self._floating(text) else drawn

    def _operation(self, node: Node) -> Callable[..., Number] | None:
        """Return the function of its operands that a node is."""
        if node.type in ("binary_expression", "unary_expression"):
            operator = node.child_by_field_name("operator")
            table = BINARY if node.type == "binary_expression" else UNARY
            return None if operator is None else table.get(operator.type)
        if node.type == "conditional_expression":
            return lambda condition, a, b: a if condition else b
        if node.type == "cast_expression":
            of = node.child_by_field_name("type")
            return None if of is None else conversion(self._span(of))
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        return None if called is None else function(self._span(called))

    def _rounding(self) -> Rounding | None:
        """Return how the formula rounds: up where the value is ``ceil(work / block)``.

        The work is the value with blocks of one thread.
        """
        found = {Rounding.UP, Rounding.DOWN}
        valid = 0
        for sample in range(_SAMPLES):
            try:
                work = int(self.value(sample, 1))
                for block in _BLOCKS if work > 0 else ():
                    value = int(self.value(sample, block))
                    valid += 1
                    if value != -(-work // block):
                        found.discard(Rounding.UP)
                    if value != work // block:
                        found.discard(Rounding.DOWN)
            except (Opaque, ZeroDivisionError):
                return None
        if valid < _FEWEST_VALUES or not found:
            return None
        return Rounding.UP if Rounding.UP in found else Rounding.DOWN

    # -- texts ----------------------------------------------------------------------------------

    def rewritten(self, shape: Shape) -> str | None:
        """Return the formula with another number of items for each block, checked by its values."""
        if self.rounding is None:
            return None
        changes = []
        for node, less in self.uses:
            items = self._items(node, shape)
            if items is None:
                return None
            changes.append((node, less, items))
        candidates = [self.replaced(changes)]
        if self.rounding is Rounding.DOWN and len(changes) == 1:
            candidates += self._rounded_up(*changes[0])
        return next((one for one in candidates if self._is_right(one, shape)), None)

    def _items(self, node: Node, shape: Shape) -> str | None:
        """Return an expression for the new items of a block, in the place of the old ones."""
        own, known = self._span(node), shape.threads or self._block.value
        name = plain(own)
        if name in self._block.names and (not shape.threads or name in self._block.renewed):
            factor = Fraction(shape.items, shape.times)
            if factor.denominator == 1:
                return own if factor == 1 else self._binary(own, "*", factor)
            whole = factor.numerator == 1 and known % factor.denominator == 0 and known > 0
            return self._binary(own, "/", factor.denominator) if whole else None
        count, rest = divmod(known * shape.items, shape.times)
        return str(count) if count > 1 and not rest else None

    def _binary(self, left: str, operator: str, right: object) -> str:
        """Return an operation, with spaces around the operator if the formula has them."""
        return f"{left}{self._around}{operator}{self._around}{right}"

    def replaced(self, changes: Sequence[tuple[Node, int, str]]) -> str:
        """Return the formula with other numbers in the places of the block's."""
        text, end = "", len(HEAD)
        for node, less, items in changes:
            text += self._text[end - len(HEAD) : node.start_byte - len(HEAD)]
            count, own = literal(items), self._span(node)
            if count is not None and node.type == "number_literal":
                text += re.sub(r"^\w+?(?=[uUlLzZ.]|$)", str(count - less), own)
            else:
                name = items.isidentifier() or items == own
                whole = count is not None or name or _takes_product(node)
                text += items if whole else f"({items})"
            end = node.end_byte
        text += self._text[end - len(HEAD) :]
        for count in {one for _, _, items in changes if (one := literal(items)) is not None}:
            text = re.sub(_LESS_ONE.format(count), rf"\g<1>{count - 1}", text)
        return text

    def _rounded_up(self, node: Node, less: int, items: str) -> Iterator[str]:
        """``(n + 1023) / 1024`` for ``n / 256``."""
        quotient = _without_parentheses(node).parent
        left = None if quotient is None else quotient.child_by_field_name("left")
        operator = None if quotient is None else quotient.child_by_field_name("operator")
        if operator is None or operator.type != "/" or left is None or less:
            return
        inner = parts(left)[0] if left.type == "parenthesized_expression" else left
        if inner.type in ("binary_expression", "conditional_expression"):
            own = inner.child_by_field_name("operator")
            inner = inner if own is not None and own.type in _TERMS else left
        count = literal(items)
        added = self._binary(items, "-", 1) if count is None else str(count - 1)
        before = self._text[: left.start_byte - len(HEAD)]
        divisor = self.replaced([(node, 0, items)])[left.end_byte - len(HEAD) :]
        yield f"{before}({self._binary(self._span(inner), '+', added)}){divisor}"

    def _is_right(self, text: str, shape: Shape) -> bool:
        """Tell whether a new formula gives as many blocks as the work takes.

        A formula that rounds down is for work of whole blocks; those are whole blocks of the new
        size too, where that divides the old one.
        """
        block = self._block
        names = block.renewed if shape.threads else block.names
        new = _Formula(text, BlockExtent(block.text, 0, names), self._floating)
        for sample in range(_SAMPLES):
            for old in (block.value,) if block.value else _BLOCKS:
                threads = (shape.threads or old) * shape.items
                certain = block.value or not shape.threads
                whole = certain and not old * shape.times % threads
                try:
                    work = int(self.value(sample, 1)) * shape.times
                    found = int(new.value(sample, shape.threads or old))
                except (Opaque, ZeroDivisionError):
                    return False
                down = whole and self.rounding is Rounding.DOWN
                if work > 0 and found != (work // threads if down else -(-work // threads)):
                    return False
        return True

    def scaled(self, shape: Shape) -> str | None:
        """Return the number of blocks, scaled: ``(blocks + 3) / 4``, ``blocks * 2``."""
        ratio, text = Fraction(shape.times, shape.items), ""
        if shape.threads:
            ratio *= Fraction(self._block.value or 1, shape.threads)
            text = "" if self._block.value else self._block.text
            if not self._block.value and not text:
                return None
        factor, divisor = ratio.numerator, ratio.denominator
        if text:
            factor, divisor = shape.times, shape.threads * shape.items
            if shape.exact:
                text, divisor = f"({self._binary(text, '/', divisor)})", 1
        count = literal(self._text)
        if count is not None and not text:
            return str(-(-count * factor // divisor))
        if factor == 1 and not text:
            return self._quotient(self._operand(_TERMS), divisor)
        if not self._is_whole():
            return None
        product = self._operand(_FACTORS)
        product = self._binary(product, "*", text) if text else product
        product = self._binary(product, "*", factor) if factor > 1 else product
        return product if divisor == 1 else self._quotient(product, divisor)

    def _quotient(self, dividend: str, divisor: int) -> str:
        """Return a quotient, rounded up."""
        return self._binary(f"({self._binary(dividend, '+', divisor - 1)})", "/", divisor)

    def _is_whole(self) -> bool:
        """Tell whether its value is always a whole number."""
        try:
            values = [self.value(sample, 32) for sample in range(_SAMPLES)]
        except (Opaque, ZeroDivisionError):
            return True
        return all(one.denominator == 1 for one in values)

    def _operand(self, bound: frozenset[str]) -> str:
        """Return the expression as the left operand of an operator.

        Args:
            bound: the operators that bind as tightly, or more.
        """
        node = self._node
        loose = node is None or node.type == "conditional_expression"
        if node is not None and node.type == "binary_expression":
            operator = node.child_by_field_name("operator")
            loose = operator is None or operator.type not in bound
        return f"({self._text})" if loose else self._text


@lru_cache(maxsize=4096)
def _drawn(sample: int, name: str) -> int:
    """Return the value of a variable in a sample."""
    largest = (40, 5000, 10**6)[sample % 3]
    return random.Random(f"{sample} {name}").randint(1, largest)


def _without_parentheses(node: Node) -> Node:
    """Return a node with the parentheses and casts around it."""
    while (above := node.parent) is not None:
        if above.type not in ("parenthesized_expression", "cast_expression"):
            break
        node = above
    return node


def _takes_product(node: Node) -> bool:
    """Tell whether a product may stand in the place of a node without parentheses."""
    above = node.parent
    if above is None or above.type != "binary_expression":
        return above is None or above.type not in ("cast_expression", "unary_expression")
    operator, left = above.child_by_field_name("operator"), above.child_by_field_name("left")
    sign = None if operator is None else operator.type
    return sign == "+" or (sign == "-" and left is not None and left.id == node.id)
