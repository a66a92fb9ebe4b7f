"""Determine a kernel's buffers, scalars and sizes, from its launches and from names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gi_cuda.init.host.in_python import is_plain
from gi_cuda.init.host.launching import LaunchSite
from gi_cuda.init.host.rounds import SECOND
from gi_cuda.init.kernel.access import is_compared
from gi_cuda.init.kernel.count_names import is_count_name, is_of_window
from gi_cuda.init.kernel.indexing import is_row_length
from gi_cuda.init.kernel.sizes import (
    Extent,
    elements,
    extents,
    is_few,
    is_looped,
    rounds_down,
    small_enough,
)
from gi_cuda.init.proposing.arguments import Arguments, with_members_set
from gi_cuda.init.proposing.buffers import Fill, ProposedBuffer
from gi_cuda.init.proposing.consistent import consistent, of_counts, of_structs
from gi_cuda.init.proposing.members import ProposedScalar, set_apart, written_members
from gi_cuda.init.proposing.texture_setup import shaped
from gi_cuda.init.source.sources import Chosen
from gi_cuda.spec.expression import ExpressionError, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
_WIDEST = 10**6
"""Largest difference of random numbers in host code that is taken over."""

_MANY = 1024
"""Number of threads from which on each thread probably has one item."""


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches of a kernel in the host code.

    Attributes:
        found: with the names of active parameters.
        named: with the names of all macros and constants.
    """

    found: Sequence[LaunchSite]
    named: Sequence[LaunchSite]

    @property
    def use(self) -> LaunchSite | None:
        """Return the launch that the target is made from; None if none was found."""
        return self.found[0] if self.found else None


@dataclass(frozen=True, slots=True)
class KernelData:
    """Buffers, scalars and sizes of a kernel.

    Attributes:
        launches: the launches, with the names of sizes in their expressions.
    """

    launches: Launches
    buffers: tuple[ProposedBuffer, ...]
    scalars: tuple[ProposedScalar, ...]
    extents: tuple[Extent, ...]


def data_of(
    source: Chosen,
    given: Arguments,
    symbols: Sequence[str],
    launches: Launches,
    defaults: Mapping[str, int],
) -> KernelData:
    """Return the kernel's buffers, scalars and sizes.

    Args:
        symbols: names of the variables that the kernel uses.
        launches: the launches, without names for members of structs.
        defaults: values of the active parameters.
    """
    active, members = frozenset(defaults), written_members(given.structs, given.scalars)

    def read(*, own: bool = False) -> Launches:
        kinds = (active, source.fixed)
        known = [source.launches(one, own=own, members=members) for one in kinds]
        return Launches(*known)

    if members:
        launches = read()
        given = replace(given, scalars=with_members_set(given.scalars, launches.use))
    saying = _counting(source, given.scalars, launches.use)
    scalars = set_apart(consistent(given.scalars, saying, source.body))
    counting = counted = _counting(source, scalars, launches.use)
    if not counting and launches.use is not None:
        # The kernel takes no size: use the host code's variables in launches and allocations.
        launches = read(own=True)
        own = words_of(launches.found[:1], [*launches.found[0].allocated.values()])
        counted = sorted(own - active - {*given.names, *source.fixed})
    use = launches.use
    within = of_structs(given.structs, given.buffers, scalars, saying)
    within = tuple(_as_drawn(buffer, use) for buffer in within)
    buffers = tuple(_sized(buffer, use, counted, defaults) for buffer in within)
    inner = [name for struct in given.structs for name, _ in struct.members]
    written = {s.name: s.written for s in scalars}
    taken = (*given.names, *inner, *symbols)
    sizes = _sizes(source, (counting, counted), written, taken, buffers, use, defaults)
    counts, passed = [extent.name for extent in sizes], {} if use is None else use.passed
    buffers = tuple(shaped(buffer, counts, passed) for buffer in buffers)
    return KernelData(launches, buffers, scalars, sizes)


def _sizes(
    source: Chosen,
    counts: tuple[Sequence[str], Sequence[str]],
    written: Mapping[str, str],
    taken: Sequence[str],
    buffers: Sequence[ProposedBuffer],
    use: LaunchSite | None,
    defaults: Mapping[str, int],
) -> tuple[Extent, ...]:
    """Return the scalars that say how much data there is, with their values in each case.

    Args:
        counts: scalars of the kernel that count data, and those or variables of the host code.
        written: the kernel's expression for each scalar.
        taken: names that are in use.
    """
    counting, counted = counts
    places = [written.get(name, name) for name in counting]
    kernel = source.kernel.definition
    sizes = extents(
        counted,
        taken=frozenset([*taken, *source.code.macros]),
        constants=source.constants(),
        checked=bool(counting)
        and all(is_compared(source.code, kernel, name) for name in places)
        and not _rounds_down(use, counting, defaults),
        looped=any(is_looped(source.body, name) for name in places),
        least=_threads(use, defaults) if any(b.elements is None for b in buffers) else None,
        host={} if use is None else use.values,
    )
    sizes = tuple(replace(one, passed=one.name in written) for one in sizes)
    if use is not None and all(buffer.elements for buffer in buffers):
        grown = words_of([], known_sizes(buffers)) - words_of([], use.block or ())
        sizes = tuple(one if one.name in grown else _within(one, use.values) for one in sizes)
    return small_enough(sizes, known_sizes(buffers), defaults)


def _within(extent: Extent, host: Mapping[str, int | float]) -> Extent:
    """Limit a scalar to its value in host code, if no buffer grows with it or a block has so many
    threads."""
    most = host.get(extent.name)
    if not isinstance(most, int) or most < 1:
        return extent
    if most <= max(extent.train, extent.held_out):
        return replace(extent, train=most, held_out=most, device=most, most=most)
    return replace(extent, device=min(extent.device, most), most=most)


