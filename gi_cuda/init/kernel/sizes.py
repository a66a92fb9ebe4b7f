"""How much data there is: scalars and constants that count, and sizes for the cases."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from gi_cuda.grammar.frontends.cuda.constants import constant, named
from gi_cuda.grammar.frontends.cuda.file import CudaFile
from gi_cuda.init.kernel.tuning import is_count
from gi_cuda.spec.expression import ExpressionError, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
_FOR = re.compile(r"\bfor\s*\(([^;]*);([^;]*);([^{;]*)")
_MOST = 1 << 24
_LARGE = 64
"""From here on a number of the host code is one of much data."""

_TRAIN = {1: (10007,), 2: (121, 90), 3: (28, 25, 21), 4: (12, 11, 10, 9)}
_HELD_OUT = {1: (7777,), 2: (75, 102), 3: (22, 31, 19), 4: (10, 9, 13, 8)}
_QUADRATIC = ((601,), (449,), (4096,))
_WHOLE_QUADRATIC = ((512,), (384,), (4096,))
_WHOLE = {1: (8192,), 2: (128, 64), 3: (32, 16, 64), 4: (16, 16, 8, 8)}
_WHOLE_HELD_OUT = {1: (4096,), 2: (64, 192), 3: (64, 32, 16), 4: (8, 8, 16, 16)}
_DEVICE = {1: (1 << 20,), 2: (1024, 1024), 3: (128, 128, 128), 4: (32, 32, 32, 32)}


@dataclass(frozen=True, slots=True)
class Extent:
    """A number that says how much data there is, or how many blocks, and what it is in each case.

    Attributes:
        passed: whether the kernel gets it.
        device: what it is in the train case on a GPU.
        note: what was found out about those on the host.
        device_note: the same of those on a GPU.
        blocks: whether it is a number of blocks, which are fewer on the host.
        most: that it may be, where no buffer grows with it; 0: anything.
    """

    name: str
    passed: bool
    train: int
    held_out: int
    device: int
    note: str = ""
    device_note: str = ""
    blocks: bool = False
    most: int = 0


def extents(
    names: Sequence[str],
    *,
    taken: frozenset[str],
    constants: Mapping[str, int],
    checked: bool,
    looped: bool,
    least: int | None,
    host: Mapping[str, int | float],
) -> tuple[Extent, ...]:
    """What says how much data there is: scalars that count, or else one number of our own.

    Args:
        names: scalars that count.
        taken: names that cannot be used for a number of our own.
        constants: constants of the source that count, of which the data is made where no scalar
            does.
        checked: whether the kernel compares with all of them, so that they may be odd.
        looped: whether each thread goes through all the data.
        least: how large a number of our own must be; None where none is needed.
        host: what the host code passes.
    """
    if not names:
        if least is None:
            return ()
        name = next(n for n in ("n", "elements", "n_elements", "gi_elements") if n not in taken)
        # Where the source says how much there is, it is the same in all cases.
        said = math.prod(constants.values()) if constants else 0
        if size := said if least / 2 <= said <= _MOST else least:
            return (Extent(name, False, size, size, size),)
        return (Extent(name, False, _WHOLE[1][0], _WHOLE_HELD_OUT[1][0], _DEVICE[1][0]),)
    small = _small(names, host)
    number = max(1, min(len(names) - len(small), 4))
    tables = (_TRAIN, _HELD_OUT) if checked else (_WHOLE, _WHOLE_HELD_OUT)
    chosen = (*(table[number] for table in tables), _DEVICE[number])
    if looped and number == 1:
        chosen = _QUADRATIC if checked else _WHOLE_QUADRATIC
    train, held, device = ([*values, *[4] * len(names)] for values in chosen)
    large = [name for name in names if name not in small]
    found = {
        name: Extent(name, True, train[i], held[i], _whole(host.get(name)) or device[i])
        for i, name in enumerate(large)
    }
    found |= {name: Extent(name, True, value, value, value) for name, value in small.items()}
    return tuple(found[name] for name in names)


def _small(names: Sequence[str], host: Mapping[str, int | float]) -> dict[str, int]:
    """Numbers that host code has small where it has others large: they stay what they are."""
    known = {name: value for name in names if isinstance(value := host.get(name), int)}
    if not any(map(_whole, known.values())):
        return {}
    return {name: value for name, value in known.items() if is_few(host, name)}


def is_few(host: Mapping[str, int | float], name: str) -> bool:
    """Whether host code has a number so small that it is hardly one of much data."""
    value = host.get(name)
    return isinstance(value, int) and 0 < value < _LARGE


def _whole(value: int | float | None) -> int | None:
    return value if isinstance(value, int) and value >= _LARGE else None


def is_looped(body: str, name: str) -> bool:
    """Whether each thread, or each block, goes through all of a number of items.

    That is a loop that ends at the number with steps of one, or with any from a fixed beginning:
    threads that share a loop begin at their own index.
    """
    return any(
        re.search(rf"\b{name}\b", loop[2])
        and (
            re.search(r"\+\+|\+=\s*1\b", loop[3])
            or (re.search(r"=\s*\d+[uUlL]*\s*$", loop[1]) and "+=" in loop[3])
        )
        for loop in _FOR.finditer(body)
    )


def large_enough(
    sizes: tuple[Extent, ...], numbers: Sequence[str], others: Mapping[str, int]
) -> tuple[Extent, ...]:
    """Return sizes of which each case has at least one of everything; the same sizes, if no larger
    ones do.

    Args:
        numbers: how many blocks there are along each dimension, and how many items in each buffer.
        others: all further names that they use; of one with others nothing is known.
    """
    first = sizes
    while sizes and _least(numbers, sizes, others) < 1:
        if any(extent.device >= _MOST for extent in sizes):
            return first
        # Perhaps one has to be larger than another.
        for index in range(len(sizes)):
            for times in (2, 4, 8, 16):
                larger = _times(sizes[index], times)
                tried = (*sizes[:index], larger, *sizes[index + 1 :])
                if _least(numbers, tried, others) >= 1:
                    return tried
        sizes = tuple(_times(extent, 2) for extent in sizes)
    return sizes


def _times(one: Extent, times: int) -> Extent:
    return replace(
        one, train=times * one.train, held_out=times * one.held_out, device=times * one.device
    )


def _least(numbers: Sequence[str], sizes: Sequence[Extent], others: Mapping[str, int]) -> int:
    """The least of some numbers in any case, as far as they can be told."""
    found = []
    for text in numbers:
        with suppress(ExpressionError):
            found += list(_blocks([text], sizes, others))
    return min(found, default=1)


_ELEMENTS = 1 << 17
"""Of a buffer, at most, in a case for the host."""

_DEVICE_ELEMENTS = 1 << 26
"""Of a buffer, at most, in a case for a GPU."""

_AT_A_TIME = 1 << 14
"""Threads that wait for each other, at most: 8 multiprocessors have room for so many."""


def small_enough(
    sizes: tuple[Extent, ...], buffers: Sequence[str], others: Mapping[str, int]
) -> tuple[Extent, ...]:
    """Sizes of which no case has a buffer that is out of proportion, as one with the square of a
    number would have.

    Args:
        buffers: the elements of buffers, as expressions of sizes and others.
        others: further names that they use; of a buffer with others nothing is known.
    """

    names = {extent.name for extent in sizes}
    sized = [text for text in buffers if names.intersection(_WORD.findall(text))]

    def largest(case: Mapping[str, int]) -> int:
        return max(_values(sized, {**others, **case}), default=0)

    if not sizes:
        return sizes
    train = _shrunk({e.name: e.train for e in sizes}, largest, _ELEMENTS)
    held_out = _shrunk({e.name: e.held_out for e in sizes}, largest, _ELEMENTS)
    if train == held_out and any(e.train != e.held_out for e in sizes):
        held_out = {name: max(1, value // 2) for name, value in held_out.items()}
    device = _shrunk({e.name: e.device for e in sizes}, largest, _DEVICE_ELEMENTS)
    return tuple(
        replace(e, train=train[e.name], held_out=held_out[e.name], device=device[e.name])
        for e in sizes
    )


def at_a_time(
    sizes: tuple[Extent, ...], geometry: Sequence[str], others: Mapping[str, int]
) -> tuple[Extent, ...]:
    """Sizes of which no case on a GPU has more threads than a small one can run at a time.

    Args:
        geometry: the dimensions of grid and block, as expressions of sizes and others.
    """

    def threads(case: Mapping[str, int]) -> int:
        return math.prod(_values(geometry, {**others, **case}))

    if not sizes:
        return sizes
    device = _shrunk({e.name: e.device for e in sizes}, threads, _AT_A_TIME)
    return tuple(replace(e, device=device[e.name]) for e in sizes)


def _values(texts: Sequence[str], known: Mapping[str, int]) -> Iterator[int]:
    """Those of expressions that can be told."""
    for text in texts:
        with suppress(ExpressionError):
            yield parse(text).evaluate(known)


def _shrunk(
    case: Mapping[str, int], measure: Callable[[Mapping[str, int]], int], most: int
) -> Mapping[str, int]:
    """A case halved until what is measured of it is no more than the most."""
    while measure(case) > most and min(case.values()) > 1:
        case = {name: max(1, value // 2) for name, value in case.items()}
    return case


def _blocks(
    grid: Sequence[str], sizes: Sequence[Extent], others: Mapping[str, int]
) -> Iterator[int]:
    """How many blocks there are in each case along each dimension."""
    for text in grid:
        expression = parse(text)
        for case in (
            {e.name: e.train for e in sizes},
            {e.name: e.held_out for e in sizes},
            {e.name: e.device // 2 for e in sizes},
        ):
            yield expression.evaluate({**others, **case})


def rounds_down(grid: str, name: str, others: Mapping[str, int]) -> bool:
    """Whether a grid leaves out items of which there are too few for one more block.

    Args:
        name: how many items there are.
        others: all further names that the grid uses.
    """
    if name not in _WORD.findall(grid):
        return False
    try:
        whole, more = (parse(grid).evaluate({**others, name: _WHOLE[1][0] + i}) for i in (0, 1))
    except ExpressionError:
        return False
    return whole == more


def divided_up(a: str, b: str) -> str:
    """How many groups of `b` hold `a` items, the last one perhaps not full."""
    a, b = bracketed(a), bracketed(b)
    return f"({a} + {b} - 1) / {b}"


def bare(text: str) -> str:
    """An expression without brackets around the whole of it."""
    while text.startswith("(") and bracketed(text) == text:
        text = text[1:-1].strip()
    return text


def bracketed(text: str) -> str:
    """An expression that can be an operand of any operator."""
    if re.fullmatch(r"\w+", text):
        return text
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text if at == len(text) - 1 else f"({text})"
    return f"({text})"


def elements(bytes_: str, size: int) -> str | None:
    """A number of elements from one of bytes: ``n * 4`` bytes are ``n`` floats.

    None where that does not come out even, or where Python would calculate otherwise than C.
    """
    with suppress(ExpressionError):
        bytes_ = str(parse(bytes_).evaluate({}))
    if not re.fullmatch(r"[\w\s()+\-*/]+", bytes_):
        return None
    if bytes_.isdigit():
        return None if int(bytes_) % size or bytes_ == "0" else str(int(bytes_) // size)
    factors = _factors(bare(bytes_))
    if size > 1:
        if str(size) not in factors:
            return None
        factors.remove(str(size))
    text = " * ".join(factors) or "1"
    try:
        parse(text)
        return str(parse(text).evaluate({}))
    except ExpressionError:
        return text


def _factors(text: str) -> list[str]:
    """The factors of a product; a sum or quotient is one factor."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character in "+-/%":
            return [text]
        if depth == 0 and character == "*":
            parts.append(text[start:at].strip())
            start = at + 1
    flat: list[str] = []
    for factor in (*parts, text[start:].strip()):
        inner = (
            _factors(bare(factor)) if factor.startswith("(") and bracketed(factor) == factor else []
        )
        flat += inner if len(inner) > 1 or (inner and inner[0].isalnum()) else [factor]
    return flat


def constants(code: CudaFile, texts: Sequence[str]) -> dict[str, int]:
    """Constants that count and that some texts use; one used as a factor counts twice."""
    found: dict[str, int] = {}
    text = "\n".join(texts)
    used = set(_WORD.findall(text))
    for name in named(code):
        value = constant(code, name) if name in used and is_count(name) else None
        if value is not None and value > 1:
            found[name] = value
    if len(found) == 1:
        ((name, value),) = found.items()
        if re.search(rf"\*\s*{name}\b|\b{name}\s*\*", text):
            return {name: value * value}
    return found


def operand_of_sizeof(text: str) -> tuple[str, bool]:
    """Return the type or variable of ``sizeof(float)`` or ``sizeof a``, and whether it is meant or
    what it points to, as in ``sizeof(*a)`` and ``sizeof(a[0])``."""
    inner = text.partition("sizeof")[2].strip()
    while inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].strip()
    pointed = re.fullmatch(r"\*\s*(\w+)|(\w+)\s*\[\s*\w+\s*\]", inner)
    return (pointed[1] or pointed[2], True) if pointed else (inner, False)
