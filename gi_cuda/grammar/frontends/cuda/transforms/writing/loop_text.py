"""Text of loops whose iterations are shared: headers, and lines around statements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.serial import Loop
from gi_cuda.grammar.splice import (
    Splice,
    closing,
    indent,
    is_first,
    line_start,
    newline,
    opening,
    replacing,
)

_COMMENT = re.compile(r"[ \t]*//[^\r\n]*")
_PRAGMA = re.compile(r"([ \t]*)#[ \t]*pragma\b")
_ZERO = re.compile(r"0[uUlL]*")
_BLOCKS = frozenset({"compound_statement", "case_statement"})
_AS_TERM = frozenset({"+", "-", "*", "/", "%"})


def strided(code: Code, loop: Loop, first: str, count: str) -> Iterator[Splice]:
    """Rewrite the header of a loop, so that it does every ``count``-th iteration from ``first`` on.

    Example with ``lane`` and ``32``: ``for (int j = a; j < n; j += s)`` becomes
    ``for (int j = a + lane * s; j < n; j += s * 32)``.
    """
    start, step = loop.start, loop.step
    if step is None:
        update = loop.update
        yield replacing(update.start_byte, update.end_byte, f"{loop.name} += {count}")
    else:
        first = f"{first} * {_grouped(code, step, frozenset('*'))}"
        if code.span(step).isdigit() and count.isdigit():
            product = str(int(code.span(step)) * int(count))
            yield replacing(step.start_byte, step.end_byte, product)
        else:
            yield from _extended(code, step, frozenset("*"), f" * {count}")
    if _ZERO.fullmatch(code.span(start)):
        yield replacing(start.start_byte, start.end_byte, first)
    else:
        yield from _extended(code, start, _AS_TERM, f" + {first}")


def _grouped(code: Code, node: Node, operators: frozenset[str]) -> str:
    text = code.span(node)
    return text if _is_term(node, operators) else f"({text})"


def _is_term(node: Node, operators: frozenset[str]) -> bool:
    """Tell whether an expression can be an operand without parentheses."""
    operator = node.child_by_field_name("operator")
    if node.type == "binary_expression":
        return operator is not None and operator.type in operators
    return node.type not in ("conditional_expression", "assignment_expression", "comma_expression")


def _extended(code: Code, node: Node, operators: frozenset[str], more: str) -> Iterator[Splice]:
    """Append an operator and operand to an expression, with parentheses if it needs them."""
    start, end = node.start_byte, node.end_byte
    if _is_term(node, operators):
        yield closing(start, end, more)
    else:
        yield opening(start, end, "(")
        yield closing(start, end, f"){more}")


def with_lines_around(
    code: Code,
    statements: Sequence[Node],
    before: Sequence[str],
    after: Sequence[str],
    lead: str = "",
) -> Iterator[Splice]:
    """Put lines before and after statements of one block, with braces where there is no block.

    Args:
        code: the source.
        statements: the statements, in the order of the text.
        before: the lines that come in front, without indentation.
        after: the lines that follow.
        lead: text in front of the first statement on its line.
    """
    text, first, last = code.text, statements[0], statements[-1]
    start = _with_pragmas(text, first.start_byte)
    end = last.end_byte
    alone = is_first(text, start)
    if alone:
        end = behind_comment(text, end)
    gap = newline(text, start) + indent(text, first.start_byte) if alone else " "
    head = "".join(one + gap for one in before) + lead
    tail = "".join(gap + (one if alone else " ".join(one.split())) for one in after)
    around = first.parent
    if around is not None and around.type not in _BLOCKS:
        inner, outer = _braces(text, first, alone)
        yield inner
        tail += outer
    if head:
        yield opening(start, last.end_byte, head)
    if tail:
        yield closing(first.start_byte, end, tail)


def _braces(text: str, statement: Node, alone: bool) -> tuple[Splice, str]:
    """Return the opening brace for a statement without a block, and the text of the closing one."""
    around, ahead = statement.parent, statement.prev_sibling
    while ahead is not None and ahead.type == "comment":
        ahead = ahead.prev_sibling
    assert around is not None, "it is part of another statement"
    assert ahead is not None, "a keyword or parenthesis stands in front of it"
    if not alone:
        return replacing(ahead.end_byte, ahead.end_byte, " {"), " }"
    margin = newline(text, around.start_byte) + indent(text, around.start_byte)
    return replacing(ahead.end_byte, ahead.end_byte, " {"), margin + "}"


def behind_comment(text: str, end: int) -> int:
    """Return the end of a statement, or of the comment that follows it on its line."""
    comment = _COMMENT.match(text, end)
    return end if comment is None else comment.end()


def _with_pragmas(text: str, at: int) -> int:
    """Return where the pragmas in front of a loop start; where the loop starts if it has none."""
    while is_first(text, at) and line_start(text, at) > 0:
        above = line_start(text, line_start(text, at) - 1)
        pragma = _PRAGMA.match(text, above)
        if pragma is None:
            break
        at = pragma.end(1)
    return at
