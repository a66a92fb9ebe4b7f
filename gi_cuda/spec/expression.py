"""C integer expressions: launch geometry, buffer sizes, constraints, conditions of ``#if``.

The arithmetic is that of the C preprocessor (C17 6.10.1). Every operand is a 64-bit integer, signed
unless a suffix or ``sizeof`` makes it unsigned. Division truncates towards zero. ``&&``, ``||`` and
``?:`` evaluate only the operands that they need. So a size like ``n * m`` does not wrap at 32 bits
as it would in a kernel. Evaluation fails if C leaves a result undefined (signed overflow, division
by zero, a shift by the whole width).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import index
from typing import Any

from pycparser import c_ast, c_parser

from gi_cuda.errors import UserError
from gi_cuda.spec.c_words import CASTS, SIZES, read_character, read_integer

Names = Mapping[str, int]
Calls = Mapping[str, Callable[..., int]]
_Run = Callable[[Names, Calls], int]

_MASK = (1 << 64) - 1
_MIN = -(1 << 63)
_MAX = (1 << 63) - 1
_PREFIX = "int _=("
_NO_CALLS: Calls = {}
_KINDS = {
    "Assignment": "an assignment",
    "ArrayRef": "an item of an array",
    "ExprList": "the comma operator",
    "StructRef": "a member of a struct",
}
"""Messages' names for constructs that are not allowed, by pycparser's names."""


class ExpressionError(UserError):
    """An error in an expression: it is not C, is not an integer expression, or has no value.

    Attributes:
        text: the whole expression.
        column: 1-based column of the error in `text`, or None if it is unknown.
    """

    def __init__(self, what: str, text: str, column: int | None = None) -> None:
        at = f", column {column}" if column else ""
        super().__init__(what, hint=f"in the C expression `{text}`{at}")
        self.text = text
        self.column = column

    def __reduce__(self) -> tuple[type[ExpressionError], tuple[str, str, int | None]]:
        return ExpressionError, (self.what, self.text, self.column)


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed C expression. Two expressions are equal if their texts are.

    Attributes:
        text: the source text.
        names: identifiers whose values the expression may use.
        calls: functions that the expression may call, such as ``defined``.
    """

    text: str
    names: frozenset[str] = field(compare=False)
    calls: frozenset[str] = field(compare=False)
    _run: _Run = field(compare=False, repr=False)

    def evaluate(self, names: Names, calls: Calls | None = None) -> int:
        """Evaluate the expression.

        Args:
            names: values of identifiers, taken as signed 64-bit integers.
            calls: for each function name a callable that takes the *identifiers* written as its
                arguments, e.g. ``{"defined": lambda name: name in macros}``.

        Raises:
            ExpressionError: a name without a value, or a value that C leaves undefined.
        """
        try:
            return self._run(names, _NO_CALLS if calls is None else calls)
        except RecursionError:
            raise ExpressionError("the expression is nested too deeply", self.text) from None

    def __reduce__(self) -> tuple[Callable[[str], Expression], tuple[str]]:
        return parse, (self.text,)


def evaluate(text: str, names: Names, calls: Calls | None = None) -> int:
    """Parse and evaluate the C expression `text`; see `Expression.evaluate`."""
    return parse(text).evaluate(names, calls)


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Parse one C integer expression.

    Raises:
        ExpressionError: `text` is not an expression, or contains an assignment, the comma operator,
            a floating-point or string constant, or a pointer.
    """
    tree = syntax_tree(text)
    names: set[str] = set()
    calls: set[str] = set()
    try:
        run = _Compiler(text, names, calls).compile(tree).run
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply", text) from None
    return Expression(text, frozenset(names), frozenset(calls), run)


def syntax_tree(text: str) -> Any:
    """Return pycparser's syntax tree of `text`; its columns include the length of `_PREFIX`."""
    if not text.strip():
        raise ExpressionError("an expression is missing", text)
    flat = text.replace("\\\n", "  ").replace("\r", " ").replace("\n", " ")
    if "#" in flat:  # the parser would take the rest for a line directive
        raise ExpressionError("not a C expression, at `#`", text, flat.index("#") + 1)
    try:
        unit = c_parser.CParser().parse(f"{_PREFIX}{flat});", "")
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply", text) from None
    except c_parser.ParseError as error:
        raise _syntax_error(str(error), text) from None
    if len(unit.ext) != 1:
        raise ExpressionError("not one C expression: its parentheses do not match", text)
    return unit.ext[0].init


