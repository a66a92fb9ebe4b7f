"""Assumptions of a kernel about the block that it runs in."""

from __future__ import annotations

import re

from gi_cuda.grammar.frontends.cuda.constants import constant
from gi_cuda.grammar.frontends.cuda.file import CudaFile
from gi_cuda.init.kernel.tuning import MOST_THREADS

_FEWEST = 8
"""Threads along an axis by which a loop goes on beside them, at least: one that takes a step or two
looks at neighbours."""

_NUMBERED = re.compile(r"\b(\w+)\s*=\s*threadIdx\s*\.\s*([xyz])\s*[;,]")
_SHARED = re.compile(r"\b__shared__\s[^;={}()]*?\b(\w+)((?:\s*\[[^\[\];]+\])+)\s*;")
_STEPS = re.compile(r"\bfor\s*\([^;{}]*?\b(\w+)\s*=\s*0\s*;[^;{}]*;\s*\1\s*\+=\s*([^;(){}]+?)\s*\)")
_FIRST = r"\bblockIdx\s*\.\s*{axis}\s*\*\s*blockDim\s*\.\s*{axis}\b"


def own_block(code: CudaFile, body: str, axis: str, usable: frozenset[str]) -> str | None:
    """The threads of a block along an axis that a kernel takes for granted; None where it does not.

    That is the step of a loop that begins at a thread's number (``for (i = threadIdx.x; i < n;
    i += 256)``), or of one that goes on beside it (``tile[threadIdx.y + i]``), what blocks are
    apart (``blockIdx.x * TILE``), what CUB is told, or the size of an array in shared memory that
    has an item for each.

    Args:
        usable: names that an expression may have.
    """
    thread = _thread(body, axis)
    steps = [*_loops(body, thread), *_beside(body, thread)]
    others = [*_apart(code, body, axis, usable), *_items(body, axis, thread)]
    # A step that the kernel is given may be any.
    found = [_told(code, one, usable & code.macros.keys(), _FEWEST) for one in steps]
    found += [_told(code, one, usable) for one in others]
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


def _beside(body: str, thread: str) -> list[str]:
    """The steps of loops whose number is added to a thread's."""
    added = r"{thread}\s*\+\s*{name}\b(?!\s*\*)|\b{name}\s*\+\s*{thread}"
    return [
        step
        for name, step in _STEPS.findall(body)
        if re.search(added.format(thread=thread, name=name), body)
    ]


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


def _items(body: str, axis: str, thread: str) -> list[str]:
    """The sizes of arrays in shared memory that have an item for each thread, in kernels that do
    not ask how many there are."""
    if re.search(rf"\bblockDim\s*\.\s*{axis}\b", re.sub(_FIRST.format(axis=axis), "", body)):
        return []
    found = []
    for name, sizes in _SHARED.findall(body):
        place = re.search(rf"\b{name}((?:\s*\[[^\[\]]+\])+)", body.replace(f"{name}{sizes}", "", 1))
        at = re.findall(r"\[\s*([^\[\]]+?)\s*\]", place[1]) if place else []
        each = re.findall(r"\[\s*([^\[\]]+?)\s*\]", sizes)
        found += [s for s, a in zip(each, at, strict=False) if re.fullmatch(thread, a)]
    return found


def _told(code: CudaFile, text: str, usable: frozenset[str], fewest: int = 1) -> str | None:
    """A number of threads as an expression that a launch can have."""
    if text in usable:
        return text
    value = constant(code, text)
    return str(value) if value is not None and fewest <= value <= MOST_THREADS else None
