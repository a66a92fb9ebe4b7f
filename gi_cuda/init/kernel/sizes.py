"""Choose sizes of the data for each case, and do arithmetic on size expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from gi_cuda.grammar.frontends.cuda.declarations.constants import constant, named
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile
from gi_cuda.init.kernel.tuning import is_count
from gi_cuda.spec.expression import ExpressionError, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
_FOR = re.compile(r"\bfor\s*\(([^;]*);([^;]*);([^{;]*)")
_MOST = 1 << 24
_LARGE = 64
"""Smallest value in host code that counts as an amount of much data."""

_TRAIN = {1: (10007,), 2: (121, 90), 3: (28, 25, 21), 4: (12, 11, 10, 9)}
_HELD_OUT = {1: (7777,), 2: (75, 102), 3: (22, 31, 19), 4: (10, 9, 13, 8)}
_QUADRATIC = ((601,), (449,), (4096,))
_WHOLE_QUADRATIC = ((512,), (384,), (4096,))
_WHOLE = {1: (8192,), 2: (128, 64), 3: (32, 16, 64), 4: (16, 16, 8, 8)}
_WHOLE_HELD_OUT = {1: (4096,), 2: (64, 192), 3: (64, 32, 16), 4: (8, 8, 16, 16)}
_DEVICE = {1: (1 << 20,), 2: (1024, 1024), 3: (128, 128, 128), 4: (32, 32, 32, 32)}


@dataclass(frozen=True, slots=True)
class Extent:
    """A scalar that says how much data there is, or how many blocks, and its value in each case.

    Attributes:
        passed: True if the kernel takes it as an argument.
        train: value in the train case on the host.
        held_out: value in the held-out case on the host.
        device: value in the train case on a GPU.
        note: remark on the values on the host.
        device_note: remark on the value on a GPU.
        blocks: True for a number of blocks, which is smaller on the host.
        most: upper bound, if no buffer grows with it; 0 for none.
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
    """Choose the scalars that say how much data there is; without any, one scalar of our own.

    Args:
        names: scalars of the kernel that count data.
        taken: names that our own scalar cannot have.
        constants: constants of the source that count data; without scalars, they give the size.
        checked: the kernel compares with all scalars, so that odd sizes are possible.
        looped: each thread loops over all the data.
        least: smallest value of our own scalar; None if none is needed.
        host: values that the host code passes.
    """
    if not names:
        if least is None:
            return ()
        name = next(n for n in ("n", "elements", "n_elements", "gi_elements") if n not in taken)
        # If constants of the source fix the amount of data, all cases have the same size.
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
    """Return the scalars that are small in host code while another is large; they keep their
    values.
    """
    known = {name: value for name in names if isinstance(value := host.get(name), int)}
    if not any(map(_whole, known.values())):
        return {}
    return {name: value for name, value in known.items() if is_few(host, name)}


def is_few(host: Mapping[str, int | float], name: str) -> bool:
    """Tell whether the value in host code is too small for a large amount of data."""
    value = host.get(name)
    return isinstance(value, int) and 0 < value < _LARGE


def _whole(value: int | float | None) -> int | None:
    return value if isinstance(value, int) and value >= _LARGE else None