def _syntax_error(message: str, text: str) -> ExpressionError:
    found = re.search(r":1:(\d+): (?:before: (.+))?", message)
    if found is None:
        return ExpressionError("not a C expression", text)
    column = int(found[1]) - len(_PREFIX)
    if column > len(text):
        return ExpressionError("not a C expression: it ends too early", text, len(text) + 1)
    at = f", at `{found[2]}`" if found[2] else ""
    return ExpressionError(f"not a C expression{at}", text, column)


@dataclass(frozen=True, slots=True)
class _Value:
    """A compiled subexpression: function that computes it, and whether its type is unsigned."""

    run: _Run
    unsigned: bool = False


class _Compiler:
    """A compiler from syntax trees to nested closures. It collects names and calls on the way."""

    def __init__(self, text: str, names: set[str], calls: set[str]) -> None:
        self._text = text
        self._names = names
        self._calls = calls

    def compile(self, node: Any) -> _Value:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._error(f"{_kind(node)} has no place in an integer expression", node)
        value: _Value = method(node)
        return value

    def _error(self, what: str, node: Any) -> ExpressionError:
        return ExpressionError(what, self._text, self._column(node))

    def _column(self, node: Any) -> int | None:
        coord = node.coord
        return max(1, coord.column - len(_PREFIX)) if coord and coord.column else None

    # Leaves

    def _constant(self, node: Any) -> _Value:
        kind, text = node.type, node.value
        if kind == "char":
            number = read_character(text)
        elif "int" in kind:
            number = read_integer(text)
        else:
            raise self._error(f"{text} is not an integer", node)
        if number is None or number > _MASK:
            raise self._error(f"{text} is not a constant this can read", node)
        unsigned = "u" in text.lower() if kind != "char" else False
        return _constant(number, unsigned or number > _MAX)

    def _id(self, node: Any) -> _Value:
        name = node.name
        if name in ("true", "false"):
            return _constant(int(name == "true"))
        self._names.add(name)
        text, column = self._text, self._column(node)

        def run(names: Names, calls: Calls) -> int:
            try:
                value = names[name]
            except KeyError:
                raise ExpressionError(f"{name} has no value here", text, column) from None
            try:
                value = index(value)
            except TypeError:
                raise ExpressionError(
                    f"{name} is {value!r}, which is not an integer", text, column
                ) from None
            if _MIN <= value <= _MAX:
                return value
            raise ExpressionError(f"{name} = {value} does not fit into 64 bits", text, column)

        return _Value(run)

    def _funccall(self, node: Any) -> _Value:
        arguments = node.args.exprs if node.args else []
        if not isinstance(node.name, c_ast.ID):
            raise self._error("only a named function can be called", node)
        for argument in arguments:
            if not isinstance(argument, c_ast.ID):
                raise self._error(f"an argument of {node.name.name} is not an identifier", argument)
        function = node.name.name
        given = tuple(argument.name for argument in arguments)
        self._calls.add(function)
        text, column = self._text, self._column(node)

        def run(names: Names, calls: Calls) -> int:
            if function not in calls:
                raise ExpressionError(f"there is no function {function}", text, column)
            return int(calls[function](*given))

        return _Value(run)

    # Operators

    def _unaryop(self, node: Any) -> _Value:
        if node.op == "sizeof":
            return self._sizeof(node)
        if node.op not in ("+", "-", "~", "!"):
            raise self._error(f"operator {node.op} has no place in an integer expression", node)
        operand = self.compile(node.expr)
        run, wrap = operand.run, operand.unsigned
        text, column = self._text, self._column(node)
        if node.op == "+":
            return operand
        if node.op == "!":
            return _Value(lambda names, calls: int(not run(names, calls)))
        if node.op == "~":
            if wrap:
                return _Value(lambda names, calls: ~run(names, calls) & _MASK, True)
            return _Value(lambda names, calls: ~run(names, calls))
        if wrap:
            return _Value(lambda names, calls: -run(names, calls) & _MASK, True)

        def negate(names: Names, calls: Calls) -> int:
            value = -run(names, calls)
            if value > _MAX:
                raise ExpressionError("integer overflow", text, column)
            return value

        return _Value(negate)

    def _sizeof(self, node: Any) -> _Value:
        name = _type_name(node.expr)
        if name not in SIZES:
            raise self._error("sizeof takes the name of a built-in type here", node)
        return _constant(SIZES[name], True)

    def _cast(self, node: Any) -> _Value:
        name = _type_name(node.to_type)
        if name not in CASTS:
            raise self._error("only casts to built-in integer types are understood", node)
        bits, unsigned = CASTS[name]
        run = self.compile(node.expr).run
        mask, top = (1 << bits) - 1, 1 << (bits - 1)
        if unsigned:
            # An unsigned type of less than 64 bits is promoted to a signed one when it is used.
            return _Value(lambda names, calls: run(names, calls) & mask, bits == 64)
        return _Value(lambda names, calls: ((run(names, calls) & mask) ^ top) - top)

    def _ternaryop(self, node: Any) -> _Value:
        condition = self.compile(node.cond).run
        left, right, unsigned = _common(self.compile(node.iftrue), self.compile(node.iffalse))
        return _Value(
            lambda names, calls: (left if condition(names, calls) else right)(names, calls),
            unsigned,
        )

    def _binaryop(self, node: Any) -> _Value:
        left, right, op = self.compile(node.left), self.compile(node.right), node.op
        if op in _LOGICAL:
            return _Value(_LOGICAL[op](left.run, right.run))
        if op in ("<<", ">>"):
            return self._shift(node, left, right)
        a, b, unsigned = _common(left, right)
        if op in _COMPARISONS:
            return _Value(_COMPARISONS[op](a, b))
        if op not in _ARITHMETIC:
            raise self._error(f"operator {op} has no place in an integer expression", node)
        compute = _ARITHMETIC[op]
        text, column = self._text, self._column(node)

        def run(names: Names, calls: Calls) -> int:
            x, y = a(names, calls), b(names, calls)
            try:
                value = compute(x, y)
            except ZeroDivisionError:
                raise ExpressionError("division by zero", text, column) from None
            if unsigned:
                return value & _MASK
            if _MIN <= value <= _MAX:
                return value
            raise ExpressionError("integer overflow", text, column)

        return _Value(run, unsigned)

    def _shift(self, node: Any, left: _Value, right: _Value) -> _Value:
        a, b = left.run, right.run
        leftwards, unsigned = node.op == "<<", left.unsigned
        text, column = self._text, self._column(node)

        def run(names: Names, calls: Calls) -> int:
            value, count = a(names, calls), b(names, calls)
            if not 0 <= count < 64:
                raise ExpressionError(f"a shift by {count} is undefined", text, column)
            if not leftwards:
                return value >> count
            value = (value << count) & _MASK
            return value if unsigned or value <= _MAX else value - _MASK - 1

        return _Value(run, unsigned)


