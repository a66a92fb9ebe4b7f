"""Assumptions of a kernel about the block that it runs in."""

from __future__ import annotations

import re

from gi_cuda.grammar.frontends.cuda.constants import constant
from gi_cuda.grammar.frontends.cuda.file import CudaFile
from gi_cuda.init.kernel.tuning import MOST_THREADS

_FEWEST = 8
"""Threads along an axis that a loop steps by, at least."""

_NUMBERED = re.compile(r"\b(\w+)\s*=\s*threadIdx\s*\.\s*([xyz])\s*[;,]")


def own_block(code: CudaFile, body: str, axis: str, usable: frozenset[str]) -> str | None:
    """The threads of a block along an axis that a kernel takes for granted; None where it does not.

    That is the step of a loop that begins at a thread's number (``for (i = threadIdx.x; i < n;
    i += 256)``), or what blocks are apart (``blockIdx.x * TILE``).

    Args:
        usable: names that an expression may have.
    """
    steps = _loops(body, _thread(body, axis))
    # A step that the kernel is given may be any.
    found = [_told(code, one, usable & code.macros.keys(), _FEWEST) for one in steps]
    found += [_told(code, one, usable) for one in _apart(code, body, axis, usable)]
    return next(filter(None, found), None)


def _thread(body: str, axis: str) -> str:
    """A pattern for a thread's number along an axis, whatever it is called."""
    names = [name for name, its in _NUMBERED.findall(body) if its == axis]
    return rf"\b(?:{'|'.join([rf'threadIdx *[.] *{axis}', *names])})\b"


def _loops(body: str, thread: str) -> list[str]:
    """The steps of loops that begin at a thread's number."""
    before = r"(?:(?:(?!blockIdx)[^;=(){}])*\+\s*)?"
    begin = rf"\bfor\s*\(\s*(?:\w+\s+)*?(\w+)\s*=\s*{before}{thread}\s*;"
    each = re.finditer(rf"{begin}\s*\1\s*<\s*[\w.]+\s*;\s*\1\s*\+=\s*([^;(){{}}]+?)\s*\)", body)
    return [match[2] for match in each]


def _apart(code: CudaFile, body: str, axis: str, usable: frozenset[str]) -> list[str]:
    """What the number of a block is multiplied by."""
    index = rf"blockIdx\s*\.\s*{axis}"
    if alias := re.search(rf"\b(\w+)\s*=\s*{index}\s*;", body):
        # What it is multiplied by may as well be the length of a row.
        usable &= code.macros.keys()
        index = rf"\b(?:{index}|{alias[1]})\b"
    found = re.finditer(rf"{index}\s*\*\s*(\w+)(?![\w.])|(\w+)\s*\*\s*{index}", body)
    names = [match[1] or match[2] for match in found]
    return [name for name in names if name in usable or constant(code, name) is not None]


def _told(code: CudaFile, text: str, usable: frozenset[str], fewest: int = 1) -> str | None:
    """A number of threads as an expression that a launch can have."""
    if text in usable:
        return text
    value = constant(code, text)
    return str(value) if value is not None and fewest <= value <= MOST_THREADS else None
