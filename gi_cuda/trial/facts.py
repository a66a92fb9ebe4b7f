"""Evaluate a proposal's expressions in a case: launch configuration, sizes of buffers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.init import Proposal
from gi_cuda.init.host.in_python import is_plain
from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.init.proposing.cases import HELD_OUT, LARGE, LARGE_HELD_OUT, TRAIN, cases, every_case
from gi_cuda.init.proposing.geometry import Launching
from gi_cuda.spec.expression import ExpressionError, parse

CASES = (TRAIN, HELD_OUT)
"""Names of the first train and held-out cases on the host."""

LARGE_CASES = (LARGE, LARGE_HELD_OUT)
"""Names of the first train and held-out cases on a GPU."""

JUDGED = ("output", "inout")
"""Roles of buffers that the oracle compares."""

MOST_BYTES = 1 << 30
"""Largest size of all buffers together in a case on the host."""

_HANDY = 1 << 26
"""Bytes that buffers may grow to."""

_BLOCK = (1024, 1024, 64)
_GRID = (2**31 - 1, 65535, 65535)
_THREADS = 1024
_SHARED = 227 << 10
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Plan:
    """Launch configuration and buffer sizes in a case.

    Attributes:
        items: number of items of each buffer, by name.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    items: Mapping[str, int]


def names(proposal: Proposal, case: str) -> dict[str, int]:
    """Return the values of all names that expressions of a proposal may use.

    Raises:
        ExpressionError: a computed scalar has no value.
    """
    known = {one.name: one.default for one in proposal.parameters if one.active}
    known |= _sizes(proposal, case)
    # Computed scalars come after the scalars that they are computed from.
    for scalar in sorted(proposal.scalars, key=lambda one: one.computed is not None):
        if scalar.computed is not None:
            known[scalar.name] = parse(scalar.computed).evaluate(known)
        elif scalar.name not in known and isinstance(scalar.value, int):
            known[scalar.name] = scalar.value
    return known


def _sizes(proposal: Proposal, case: str) -> dict[str, int]:
    every = every_case(proposal.extents, proposal.second)
    sizes = next(one.sizes for one in every if one.name == case)
    return {one.name: value for one, value in zip(proposal.extents, sizes, strict=True)}


def on_host(proposal: Proposal) -> tuple[str, ...]:
    """Return the names of all cases on the host."""
    every = cases(proposal.extents, proposal.second)
    return tuple(one.name for one in every if not one.device)


def on_device(proposal: Proposal) -> tuple[str, ...]:
    """Return the names of all cases on a GPU."""
    every = cases(proposal.extents, proposal.second)
    return tuple(one.name for one in every if one.device)


def plan(proposal: Proposal, case: str) -> Plan:
    """Evaluate a case with the first launch.

    Raises:
        ExpressionError: an expression has no value.
    """
    return _plan(proposal, case, proposal.launching)


def _plan(proposal: Proposal, case: str, launching: Launching) -> Plan:
    known = names(proposal, case)
    return Plan(
        tuple(parse(text).evaluate(known) for text in launching.grid),
        tuple(parse(text).evaluate(known) for text in launching.block),
        parse(launching.shared).evaluate(known),
        {b.name: parse(b.items(proposal.counts)).evaluate(known) for b in proposal.buffers},
    )


def impossible(proposal: Proposal, chosen: Sequence[str] = ()) -> str:
    """Return the reason why a proposal cannot be launched, for users; "" if it can.

    Args:
        chosen: names of cases; by default all cases on the host.
    """
    for case in chosen or on_host(proposal):
        for step in proposal.steps:
            try:
                found = _plan(proposal, case, step.launching)
            except ExpressionError as error:
                return error.what
            if what := _impossible(proposal, found):
                return f"{what} on the case {case}"
    return ""


def _impossible(proposal: Proposal, found: Plan) -> str:
    if not _within(found.grid, _GRID):
        return f"a grid of {' x '.join(map(str, found.grid))}"
    if not _within(found.block, _BLOCK) or math.prod(found.block) > _THREADS:
        return f"a block of {' x '.join(map(str, found.block))}"
    if not 0 <= found.shared <= _SHARED:
        return f"{found.shared} bytes of shared memory"
    for name, many in found.items.items():
        if many < 1:
            return f"{many} elements of {name}"
    if bytes_of(proposal, found) > MOST_BYTES:
        return "too much memory"
    return ""


def bytes_of(proposal: Proposal, found: Plan) -> int:
    """Return the bytes of all buffers."""
    return sum(found.items[buffer.name] * buffer.element.bytes for buffer in proposal.buffers)


def is_handy(proposal: Proposal) -> bool:
    """Tell whether a proposal can be launched, with buffers small enough to be made quickly."""
    if impossible(proposal):
        return False
    return all(bytes_of(proposal, plan(proposal, one)) <= _HANDY for one in on_host(proposal))


def _within(values: tuple[int, ...], limits: tuple[int, ...]) -> bool:
    return all(1 <= value <= limit for value, limit in zip(values, limits, strict=False))


def threads(proposal: Proposal) -> str | None:
    """Return the number of threads of a launch as an expression of sizes; None if there is none."""
    launching = proposal.launching
    given = {extent.name for extent in proposal.extents}
    known = names(proposal, TRAIN)
    computed = {s.name: s.computed for s in proposal.scalars if s.computed is not None}

    def said(match: re.Match[str]) -> str:
        name = match[0]
        if name in given:
            return name
        return f"({computed[name]})" if name in computed else str(known[name])

    factors = []
    for text in (*launching.grid, *launching.block):
        for _ in range(2):  # expressions of scalars may contain parameters
            text = _WORD.sub(said, text)
        factors.append(text)
    shown = " * ".join(bracketed(one) for one in factors if one != "1") or "1"
    return shown if set(_WORD.findall(shown)) <= given and is_plain(shown) else None
