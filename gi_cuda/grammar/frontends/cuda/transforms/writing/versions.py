"""Writer of kernels with two versions of their body; the kernel's head selects one at run time."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.heads import Head, read_head
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import unit
from gi_cuda.grammar.splice import Splice, indent, newline, opening, replacing, splice

_OWN_NAMES = frozenset({"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"})
_WIDTH = 100
"""Columns of the longest lines that are written."""
_GLUE = "\0"
"""A space at which no line is broken."""


def head_of_versions(code: Code, kernel: Function) -> Head | None:
    """Return the head of a kernel whose body may become a function; None of any other kernel."""
    head = read_head(code, kernel)
    if head is None or code.hidden(kernel) or code.words(kernel.body) & {kernel.name, *_OWN_NAMES}:
        return None
    return head


def versions(
    code: Code,
    kernel: Function,
    head: Head,
    name: str,
    conditions: Sequence[str],
    arguments: tuple[Iterable[str], Iterable[str]],
    changes: Iterable[Splice] = (),
) -> Iterator[Splice]:
    """Make the body of a kernel a function in front of it, and call that from the kernel.

    Args:
        name: the function.
        conditions: comparisons, all of which have to hold for the first of two calls.
        arguments: what the function gets in the first call, and in the other.
        changes: changes of the function, which leave the kernel as it is.
    """
    start, gap = head.start, newline(code.text, head.begin)
    margin = indent(code.text, head.start)
    step = unit(code, kernel).removeprefix(margin) or "    "
    callee = f"{name}<{', '.join(head.templates)}>" if head.templates else name
    condition = f"{_GLUE}&& ".join(one.replace(" ", _GLUE) for one in conditions)
    first, other = (f"{callee}({', '.join(one)});" for one in arguments)
    lines = ((step, f"if ({condition})"), (step * 2, first), (step, "else"), (step * 2, other))
    wrapped = (_wrapped(margin + inner, step, line) for inner, line in lines)
    wrapper = "\n".join(["{", *wrapped, margin + "}"]).replace("\n", gap)
    declared = f"static __device__ __forceinline__ void {name}"
    made = [replacing(head.begin, kernel.at + len(kernel.name), declared), *changes]
    moved = [one._replace(start=one.start - start, end=one.end - start) for one in made]
    function = splice(code.text[start : kernel.body.end_byte], moved)
    yield opening(start, start, f"{function}{gap}{gap}{margin}")
    yield replacing(kernel.body.start_byte, kernel.body.end_byte, wrapper)


def _wrapped(margin: str, step: str, text: str) -> str:
    """Return a line, broken at spaces where it is too long."""
    width = _WIDTH - len(margin)
    lines = textwrap.wrap(
        text, width, subsequent_indent=step * 2, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(margin + line for line in lines).replace(_GLUE, " ")
