"""Confine PTX: restrict its memory accesses to a window, and its waiting and running time.

Software fault isolation (Wahbe et al., SOSP 1993): before every access through a register, its
address is forced into a window, and onto a multiple of its width. An address that is in the window
anyhow, as in correct code, stays the same. An address that had to be forced leaves a sign:
unconfined, the access would have been a crash. The window holds the buffers of the cases that give
fitness. A variable of the module may be accessed within its bounds, and an access to a function's
own stack is forced into that stack.

Memory between the buffers of the window can be accessed, but belongs to no buffer. A shadow of the
window tells which bytes are a buffer's, as in AddressSanitizer (Serebryany et al., USENIX ATC
2012). It is looked up for every access to the window, and an access to other bytes leaves a sign of
its own. This is exact to the byte, so reading one element too many is detected, even if the value
is not used.

An operation of several threads of a warp (shuffle, vote) waits for all threads in its mask. Here
the threads that arrive together execute it, so that none waits for a thread that went elsewhere. In
correct code these are the threads of the mask: nvcc lets diverged threads reconverge before.

A barrier of a block waits for every thread separately, wherever the thread waits, and not for
threads that have exited. Code before the barrier checks that all threads of a warp are at the same
barrier. If they are not, CUDA leaves the result undefined, and mostly the wait is endless.

Backward jumps are counted, and one in :data:`.harmless._EVERY` reads the clock. Past the deadline,
which is stored at :data:`.harmless.CONTROL`, threads exit.

Not confined: barriers for some of a block's threads or for a cluster, memory of other blocks of a
cluster, bulk copies, calls through pointers, the device's ``malloc`` and ``free``. Nothing is done
about endless recursion, about matrix instructions that read memory by descriptors, and about
constant memory, where reads out of bounds gave zero on all devices that were tried. Texture fetches
give zeros outside their memory. The shadow is not looked up for an asynchronous copy with an
operand for the number of bytes to read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from gi_cuda.backends.cuda.ptx.function import Function, Jump, Line, Piece
from gi_cuda.backends.cuda.ptx.harmless import MODULE, STATEMENT, WARP_WIDE, harmless, prologue
from gi_cuda.backends.cuda.ptx.module import blocks

_COMMENT = re.compile(r"//[^\n]*")
_LABEL = re.compile(r"(?<![\w$%.:])([\w$]+):(?![:\w])")
_REGISTERS = re.compile(r"\.reg\s+\.[a-z]+(\d+)\s+([^;]+);")
_VARIABLE = re.compile(
    r"[^\n]*?\.global\s+(?:\.align\s+\d+\s+)?\.[busf](\d+)\s+([\w$]+)(?:\[(\d+)\])?"
)
_STACK = re.compile(r"\.local\s+(?:\.align\s+\d+\s+)?\.b8\s+([\w$]+)\[(\d+)\]")
_HARMLESS = (
    "mov add sub mul mad fma selp setp set and or.b or.p xor not neg abs min max shl shr shf cvt"
    " cvta lop3 prmt div rem rcp sqrt rsqrt ex2 lg2 sin cos bfe bfi popc clz ld.p st.p"
)
_ORDINARY = frozenset(f"\t{name}."[:5] for name in _HARMLESS.split()) | {""}
"""First five characters of lines whose instruction does no harm, and of empty lines.

