"""A version of a kernel for the values that its parameters usually have."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite
from gi_cuda.grammar.frontends.cuda.transforms.reading.heads import Head, read_head
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, unit
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import closing, indent, newline, replacing

_OWN_NAMES = frozenset({"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"})
_DIVIDE = frozenset({"/", "%", "/=", "%="})
_WIDTH = 100
"""Columns of the longest lines that are written."""
_GLUE = "\0"
"""A space at which no line is broken."""


class Usual(Family):
    """``<usual_kernel.cu_41><usual_K>`` gives a kernel a version for the usual values of its
    parameters; ``<usual_Kloops>`` only of those that stand in the head of a loop or divide.

    Before and after, where ``stride`` is usually 1 and ``pad`` 0::

        __global__ void k(float *a, int n, int stride, int pad) {
            ...
        }

        static __device__ __forceinline__ void k_with(float *a, int n, int stride, int pad) {
            ...
        }

        __global__ void k(float *a, int n, int stride, int pad) {
            if (stride == 1 && pad == 0)
                k_with(a, n, 1, 0);
            else
                k_with(a, n, stride, pad);
        }

    The compiler makes two versions of the body. In the first one divisions by constants become
    multiplications, and short loops are unrolled. Answers are the same for all values. A static
    array in shared memory is there once, as a function has one for all its calls.

    The values are those of :attr:`gi_cuda.grammar.source.Source.usual`, which a target fills.
    Without a target no kernel is offered a version.
    """

    type = RuleType.USUAL

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Make the kernel's body a function, and call it with the usual values or with others."""
        kernel = code.function_at(at)
        if kernel is None or kernel.name not in dict(code.source.usual):
            return None
        head = read_head(code, kernel)
        if head is None or code.hidden(kernel):
            return None
        if code.words(kernel.body) & {kernel.name, *_OWN_NAMES}:
            return None
        values = _values(code, kernel, head)
        few = _deciding(code, kernel)
        chosen = {name: n for name, n in values.items() if choice == "usual_K" or name in few}
        if not chosen or (choice != "usual_K" and len(chosen) == len(values)):
            return None
        name = fresh(f"{kernel.name}_with", code, kernel, code.words(code.root))
        start, end = head.begin, kernel.body.end_byte
        gap, signature = newline(code.text, start), code.text[head.start : kernel.body.start_byte]
        wrapper = _wrapper(code, kernel, head, name, chosen).replace("\n", gap)
        whole = f"{gap}{gap}{indent(code.text, head.start)}{signature}{wrapper}"
        function = f"static __device__ __forceinline__ void {name}"
        return Rewrite(
            (
                replacing(start, kernel.at + len(kernel.name), function),
                closing(head.start, end, whole),
            )
        )


def _values(code: Code, kernel: Function, head: Head) -> dict[str, int]:
    """Return the usual values of integers that the kernel's body uses, by their names."""
    values = dict(code.source.usual)[kernel.name]
    if len(values) != len(head.parameters):
        return {}
    words = code.words(kernel.body)
    return {
        one.name: value
        for one, value in zip(head.parameters, values, strict=True)
        if value is not None and one.integral and one.name in words
    }


def _deciding(code: Code, kernel: Function) -> frozenset[str]:
    """Return the words in heads of loops and in divisors."""
    found: frozenset[str] = frozenset()
    for node in descend(kernel.body):
        if node.type in LOOPS:
            body = node.child_by_field_name("body")
            found = found.union(*(code.words(one) for one in node.named_children if one != body))
        operator, divisor = (node.child_by_field_name(one) for one in ("operator", "right"))
        if operator is not None and divisor is not None and code.span(operator) in _DIVIDE:
            found |= code.words(divisor)
    return found


def _wrapper(
    code: Code, kernel: Function, head: Head, function: str, values: Mapping[str, int]
) -> str:
    """Return the body of a kernel that calls a function with some values, or with all others."""
    margin = indent(code.text, head.start)
    step = unit(code, kernel).removeprefix(margin) or "    "
    names = [one.name for one in head.parameters]
    callee = f"{function}<{', '.join(head.templates)}>" if head.templates else function
    condition = f"{_GLUE}&& ".join(f"{name}{_GLUE}=={_GLUE}{n}" for name, n in values.items())
    usual = ", ".join(str(values.get(name, name)) for name in names)
    lines = (
        (step, f"if ({condition})"),
        (step * 2, f"{callee}({usual});"),
        (step, "else"),
        (step * 2, f"{callee}({', '.join(names)});"),
    )
    return "\n".join(
        ["{", *(_wrapped(margin + inner, step, line) for inner, line in lines), margin + "}"]
    )


def _wrapped(margin: str, step: str, text: str) -> str:
    """Return a line, broken at spaces where it is too long."""
    width = _WIDTH - len(margin)
    lines = textwrap.wrap(
        text, width, subsequent_indent=step * 2, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(margin + line for line in lines).replace(_GLUE, " ")
