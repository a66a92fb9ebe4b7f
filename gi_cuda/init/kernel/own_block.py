"""Find the block size that a kernel's code assumes."""

from __future__ import annotations

import re

from gi_cuda.grammar.frontends.cuda.declarations.constants import constant
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile
from gi_cuda.init.kernel.tuning import MOST_THREADS

_FEWEST = 8
"""Smallest loop step that counts as a number of threads."""

_NUMBERED = re.compile(r"\b(\w+)\s*=\s*threadIdx\s*\.\s*([xyz])\s*[;,]")


def own_block(code: CudaFile, body: str, axis: str, usable: frozenset[str]) -> str | None:
    """Return the block size along an axis that a kernel assumes; None if it assumes none.

    It is the step of a loop that begins at the thread index (``for (i = threadIdx.x; i < n;
    i += 256)``), or the factor of the block index (``blockIdx.x * TILE``).

    Args:
        usable: names that an expression may have.
    """
    steps = _loops(body, _thread(body, axis))
    # A step that is an argument of the kernel may have any value: allow macros only.
    found = [_told(code, one, usable & code.macros.keys(), _FEWEST) for one in steps]
    found += [_told(code, one, usable) for one in _apart(code, body, axis, usable)]
    return next(filter(None, found), None)


def _thread(body: str, axis: str) -> str:
    """Return a pattern for the thread index along an axis, aliases included."""
    names = [name for name, its in _NUMBERED.findall(body) if its == axis]
    return rf"\b(?:{'|'.join([rf'threadIdx *[.] *{axis}', *names])})\b"


def _loops(body: str, thread: str) -> list[str]:
    """Return the steps of loops that begin at a thread index."""
    before = r"(?:(?:(?!blockIdx)[^;=(){}])*\+\s*)?"
    begin = rf"\bfor\s*\(\s*(?:\w+\s+)*?(\w+)\s*=\s*{before}{thread}\s*;"
    each = re.finditer(rf"{begin}\s*\1\s*<\s*[\w.]+\s*;\s*\1\s*\+=\s*([^;(){{}}]+?)\s*\)", body)
    return [match[2] for match in each]


def _apart(code: CudaFile, body: str, axis: str, usable: frozenset[str]) -> list[str]:
    """Return the factors that the block index is multiplied by."""
    index = rf"blockIdx\s*\.\s*{axis}"
    if alias := re.search(rf"\b(\w+)\s*=\s*{index}\s*;", body):
        # The factor of an alias may be the length of a row: allow macros only.
        usable &= code.macros.keys()
        index = rf"\b(?:{index}|{alias[1]})\b"
    found = re.finditer(rf"{index}\s*\*\s*(\w+)(?![\w.])|(\w+)\s*\*\s*{index}", body)
    names = [match[1] or match[2] for match in found]
    return [name for name in names if name in usable or constant(code, name) is not None]


def _told(code: CudaFile, text: str, usable: frozenset[str], fewest: int = 1) -> str | None:
    """Return a number of threads as an expression for a launch; None if it cannot be one."""
    if text in usable:
        return text
    value = constant(code, text)
    return str(value) if value is not None and fewest <= value <= MOST_THREADS else None