Most lines are like this. No instruction that may do harm begins with these characters.
"""

_ENTRY = re.compile(r"^(?:\.(?:visible|weak|extern)\s+)?\.entry\b", re.M)
_CALL = re.compile(r"(?<![\w$%.])call\b")
_HEAD_END = re.compile(r"^[ \t]*\.address_size[^\n]*\n", re.M)
_MOST_LINES = 1 << 16
"""Number of lines whose confined form is cached, for functions with the same properties."""


def confined_module(text: str) -> str:
    """Return a confined module."""
    found = confine(text)
    head = _HEAD_END.search(found)
    at = head.end() if head else 0
    return "".join([found[:at], MODULE, found[at:]])


def confine(text: str) -> str:
    """Return a module with its functions confined. Line numbers change.

    The module needs :data:`MODULE` before its functions.
    """
    found = list(blocks(text))
    variables = [text[begin.start() : end] for begin, end in found if not begin["function"]]
    sizes = {
        match[2]: int(match[1]) // 8 * int(match[3] or 1)
        for match in filter(None, map(_VARIABLE.match, variables))
    }
    warps = _warps_work_together(text)
    parts: list[str] = []
    at = 0
    for begin, end in found:
        body = text.find("{", begin.start(), end) if begin["function"] else -1
        if body >= 0:
            parts.append(text[at : body + 1])
            own = text[body + 1 : end]
            kind = begin["function"] == ".entry", warps
            parts.append(_confined_body(own, _function(own, sizes, kind)))
            at = end
    parts.append(text[at:])
    rest = "".join(parts[::2])
    assert rest.count(".entry") == len(_ENTRY.findall(rest)), "a kernel that is not confined"
    return "".join(parts)


def _warps_work_together(text: str) -> bool:
    """Tell whether any operation is of several threads of a warp (``.sync``)."""
    at = text.find(".sync")
    while at >= 0:
        if WARP_WIDE.search(text, text.rfind("\n", 0, at) + 1, at + len(".sync.")):
            return True
        at = text.find(".sync", at + 1)
    return False


def _confined_body(body: str, function: Function) -> str:
    known = function.lines
    lines = _lines(body)
    passed: set[str] = set()
    number = 0
    for at in _in_question(lines, one_each=body.count(";") == body.count(";\n")):
        line = lines[at]
        done = known.get(line)
        if done is None:
            done = known[line] = _confined_line(line, function)
        if isinstance(done, str):  # most
            lines[at] = done
        elif isinstance(done, Jump):
            lines[at] = done.back if done.target in passed else done.text
        else:
            passed.update(done.labels)
            parts: list[str] = []
            for piece in done.pieces:
                if isinstance(piece, str):
                    parts.append(piece)
                elif isinstance(piece, Jump):
                    parts.append(piece.back if piece.target in passed else piece.text)
                else:
                    number += 1
                    parts.append(piece.text(number))
            lines[at] = "".join(parts)
    return "\n".join([f"\n{prologue(function, numbered=number > 0)}{lines[0]}", *lines[1:]])


def _in_question(lines: Sequence[str], *, one_each: bool) -> Sequence[int]:
    """Return the indices of lines that may contain more than an ordinary instruction.

    Args:
        one_each: whether no line has anything after a semicolon.
    """
    if one_each:
        return [at for at, line in enumerate(lines) if line[:5] not in _ORDINARY]
    return [
        at
        for at, line in enumerate(lines)
        if line[:5] not in _ORDINARY or line.find(";") != len(line) - 1
    ]


def _lines(body: str) -> list[str]:
    """Return the lines of a body; a call, which takes several lines, counts as one."""
    lines = body.split("\n")
    if "call" not in body:
        return lines
    found: list[str] = []
    rest = iter(lines)
    for line in rest:
        if "call" in line and _CALL.search(line):
            parts = [line]
            while ";" not in parts[-1] and (more := next(rest, None)) is not None:
                parts.append(more)
            line = "\n".join(parts)
        found.append(line)
    return found


def _function(body: str, sizes: Mapping[str, int], kind: tuple[bool, bool]) -> Function:
    """Return the properties of a function.

    Args:
        kind: whether it is a kernel, and whether its module has operations of several threads.
    """
    widths: dict[str, int] = {}
    at = body.find(".reg")
    while at >= 0:
        if declared := _REGISTERS.match(body, at):
            for name in declared[2].split(","):
                widths[name.strip().split("<")[0]] = int(declared[1])
        at = body.find(".reg", at + 1)
    stack = _STACK.search(body) if ".local" in body else None
    variables = tuple((name, size) for name, size in sizes.items() if name in body)
    own = (stack[1], int(stack[2])) if stack else None
    found = _like(Function(*kind, tuple(sorted(widths.items())), variables, own))
    if len(found.lines) > _MOST_LINES:
        found.lines.clear()
    return found


@lru_cache(maxsize=64)
def _like(function: Function) -> Function:
    """Return one object for all functions with the same properties, to share cached lines."""
    return function


def _confined_line(line: str, function: Function) -> str | Jump | Line:
    """Return the confined form of a line."""
    if "//" in line:
        line = _COMMENT.sub("", line)
    # Nearly all lines are a tab and one instruction.
    found = STATEMENT.match(line, 1)
    if found and line[0] == "\t" and found.end() == len(line):
        match harmless(found, function):
            case []:
                return line
            case [str(text)]:
                return f"\t{text}"
            case [Jump() as jump]:
                return jump.within("\t", "")
    return _confined_pieces(line, function)


def _confined_pieces(line: str, function: Function) -> str | Line:
    """Return the confined form of a line with any contents."""
    pieces: list[Piece] = []
    at = 0
    for found in STATEMENT.finditer(line):
        if now := harmless(found, function):
            pieces += [line[at : found.start()], *now]
            at = found.end()
    pieces.append(line[at:])
    labels = tuple(_LABEL.findall(line)) if ":" in line else ()
    texts = [one for one in pieces if isinstance(one, str)]
    if labels or len(texts) < len(pieces):
        return Line(labels, tuple(pieces))
    return "".join(texts)
