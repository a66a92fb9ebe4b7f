"""Find macros and constants of a kernel that can be parameters of a target."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from gi_cuda.grammar import Function
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, source_constants
from gi_cuda.grammar.macro_values import constants_said
from gi_cuda.spec.expression import ExpressionError, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"\(*\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)*")
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)
_COMPILERS = re.compile(r"__\w*|_[A-Z]\w*|CUDA\w*_VERSION|NULL|EOF|[A-Z]+_(?:MAX|MIN)|M_\w+")
_THREADS = re.compile(
    r"(?i)(?:.*_)?(?:(?:block|group|bl?k)_?(?:size|dim|w|width|len|length|x|threads|sz)?"
    r"|threads?(?:_?per_?block)?|n_?threads|num_?threads|tpb|bs|workgroup_?size|wg_?size)(?:_?x)?"
)
_TILE = re.compile(
    r"(?i)(?:.*_)?(?:tile|block|bl?k)(?:_?(?:size|dim|width|[wxymnk]))?(?:_?[xymnk])?"
)
_SPEED = re.compile(
    r"(?i).*(?:unroll|cache|vector|vec_?len|per_?thread|stride|pad|coarse|ilp|chunk|batch|buffer"
    r"|prefetch|shared|warps?|ldg|fast|intrin|texture|(?:^|_)use_|^enable_).*"
)
_NOT_SPEED = re.compile(r"(?i).*(?:debug|verbose|print|check|test|assert|profil|timing|log).*")
_FIXED = re.compile(r"(?i).*mask.*|full|all|.*pi|warp(?:_?(?:size|sz|width|threads))?|lanes?")
"""Names of values that hardware or mathematics fix."""
_UNSURE = "does it change speed and not the result?"
_COUNT = re.compile(
    r"(?i)(?:num_?|n_?|max_?|total_?)?(?:[nmkwhdl]|size|length|len|width|height|depth|rows|cols|dim|"
    r"elements|count|points|nx|ny|nz|data_?size|array_?size|array_?length|vector_?size|"
    r"matrix_?size|grid_?size|image_?(?:size|width|height))"
)


MOST_THREADS = 1024
"""Largest number of threads of a block."""


@dataclass(frozen=True, slots=True)
class Tunable:
    """A proposed parameter.

    Attributes:
        kind: ``macro``, ``constant`` or ``flag``.
        values: values of a macro or constant; a flag has none.
        active: False if it is written as a comment only, for the user to decide.
        why: its meaning, or the reason why it is a comment.
    """

    name: str
    kind: str
    values: tuple[int, ...]
    default: int
    why: str
    active: bool = False


def is_count(name: str) -> bool:
    """Tell whether a macro's name suggests an amount of data."""
    return _COUNT.fullmatch(name) is not None


def is_division(name: str) -> bool:
    """Tell whether a name suggests a division of work: threads of a block, or a tile."""
    return bool(_THREADS.fullmatch(name) or _TILE.fullmatch(name))


def whole_number(body: str) -> int | None:
    """Return the value of a macro that is a plain number; None otherwise."""
    match = _NUMBER.fullmatch(_COMMENT.sub(" ", body).strip())
    return int(match[1], 0) if match else None


def tunables(
    code: CudaFile,
    functions: Sequence[Function],
    define: Mapping[str, str],
    launched: frozenset[str],
    blocks: frozenset[str] = frozenset(),
    elsewhere: Mapping[str, str] = MappingProxyType({}),
    local: Mapping[str, int] = MappingProxyType({}),
) -> tuple[Tunable, ...]:
    """Return the macros and constants that the functions to be evolved use, in order.

    Args:
        code: the source; a macro that its headers use is the same for all variants.
        define: macros given on the command line.
        launched: macros and constants that the kernel's launches use.
        blocks: the subset of `launched` that gives block sizes.
        elsewhere: macros that other files with launches define themselves, with the file. These
            files do not change when a patch changes the source.
        local: constants of host functions that the kernel's launches use.
    """
    shared = frozenset(word for header in code.around for word in _WORD.findall(header.text))
    constants = {**_constants(code), **local}
    found = []
    for name in _used(code, functions, launched, constants):
        if name in constants and name not in code.macros:
            one = _numbered(name, "constant", constants[name], name in shared - local.keys())
        else:
            one = _tunable(code, name, define, name in shared)
        if one is not None:
            one = _of_block(one, name in local) if name in blocks else one
            if name in elsewhere:
                why = f"{elsewhere[name]} launches the kernel and defines it as well"
                one = replace(one, active=False, why=why)
            found.append(one)
    return tuple(found)


def _constants(code: CudaFile) -> dict[str, int]:
    """Return the integer constants that a source declares once and outside functions."""
    said = [one.name for one in constants_said(code.text) if one.const]
    outside = source_constants(code)
    values = {name: whole_number(text) for name, text in outside.items() if said.count(name) == 1}
    return {name: value for name, value in values.items() if value is not None}


def _used(
    code: CudaFile,
    functions: Sequence[Function],
    launched: frozenset[str],
    constants: Collection[str],
) -> Iterator[str]:
    """Yield the macros and constants that the functions, their conditions and launches use."""
    seen: dict[str, None] = {}
    spans = [(function.start, function.end) for function in functions]
    for start, end in spans:
        # The text includes conditions inside the function's region.
        for word in _WORD.findall(_COMMENT.sub(" ", code.text[start:end])):
            seen.setdefault(word)
            for inner in sorted(code.names.get(word, ())):
                seen.setdefault(inner)
    seen.update(dict.fromkeys(sorted(launched)))
    conditional = _conditional(code, spans)
    known = {*code.macros, *conditional, *constants}
    return (name for name in seen if name in known)


