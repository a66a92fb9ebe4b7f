"""Variables in constant memory that say how much data there is.

Of random numbers there none would fit the buffers and the launch: most threads would have nothing
to do. So they are sizes of a case, by which host code that sets them may allocate and launch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gi_cuda.init.kernel.access import is_compared
from gi_cuda.init.kernel.count_names import is_count_name
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.source.sources import Chosen

_PREFIX = re.compile(r"(?:d|c|dev|gpu|const|k|g|s)_(?=\w)")
"""What says where a variable is, and not what it is."""


def counting_symbols(source: Chosen, symbols: Sequence[ProposedBuffer]) -> dict[str, str]:
    """Those that hold one number that says how much data there is, and the buffers' names."""
    found = [one for one in symbols if _is_one_number(one) and _counts(source, one)]
    return {_plain(one): one.name for one in found}


def _is_one_number(buffer: ProposedBuffer) -> bool:
    return buffer.role == "input" and buffer.elements == "1" and buffer.is_whole


def _counts(source: Chosen, buffer: ProposedBuffer) -> bool:
    code, name = source.code, _plain(buffer)
    evolving = {function.name for function in source.functions}
    own = [one for one in code.definitions if one.name in evolving]
    compared = any(is_compared(code, one, name) for one in own)
    return is_count_name(_PREFIX.sub("", name, count=1), compared=compared)


def as_sizes(
    symbols: Sequence[ProposedBuffer], counting: Mapping[str, str], extents: Sequence[Extent]
) -> tuple[ProposedBuffer, ...]:
    """The variables; those that are sizes hold them, and have other names than these. Where host
    code has but one number that says how much data there is, they hold that.

    Args:
        counting: the variables that say how much data there is.
    """
    sizes = [one.name for one in extents if not one.blocks]
    taken = {*sizes, *(one.name for one in symbols)}
    found = []
    for one in symbols:
        if one.name in sizes:
            one = replace(one, name=_free(one.name, taken), holds=one.name)
        elif len(counting) == len(sizes) == 1 and _plain(one) in counting:
            one = replace(one, holds=sizes[0])
        found.append(one)
    return tuple(found)


def _plain(buffer: ProposedBuffer) -> str:
    return (buffer.symbol or "").rpartition("::")[2]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