def _constant(value: int, unsigned: bool = False) -> _Value:
    return _Value(lambda names, calls: value, unsigned)


def _common(left: _Value, right: _Value) -> tuple[_Run, _Run, bool]:
    """Convert two operands to their common type: unsigned if one of them is."""
    if left.unsigned == right.unsigned:
        return left.run, right.run, left.unsigned
    if left.unsigned:
        return left.run, _to_unsigned(right.run), True
    return _to_unsigned(left.run), right.run, True


def _to_unsigned(run: _Run) -> _Run:
    return lambda names, calls: run(names, calls) & _MASK


def _divide(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _remainder(x: int, y: int) -> int:
    if y == -1 and x == _MIN:  # undefined in C, as the quotient overflows
        return _MAX + 1
    return x - y * _divide(x, y)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": _divide,
    "%": _remainder,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
}
_COMPARISONS: dict[str, Callable[[_Run, _Run], _Run]] = {
    "<": lambda a, b: lambda names, calls: int(a(names, calls) < b(names, calls)),
    ">": lambda a, b: lambda names, calls: int(a(names, calls) > b(names, calls)),
    "<=": lambda a, b: lambda names, calls: int(a(names, calls) <= b(names, calls)),
    ">=": lambda a, b: lambda names, calls: int(a(names, calls) >= b(names, calls)),
    "==": lambda a, b: lambda names, calls: int(a(names, calls) == b(names, calls)),
    "!=": lambda a, b: lambda names, calls: int(a(names, calls) != b(names, calls)),
}
_LOGICAL: dict[str, Callable[[_Run, _Run], _Run]] = {
    "&&": lambda a, b: lambda names, calls: int(bool(a(names, calls)) and bool(b(names, calls))),
    "||": lambda a, b: lambda names, calls: int(bool(a(names, calls)) or bool(b(names, calls))),
}


def _type_name(node: Any) -> str:
    """Return the words of a type in alphabetical order, or a single name that may be a typedef."""
    if isinstance(node, c_ast.ID):
        return str(node.name)
    if not isinstance(node, c_ast.Typename) or not isinstance(node.type, c_ast.TypeDecl):
        return ""
    return " ".join(sorted(getattr(node.type.type, "names", ())))


def _kind(node: Any) -> str:
    name = type(node).__name__
    return _KINDS.get(name, f"this ({name})")
