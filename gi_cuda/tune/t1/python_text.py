"""Python expressions in files of other tuners: evaluated without ``eval``, and translated to C."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

_LONGEST = 1_000_000
"""The most items of a range, and the most bits of a power."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (list, tuple, range, min, max, len, abs, int, float, sum, sorted)
}

_SIGNS: Mapping[type[ast.AST], tuple[str, int]] = {
    **{ast.Add: ("+", 6), ast.Sub: ("-", 6), ast.Mult: ("*", 7), ast.FloorDiv: ("/", 7)},
    **{ast.Div: ("/", 7), ast.Mod: ("%", 7)},
    **{ast.Lt: ("<", 5), ast.LtE: ("<=", 5), ast.Gt: (">", 5), ast.GtE: (">=", 5)},
    **{ast.Eq: ("==", 4), ast.NotEq: ("!=", 4), ast.And: ("&&", 3), ast.Or: ("||", 2)},
}
"""The sign of an operator in C, and how closely it binds: a name 9, a sign in front 8, ?: 1."""


class PythonTextError(ValueError):
    """An expression that cannot be read, evaluated or translated; the text says why."""


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """Evaluate a Python expression of numbers, texts and lists.

    Example: ``evaluate("[1] + [2 * i for i in range(1, 4)]", {})`` is ``[1, 2, 4, 6]``.

    Args:
        names: the values of names.

    Raises:
        PythonTextError: it is no such expression, has no value, or takes too much memory.
    """
    try:
        return _value(syntax(text), names)
    except (ArithmeticError, TypeError, ValueError, LookupError, RecursionError) as error:
        raise PythonTextError(f"`{text}` has no value: {error}") from None


def syntax(text: str) -> ast.expr:
    """Return the tree of a Python expression.

    Raises:
        PythonTextError: it is none.
    """
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise PythonTextError(f"`{text}` is no Python expression") from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    def of(part: ast.expr) -> Any:
        return _value(part, names)

    match node:
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [of(item) for item in items]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](of(operand))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _computed(sign, of(left), of(right))
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(of(part) for part in parts)
        case ast.BoolOp(values=parts):
            return any(of(part) for part in parts)
        case ast.Compare(left=left, ops=signs, comparators=others):
            operands = [of(one) for one in (left, *others)]
            pairs = zip(signs, operands, operands[1:], strict=False)
            return all(_COMPARED[type(sign)](a, b) for sign, a, b in pairs)
        case ast.IfExp(test=test, body=body, orelse=other):
            return of(body) if of(test) else of(other)
        case ast.Subscript(value=whole, slice=place):
            return of(whole)[of(place)]
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in _FUNCTIONS:
            arguments = [of(one) for one in given]
            if name == "range" and len(range(*arguments)) > _LONGEST:
                raise ValueError("the range is too long")
            return _FUNCTIONS[name](*arguments)
        case (
            ast.ListComp(elt=item, generators=loops) | ast.GeneratorExp(elt=item, generators=loops)
        ):
            found = [_value(item, inner) for inner in islice(_rounds(loops, names), _LONGEST + 1)]
            if len(found) > _LONGEST:
                raise ValueError("the list is too long")
            return found
    raise ValueError(f"`{ast.unparse(node)}` is not known here")


def _computed(sign: ast.operator, left: Any, right: Any) -> Any:
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        if not (isinstance(sign, ast.Add) and type(left) is type(right) is list):
            raise ValueError("numbers are computed with, and lists are joined by +, nothing else")
    elif isinstance(sign, ast.Pow) and abs(right) * max(1, int(left).bit_length()) > _LONGEST:
        raise ValueError("the power is too large")
    return _BINARY[type(sign)](left, right)


def _rounds(
    loops: Sequence[ast.comprehension], names: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Iterate over the names in each round of a comprehension's loops."""
    if not loops:
        yield names
        return
    loop = loops[0]
    if not isinstance(loop.target, ast.Name):
        raise ValueError("one name is needed between `for` and `in`")
    for item in _value(loop.iter, names):
        inner = {**names, loop.target.id: item}
        if all(_value(condition, inner) for condition in loop.ifs):
            yield from _rounds(loops[1:], inner)


def to_c(text: str, names: Mapping[str, Any]) -> str:
    """Translate a Python expression to a C expression of integers.

    Example: ``to_c("32 <= a * b <= 1024 and not c", ...)`` is
    ``32 <= a * b && a * b <= 1024 && !c``.

    Args:
        names: for each name that may be used the list that its items come from, as ``sizes`` in
            ``sizes[0]`` and ``max(sizes)``; None: the name stands in C as it is.

    Raises:
        PythonTextError: it cannot be translated.
    """
    try:
        return _c(syntax(text), names)[0]
    except (KeyError, RecursionError, ValueError) as error:
        raise PythonTextError(f"`{text}` cannot be translated to C: {error}") from None


def _c(node: ast.expr, names: Mapping[str, Any]) -> tuple[str, int]:
    """Return the C text of an expression, and how closely its outermost operator binds."""

    def at(part: ast.expr, least: int) -> str:
        text, binds = _c(part, names)
        return text if binds >= least else f"({text})"

    def compared(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> tuple[str, int]:
        if isinstance(sign, ast.In | ast.NotIn) and isinstance(right, ast.List | ast.Tuple):
            equal, joined = ("==", " || ") if isinstance(sign, ast.In) else ("!=", " && ")
            texts = [f"{at(left, 5)} {equal} {at(item, 5)}" for item in right.elts]
            return joined.join(texts) or "0", 2 if len(texts) > 1 else 4
        said, binds = _sign(sign)
        return f"{at(left, binds + 1)} {said} {at(right, binds + 1)}", binds

    match node:
        case ast.Constant(value=int() as value):
            return str(int(value)), 9
        case ast.Name(id=name) if name in names and names[name] is None:
            return name, 9
        case ast.Subscript() | ast.Call(args=[ast.Name()]) | ast.Name():
            value = _value(node, {k: v for k, v in names.items() if v is not None})
            if not isinstance(value, int):
                raise ValueError(f"`{ast.unparse(node)}` is no whole number")
            return str(value), 9
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"!{at(operand, 8)}", 8
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{at(operand, 9)}", 8
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int() as times)) if (
            1 <= times <= 8
        ):
            return " * ".join([at(base, 8)] * times), 7
        case ast.BinOp(left=left, op=operation, right=right):
            said, binds = _sign(operation)
            return f"{at(left, binds)} {said} {at(right, binds + 1)}", binds
        case ast.BoolOp(op=joint, values=parts):
            said, binds = _sign(joint)
            return f" {said} ".join(at(part, binds) for part in parts), binds
        case ast.Compare(left=left, ops=signs, comparators=others):
            operands = [left, *others]
            texts = [compared(*one) for one in zip(operands, signs, others, strict=False)]
            if len(texts) == 1:
                return texts[0]
            return " && ".join(t if b >= 3 else f"({t})" for t, b in texts), 3
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"{at(test, 2)} ? {at(body, 2)} : {at(other, 1)}", 1
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[first, second]):
            one, two = at(first, 6), at(second, 6)
            return f"{one} {'<' if name == 'min' else '>'} {two} ? {one} : {two}", 1
        case ast.Call(func=ast.Name(id="int"), args=[only]):
            return _c(only, names)
    raise ValueError(f"`{ast.unparse(node)}` has no counterpart")


def _sign(sign: ast.AST) -> tuple[str, int]:
    if type(sign) not in _SIGNS:
        raise ValueError(f"the operator {type(sign).__name__} has no counterpart")
    return _SIGNS[type(sign)]
