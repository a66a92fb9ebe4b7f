"""Numbers that a kernel gets by a pointer and that say how much data there is.

``const int *count``, of which only ``*count`` is read: of a random number there, threads would have
nothing to do, or rows that overlap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gi_cuda.init.kernel.count_names import is_count_name
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.source.sources import Chosen

_PREFIX = re.compile(r"^(?:d|dev|device|gpu|g|p|ptr)_(?=\w)")
"""What says where a number is, and not what it is."""
_LONG = 4
"""Bytes of a number that counts data, at least."""


def with_pointed_counts(
    source: Chosen, buffers: Sequence[ProposedBuffer], extents: Sequence[Extent]
) -> tuple[ProposedBuffer, ...]:
    """The buffers; the only one that holds a lone number which counts has how much data there is,
    where one size says that."""
    sizes = [one.name for one in extents if not one.blocks]
    counting = [one for one in buffers if _counts(source, one)]
    if len(sizes) != 1 or len(counting) != 1:
        return tuple(buffers)
    (count,), (size,) = counting, sizes
    notes = replace(count.notes, data="how much data there is")
    lone = replace(count, elements="1", known=(("", size),), notes=notes)
    return tuple(lone if one is count else one for one in buffers)


def _counts(source: Chosen, buffer: ProposedBuffer) -> bool:
    """Whether a kernel reads but one number of a buffer, whose name says that it counts."""
    given = buffer.role == "input" and not (buffer.symbol or buffer.known or buffer.image)
    if not given or not buffer.is_whole or buffer.element.bytes < _LONG:
        return False
    body, name = source.body.partition("{")[2], re.escape(buffer.name)
    said = len(re.findall(rf"\b{name}\b", body))
    alone = len(re.findall(rf"\*\s*{name}\b(?!\s*[\[(])|\b{name}\s*\[\s*0\s*\]", body))
    return said == alone > 0 and is_count_name(_PREFIX.sub("", buffer.name), compared=False)
