"""C expressions of sizes as Python has them."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pycparser import c_ast, c_generator

from gi_cuda.spec.expression import ExpressionError, parse, syntax_tree

_IN_DATA = ("np", "rng", "seed", "case", "random_items", "dict", "object", "int")
_PLAIN = re.compile(r"(?:[A-Za-z_]\w*|(?:0|[1-9]\d*)(?!\w)|[\s()+*/%-])*")
_APPLIED = re.compile(r"\w\s*\(|\)\s*[\w(]")
"""A call or a cast."""

_BINARY: Mapping[str, type[ast.operator]] = MappingProxyType(
    {
        "+": ast.Add,
        "-": ast.Sub,
        "*": ast.Mult,
        "/": ast.FloorDiv,
        "%": ast.Mod,
        "<<": ast.LShift,
        ">>": ast.RShift,
        "&": ast.BitAnd,
        "|": ast.BitOr,
        "^": ast.BitXor,
    }
)
_COMPARED: Mapping[str, type[ast.cmpop]] = MappingProxyType(
    {"<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq}
)
_BOTH: Mapping[str, type[ast.boolop]] = MappingProxyType({"&&": ast.And, "||": ast.Or})
_UNARY: Mapping[str, type[ast.unaryop]] = MappingProxyType(
    {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert, "!": ast.Not}
)


def python_name(name: str) -> str:
    """A name that Python takes, too, and that data.py has no other use for."""
    taken = keyword.iskeyword(name) or name in _IN_DATA
    return f"{name}_" if taken else name


def in_python(text: str) -> str:
    """A C expression of sizes, which are never negative, as Python has it.

    Raises:
        ExpressionError: it is none that has a value.
    """
    if _PLAIN.fullmatch(text) and not _APPLIED.search(text):
        return re.sub(r"[A-Za-z_]\w*", lambda m: python_name(m[0]), text).replace("/", "//")
    return ast.unparse(_node(syntax_tree(text)))


def _value(node: Any) -> int | None:
    """What an expression comes to that has no names."""
    try:
        return parse(c_generator.CGenerator().visit(node)).evaluate({})
    except ExpressionError:
        return None


def _node(node: Any) -> ast.expr:
    if (value := _value(node)) is not None:
        return ast.Constant(value)
    if isinstance(node, c_ast.ID):
        return ast.Name(python_name(node.name))
    if isinstance(node, c_ast.Cast):
        return _node(node.expr)
    if isinstance(node, c_ast.TernaryOp):
        return ast.IfExp(_node(node.cond), _node(node.iftrue), _node(node.iffalse))
    if isinstance(node, c_ast.UnaryOp) and node.op in _UNARY:
        return ast.UnaryOp(_UNARY[node.op](), _node(node.expr))
    if isinstance(node, c_ast.BinaryOp):
        left, right = _node(node.left), _node(node.right)
        if node.op in _BOTH:
            return ast.BoolOp(_BOTH[node.op](), [left, right])
        if node.op in _COMPARED:
            return ast.Compare(left, [_COMPARED[node.op]()], [right])
        return ast.BinOp(left, _BINARY[node.op](), right)
    raise ExpressionError("nothing that a size can be", c_generator.CGenerator().visit(node))
