"""PTX made to do no harm, whatever it was: accesses stay in a window, nobody is waited for, and all
threads leave when time is over.

Software fault isolation (Wahbe et al., SOSP 1993): in front of every access through a register its
address is forced into a window, and onto a multiple of its width. What stays in the window anyhow,
as all that is right does, reads and writes what it did before. An address that had to be forced
leaves a sign: unconfined, it would have been a crash. The window holds the buffers of the cases
that give fitness; a variable of the module's own is let through within its bounds, and an access to
a function's own stack is forced into that.

What lies between the buffers of the window can be accessed and is nobody's. A shadow of the window
says which bytes are a buffer's, as AddressSanitizer's does (Serebryany et al., USENIX ATC 2012): it
is looked at for every access to the window, and one to what is not leaves a sign of its own. That
goes by bytes, so what reads one element too many is found out, whatever it makes of it.

What threads of a warp do together (shuffles, votes) waits for all that its mask names. Here it is
done by those that come there together, so that nobody waits for a thread that went elsewhere. In
code that is right these are those of the mask: nvcc lets threads that parted meet again first.

A barrier of a block waits for every thread by itself, wherever that waits, and not for those that
left. Whether the threads of a warp are all at the same one is found out in front of it: if they are
not, CUDA does not say what happens, and mostly it is an endless wait.

Jumps backwards are counted, and now and then one looks at the clock. Past the deadline, which lies
where the device finds it (:data:`CONTROL`), threads leave.

Left as they are: barriers for some of a block's threads or for a
cluster, memory of other blocks of a cluster, bulk copies, calls through pointers, the device's own
``malloc`` and ``free``. Nothing is done about endless recursion, about matrix instructions that
read memory by descriptors, and about constant memory, where what lies outside is zero on the
devices that were tried. Fetches from textures give zeros outside their memory. An asynchronous copy
that is told how much of its width to read is not looked up.
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
"""The first five characters of lines whose instruction does no harm, and of empty ones: most are
like that. No instruction that may do harm begins so."""

_ENTRY = re.compile(r"^(?:\.(?:visible|weak|extern)\s+)?\.entry\b", re.M)
_CALL = re.compile(r"(?<![\w$%.])call\b")
_HEAD_END = re.compile(r"^[ \t]*\.address_size[^\n]*\n", re.M)
_MOST_LINES = 1 << 16
"""Of functions that are alike, so many are remembered."""


def confined_module(text: str) -> str:
    """A module made to do no harm."""
    found = confine(text)
    head = _HEAD_END.search(found)
    at = head.end() if head else 0
    return "".join([found[:at], MODULE, found[at:]])


def confine(text: str) -> str:
    """The functions and variables of a module, made to do no harm.

    The module needs :data:`MODULE` in front of them. Lines are no longer where they were.
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
    """Whether threads of a warp do something together; what they do so ends in ``.sync``."""
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
    """The lines on which there may be more than an ordinary instruction.

    Args:
        one_each: whether no line has anything behind a semicolon.
    """
    if one_each:
        return [at for at, line in enumerate(lines) if line[:5] not in _ORDINARY]
    return [
        at
        for at, line in enumerate(lines)
        if line[:5] not in _ORDINARY or line.find(";") != len(line) - 1
    ]


def _lines(body: str) -> list[str]:
    """The lines of a body; a call, which takes several, in one piece."""
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
    """A function of a kind: a kernel or not, of a module in which warps work together or not."""
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
    """One of which all such functions share what has become of lines."""
    return function


def _confined_line(line: str, function: Function) -> str | Jump | Line:
    """What becomes of a line."""
    if "//" in line:
        line = _COMMENT.sub("", line)
    # Nearly always a line is a tab and one instruction.
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
    """What becomes of a line with anything in it."""
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