def is_looped(body: str, name: str) -> bool:
    """Tell whether each thread, or each block, loops over all of a number of items.

    This is a loop that ends at the number and has a step of one, or any step and a fixed beginning.
    (Loops that threads share begin at each thread's own index.)
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
    """Increase sizes until each case has at least one block and one item of everything; return the
    sizes unchanged if no larger ones have.

    Args:
        numbers: expressions for blocks along each dimension and for items of each buffer.
        others: values of all further names; expressions with other names are ignored.
    """
    first = sizes
    while sizes and _least(numbers, sizes, others) < 1:
        if any(extent.device >= _MOST for extent in sizes):
            return first
        # First try to increase a single size: one may have to be larger than another.
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
    """Return the smallest of some numbers in any case; unknown ones are ignored."""
    found = []
    for text in numbers:
        with suppress(ExpressionError):
            found += list(_blocks([text], sizes, others))
    return min(found, default=1)


_ELEMENTS = 1 << 17
"""Largest number of elements of a buffer in a case for the host."""

_DEVICE_ELEMENTS = 1 << 26
"""Largest number of elements of a buffer in a case for a GPU."""

_AT_A_TIME = 1 << 14
"""Largest number of threads that wait for each other: 8 multiprocessors can hold them."""


def small_enough(
    sizes: tuple[Extent, ...], buffers: Sequence[str], others: Mapping[str, int]
) -> tuple[Extent, ...]:
    """Decrease sizes until no buffer is too large, as one with n * n elements may be.

    Args:
        buffers: elements of buffers, as expressions of sizes and others.
        others: values of further names; expressions with other names are ignored.
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
    """Decrease sizes until no GPU case has more threads than a small GPU can run at a time.

    Args:
        geometry: the dimensions of grid and block, as expressions of sizes and others.
        others: values of further names; expressions with other names are ignored.
    """

    def threads(case: Mapping[str, int]) -> int:
        return math.prod(_values(geometry, {**others, **case}))

    if not sizes:
        return sizes
    device = _shrunk({e.name: e.device for e in sizes}, threads, _AT_A_TIME)
    return tuple(replace(e, device=device[e.name]) for e in sizes)


def _values(texts: Sequence[str], known: Mapping[str, int]) -> Iterator[int]:
    """Yield the values of the expressions that can be evaluated."""
    for text in texts:
        with suppress(ExpressionError):
            yield parse(text).evaluate(known)


def _shrunk(
    case: Mapping[str, int], measure: Callable[[Mapping[str, int]], int], most: int
) -> Mapping[str, int]:
    """Return a case with its sizes halved until its measure is at most `most`."""
    while measure(case) > most and min(case.values()) > 1:
        case = {name: max(1, value // 2) for name, value in case.items()}
    return case


def _blocks(
    grid: Sequence[str], sizes: Sequence[Extent], others: Mapping[str, int]
) -> Iterator[int]:
    """Yield the number of blocks in each case along each dimension."""
    for text in grid:
        expression = parse(text)
        for case in (
            {e.name: e.train for e in sizes},
            {e.name: e.held_out for e in sizes},
            {e.name: e.device // 2 for e in sizes},
        ):
            yield expression.evaluate({**others, **case})


def rounds_down(grid: str, name: str, others: Mapping[str, int]) -> bool:
    """Tell whether a grid leaves out the items that do not fill a block.

    Args:
        name: the number of items.
        others: values of all further names that the grid uses.
    """
    if name not in _WORD.findall(grid):
        return False
    try:
        whole, more = (parse(grid).evaluate({**others, name: _WHOLE[1][0] + i}) for i in (0, 1))
    except ExpressionError:
        return False
    return whole == more


def divided_up(a: str, b: str) -> str:
    """Return the expression for `a` divided by `b`, rounded up."""
    a, b = bracketed(a), bracketed(b)
    return f"({a} + {b} - 1) / {b}"


def bare(text: str) -> str:
    """Return an expression without brackets around the whole of it."""
    while text.startswith("(") and bracketed(text) == text:
        text = text[1:-1].strip()
    return text


def bracketed(text: str) -> str:
    """Return an expression in brackets, unless any operator can take it without them."""
    if re.fullmatch(r"\w+", text):
        return text
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text if at == len(text) - 1 else f"({text})"
    return f"({text})"


def elements(bytes_: str, size: int) -> str | None:
    """Convert an expression of bytes to elements: ``n * 4`` bytes are ``n`` floats.

    None if the division is not exact, or if Python would evaluate the expression differently from
    C.
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
    """Return the factors of a product; a sum or quotient is one factor."""
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
    """Return constants that count data and that some texts use.

    A single constant that is used as a factor is squared: the data has two dimensions of that size.
    """
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
    """Return the operand of a ``sizeof``, and whether its pointee is meant.

    ``sizeof(float)`` and ``sizeof a`` give False; ``sizeof(*a)`` and ``sizeof(a[0])`` give True.
    """
    inner = text.partition("sizeof")[2].strip()
    while inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].strip()
    pointed = re.fullmatch(r"\*\s*(\w+)|(\w+)\s*\[\s*\w+\s*\]", inner)
    return (pointed[1] or pointed[2], True) if pointed else (inner, False)