def _conditional(code: CudaFile, spans: Sequence[tuple[int, int]]) -> frozenset[str]:
    """Return the names that conditions within the functions test."""
    words: set[str] = set()
    for directive in code.presence.directives:
        if directive.word in ("if", "ifdef", "ifndef", "elif") and any(
            start <= directive.start < end for start, end in spans
        ):
            words.update(_WORD.findall(_COMMENT.sub(" ", directive.rest)))
    return frozenset(words - {"defined"})


def _tunable(code: CudaFile, name: str, define: Mapping[str, str], shared: bool) -> Tunable | None:
    macro = code.macros.get(name)
    if _COMPILERS.fullmatch(name) or (macro is not None and macro.parameters is not None):
        return None
    if macro is None:
        return None if _is_size(name) else _switch(code, name, define, shared)
    text = define.get(name, macro.body) if code.presence.is_guarded(macro) else macro.body
    if not text.strip():
        if _is_size(name) or _FIXED.fullmatch(name):
            return None
        return Tunable(name, "flag", (), 1, "the source itself defines it: give it with -D instead")
    value = whole_number(text)
    return None if value is None else _numbered(name, "macro", value, shared)


def _is_size(name: str) -> bool:
    """Tell whether a name suggests an amount of data and not a block size."""
    return is_count(name) and not _THREADS.fullmatch(name)


def _numbered(name: str, kind: str, value: int, shared: bool) -> Tunable | None:
    """Return the parameter for a macro or constant that is a number; None if it is fixed."""
    if _is_size(name) or _FIXED.fullmatch(name):
        return None
    values, why = _values(name, value)
    if shared:
        return Tunable(
            name, kind, values, value, "a header uses it too, and all variants share headers"
        )
    return Tunable(name, kind, values, value, why or _UNSURE, active=why is not None)


def _of_block(one: Tunable, local: bool) -> Tunable:
    """Activate a macro or constant that is the size of a launch's blocks."""
    if one.why != _UNSURE:
        return one
    more = _thread_counts(one.default) if local else set[int]()
    values = tuple(sorted({*one.values, *more}))
    return replace(one, values=values, active=True, why="size of a block")


def _thread_counts(value: int) -> set[int]:
    """Return block sizes near `value`; none if it is less than a warp."""
    counts = {v for v in (32, 64, 128, 256, 512, 1024) if value // 4 <= v <= value * 4}
    return counts if value >= 32 else set()


def within_blocks(found: Sequence[Tunable], blocks: Sequence[Sequence[str]]) -> tuple[Tunable, ...]:
    """Drop values that make a block larger than the hardware allows, with the others at defaults.

    Args:
        blocks: the dimensions of the blocks of each launch.
    """
    defaults = {one.name: one.default for one in found}
    for block in blocks:
        found = [_within(one, block, defaults) for one in found]
    return tuple(found)


def _within(one: Tunable, block: Sequence[str], defaults: Mapping[str, int]) -> Tunable:
    words = {word for text in block for word in _WORD.findall(text)}
    if one.name not in words or one.kind == "flag":
        return one

    def possible(value: int) -> bool:
        known = {**defaults, one.name: value}
        try:
            return math.prod(parse(text).evaluate(known) for text in block) <= MOST_THREADS
        except ExpressionError:
            return True

    values = [value for value in one.values if possible(value)]
    if not values or len(values) == len(one.values):
        return one
    return replace(one, values=tuple(values))


def _switch(code: CudaFile, name: str, define: Mapping[str, str], shared: bool) -> Tunable | None:
    """Return the parameter for a name that conditions test and that the source does not define."""
    tested = [d for d in code.presence.directives if name in _WORD.findall(d.rest)]
    number = define.get(name)
    flag = any(
        d.word in ("ifdef", "ifndef") or re.search(rf"defined\s*\(?\s*{name}\b", d.rest)
        for d in tested
    )
    value = 0 if number is None else whole_number(number)
    if value is None:
        return None
    safe = _SPEED.fullmatch(name) and not _NOT_SPEED.fullmatch(name) and not shared
    why = (
        "a header uses it too, and all variants share headers"
        if shared
        else ("switches code" if safe else _UNSURE)
    )
    if flag:
        return Tunable(name, "flag", (), min(value, 1), why, active=bool(safe))
    values = tuple(sorted({0, 1, value}))
    return Tunable(name, "macro", values, value, why)


def _values(name: str, value: int) -> tuple[tuple[int, ...], str | None]:
    """Return values worth trying around a default, and the meaning of the name; None if unclear."""
    power = value > 0 and value & (value - 1) == 0
    if value in (0, 1):
        speed = _SPEED.fullmatch(name) and not _NOT_SPEED.fullmatch(name)
        return (0, 1), "switches code" if speed else None
    if _THREADS.fullmatch(name) and value >= 32:
        return tuple(sorted({*_thread_counts(value), value})), "threads per block"
    near = {value // 2, value, value * 2} if power else {value - 1, value, value + 1}
    values = tuple(sorted(v for v in near if v > 0))
    if _TILE.fullmatch(name):
        # A square tile of 32 already has a block of 1024 threads, the maximum.
        return tuple(v for v in values if v <= max(32, value)), "size of a tile"
    speed = _SPEED.fullmatch(name) and not _NOT_SPEED.fullmatch(name)
    return values, "how the work is divided" if speed else None