def known_sizes(buffers: Sequence[ProposedBuffer]) -> list[str]:
    """Return the sizes of the buffers that have one."""
    return [buffer.elements for buffer in buffers if buffer.elements]


def words_of(found: Sequence[LaunchSite], further: Sequence[str] = ()) -> frozenset[str]:
    """Return the names in grids and blocks of launches, and in further expressions."""
    texts = [text for use in found for text in (*(use.grid or ()), *(use.block or ()))]
    return frozenset(word for text in (*texts, *further) for word in _WORD.findall(text))


def _rounds_down(
    use: LaunchSite | None, counting: Sequence[str], defaults: Mapping[str, int]
) -> bool:
    """Tell whether a launch leaves out the items after the last whole block."""
    grid = () if use is None else use.grid or ()
    others = {**dict.fromkeys(counting, 1), **defaults}
    return any(rounds_down(text, name, others) for text in grid for name in counting)


def _threads(use: LaunchSite | None, defaults: Mapping[str, int]) -> int:
    """Return the items for a launch of fixed size: one per thread, or four if there are few
    threads.

    0 for any other launch.
    """
    texts = () if use is None else (*(use.grid or ("x",)), *(use.block or ("x",)))
    try:
        threads = math.prod(parse(text).evaluate(defaults) for text in texts) if texts else 0
    except ExpressionError:
        return 0
    return threads if threads >= _MANY else 4 * threads


def _sized(
    buffer: ProposedBuffer,
    use: LaunchSite | None,
    counting: Sequence[str],
    defaults: Mapping[str, int],
) -> ProposedBuffer:
    """Return a buffer with the items that host code allocates, if known, parameters at defaults."""
    bytes_ = None if use is None else use.allocated.get(buffer.name)
    items = None if bytes_ is None else elements(bytes_, buffer.element.bytes)
    if use is not None and items is not None:
        known = {name: f"({text})" for name, text in use.computed.items()}
        known |= {name: str(value) for name, value in defaults.items()}
        items = _WORD.sub(lambda m: known.get(m[0], m[0]), items)
    if use is None or items is None or not is_plain(items):
        return buffer
    if not set(_WORD.findall(items)) <= set(counting):
        return buffer
    values = {name: use.values[name] for name in counting if name in use.values}
    return replace(buffer, elements=of_counts(items, values))


def _as_drawn(buffer: ProposedBuffer, use: LaunchSite | None) -> ProposedBuffer:
    """Return a buffer with the range of random numbers of the host code.

    A range that is a single value, too large, or the usual one is ignored.
    """
    drawn = None if use is None else use.drawn.get(buffer.name)
    if drawn is None or buffer.fill is not None or drawn.high - drawn.low > _WIDEST:
        return buffer
    if buffer.is_whole and drawn.whole and drawn.high > drawn.low:
        bounds = np.iinfo(buffer.element.type)
        fill = Fill(int(drawn.low), int(drawn.high) + 1)
        fits = bounds.min <= fill.low and fill.high - 1 <= bounds.max
    else:
        fill = Fill(math.floor(drawn.low), math.ceil(drawn.high))
        fits = buffer.element.floating and drawn.high > drawn.low and fill != Fill(0, 1)
    return buffer.with_data(fill, "between these in the host code") if fits else buffer


def _is_bound(source: Chosen, written: str, use: LaunchSite | None) -> bool:
    """Tell whether a kernel compares with a number.

    If host code does not tell sizes, a row length counts as well.
    """
    kernel = source.kernel.definition
    if is_compared(source.code, kernel, written):
        return True
    arrays = {one.name for one in source.kernel.arguments if one.pointers}
    said = use is not None and use.grid is not None and use.allocated
    return not said and is_row_length(source.code, kernel, written, arrays)


def _measured(text: str) -> frozenset[str]:
    """Return the names in an expression that may be amounts of data.

    Names that are subtracted or divided by are left out: these are windows or steps.
    """
    words = frozenset(_WORD.findall(text))
    return frozenset(one for one in words if not re.search(rf"[-/%]\s*\(*\s*{one}\b", text))


def _counting(
    source: Chosen,
    scalars: Sequence[ProposedScalar],
    use: LaunchSite | None,
) -> list[str]:
    """Return the scalars that say how much data there is: by host code, otherwise by names, too."""
    numbers = [s for s in scalars if s.computed is None and s.count == 1]
    numbers = [s for s in numbers if "int" in s.element.type and s.element.bytes > 1]
    whole = [s.name for s in numbers]
    told: set[str] = set()
    fixed: set[str] = set()
    if use is not None:
        said = set(words_of([], [*(use.grid or use.loose[0]), *use.allocated.values()]))
        said |= {name for text in use.computed.values() for name in _measured(text)}
        told = {s.name for s in numbers if s.name in said and not is_of_window(s.meaning)}
        if use.grid is not None and use.allocated:
            # A small number that no grid and no allocation depends on is not an amount of data.
            fixed = {s.name for s in numbers if s.name not in said and is_few(use.values, s.name)}
        fixed |= words_of([], [*use.computed.values()]) - said
        pointers = {argument.name for argument in source.kernel.arguments if argument.pointers}
        apart = not any(s.member for s in scalars)
        # A loop variable alone does not say how much data there is.
        saying = any(use.values.get(name) != SECOND for name in told)
        if saying and use.grid is not None and apart and pointers <= use.allocated.keys():
            # Grid and allocations are fully known; no other scalar can be a size.
            return [name for name in whole if name in told]
    return [
        s.name
        for s in numbers
        if s.name in told
        or (
            s.name not in fixed
            and is_count_name(s.meaning, compared=_is_bound(source, s.written, use))
        )
    ]
