"""Members of structs in memory that say how much data there is.

A kernel may get its sizes by a pointer to a struct, or in a constant. Of random numbers there none
would fit the buffers and the launch: most threads would have nothing to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gi_cuda.grammar.frontends.cuda.element_types import Member
from gi_cuda.init.kernel.count_names import is_count_name
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer

_BYTES = ("int8", "uint8")
"""Types of numbers that hardly count data."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HOW_MANY = frozenset({"n", "num", "number", "nr", "no", "count", "total", "of", "size", "len"})
"""Words of a name that only say that it is a number of something."""


def with_member_counts(
    buffers: Sequence[ProposedBuffer], extents: Sequence[Extent], texts: Sequence[str]
) -> tuple[ProposedBuffer, ...]:
    """The buffers; in those that hold one struct, members that count are sizes of the case.

    A member is the size that has its name, but for words such as ``num``. If there is but one size,
    it is also what the kernel compares with.

    Args:
        texts: of all functions that evolve.
    """
    sizes = [one.name for one in extents if not one.blocks]
    text = "\n".join(texts)
    return tuple(
        replace(one, known=tuple(_known(one, sizes, text))) if _is_one(one, text) else one
        for one in buffers
    )


def _is_one(buffer: ProposedBuffer, text: str) -> bool:
    """Whether a buffer holds a single struct of numbers."""
    if not buffer.element.fields or buffer.elements not in (None, "1"):
        return False
    plain = re.escape(buffer.symbol.rpartition("::")[2] if buffer.symbol else buffer.name)
    items = re.search(rf"\b{plain}\s*(?:\[\s*(?!0\s*\])|\+)", text)
    return items is None


def _known(buffer: ProposedBuffer, sizes: Sequence[str], text: str) -> Iterator[tuple[str, str]]:
    for member in buffer.element.fields:
        if "int" not in member.type or member.type in _BYTES or member.length > 1:
            continue
        same = [size for size in sizes if _words(size) == _words(member.name)]
        compared = is_count_name(member.name, compared=True) and _is_compared(member, text)
        if same or (compared and len(sizes) == 1):
            yield member.name, (same or sizes)[0]


def _words(name: str) -> frozenset[str]:
    """What a name counts: its words but for those that only say that it counts."""
    words = frozenset(word.lower() for word in _PARTS.findall(name))
    return words - _HOW_MANY or words


def _is_compared(member: Member, text: str) -> bool:
    """Whether a member, or a variable that is set to it, is a bound of something."""
    own = rf"(?:->|\.)\s*{re.escape(member.name)}\b"
    held = re.findall(rf"\b(\w+)\s*=\s*[^;=<>,]*{own}\s*[;,]", text)
    bounds = [rf"[\w()*\[\]]+\s*{own}", *(rf"\b{re.escape(name)}\b" for name in held)]
    return any(
        re.search(rf"(?<![<>-])[<>]=?\s*{one}|{one}\s*(?:<(?!<)|>(?!>))", text) for one in bounds
    )
