"""Build proposals from values, and compare two proposals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element
from gi_cuda.init import Compilation, Proposal
from gi_cuda.init.kernel.access import Access
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.kernel.tuning import Tunable
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.proposing.cases import Second
from gi_cuda.init.proposing.geometry import Launching
from gi_cuda.init.proposing.members import ProposedScalar
from gi_cuda.init.source.headers import Headers
from gi_cuda.spec.expression import parse
from gi_cuda.trial.facts import impossible, names, on_host, plan
from gi_cuda.trial.mending.mends import mends
from gi_cuda.trial.search import Attempt
from gi_cuda.trial.troubles import Beside, Impossible, Trouble

Part = ProposedBuffer | ProposedScalar | Extent | Tunable

Changes = dict[str, object]
"""New values by path: ``{"a.elements": "n * 2", "n": (5003, 3888, 1048576)}``."""

_ACCESS = {"input": Access.READ, "output": Access.WRITE, "inout": Access.READ | Access.WRITE}

_PROSE = frozenset({"note", "notes", "device_note"})
"""Fields that explain a change to people."""


def proposal(
    *parts: Part,
    grid: Sequence[str] = ("(n + 128 - 1) / 128",),
    block: Sequence[str] = ("128",),
    shared: str = "0",
    **more: Any,
) -> Proposal:
    """Return a proposal for a kernel ``k``.

    Args:
        parts: its buffers, scalars, sizes and parameters, in any order.
        more: other attributes of :class:`Proposal`.
    """
    launching = Launching(tuple(grid), tuple(block), shared)
    given = {"second": Second.NONE, "launching": launching, **more}
    return Proposal(
        name="k",
        source=Path("k.cu"),
        evolving=(),
        kept=(),
        kernel="k",
        instances=(),
        functions=(),
        files={},
        headers=Headers(()),
        compilation=Compilation(),
        parameters=tuple(one for one in parts if isinstance(one, Tunable)),
        buffers=tuple(one for one in parts if isinstance(one, ProposedBuffer)),
        scalars=tuple(one for one in parts if isinstance(one, ProposedScalar)),
        structs=(),
        arguments=(),
        extents=tuple(one for one in parts if isinstance(one, Extent)),
        **given,
    )


def buffer(
    name: str,
    role: str = "input",
    kind: str | Element = "float32",
    elements: str | None = None,
    **more: Any,
) -> ProposedBuffer:
    """Return a buffer.

    Args:
        kind: the type of its elements.
        elements: number of its items; None: the product of all sizes of the proposal.
    """
    element = Element(kind) if isinstance(kind, str) else kind
    given = {"access": _ACCESS.get(role, Access.NONE), "shown": f"{element.type} *", **more}
    return ProposedBuffer(name, element, role, elements=elements, **given)


def scalar(
    name: str, value: float = 2, kind: str | Element = "int32", **more: Any
) -> ProposedScalar:
    """Return a scalar of unknown value, unless ``source=True`` is given."""
    element = Element(kind) if isinstance(kind, str) else kind
    return ProposedScalar(name, element, value, **{"source": False, **more})


def size(name: str, train: int, held_out: int, device: int, **more: Any) -> Extent:
    """Return a size of the data that the kernel takes as a parameter."""
    return Extent(name, **{"passed": True, **more}, train=train, held_out=held_out, device=device)


def macro(name: str, default: int, *values: int) -> Tunable:
    """Return an active parameter."""
    return Tunable(name, "macro", values or (default,), default, "", active=True)


N = size("n", 10007, 7777, 1 << 20)
"""The size that ``gi-cuda init`` proposes for a kernel with one checked count."""

A = buffer("a")
B = buffer("b", "output")
"""Buffers with one element for each combination of the sizes."""


def changes(before: Proposal, after: Proposal) -> Changes:
    """Return the differences of the second proposal, explanations left out.

    A size is shown with its values in the train case, in the held-out case and on a GPU.
    """
    found: Changes = {}
    for group in ("buffers", "scalars", "parameters"):
        olds = {one.name: one for one in getattr(before, group)}
        for new in getattr(after, group):
            found |= _fields(f"{new.name}.", olds[new.name], new)
    sizes = {one.name: one for one in before.extents}
    for one in after.extents:
        values = (one.train, one.held_out, one.device)
        old = sizes.pop(one.name, None)
        if old is None or values != (old.train, old.held_out, old.device):
            found[one.name] = values
    found |= dict.fromkeys(sizes)
    found |= _fields("", before.launching, after.launching)
    for name in ("left_out", "second"):
        if getattr(before, name) != getattr(after, name):
            found[name] = getattr(after, name)
    return found


def _fields(prefix: str, old: object, new: object) -> Changes:
    every = [one.name for one in fields(new) if one.name not in _PROSE]  # type: ignore[arg-type]
    pairs = {name: (getattr(old, name), getattr(new, name)) for name in every}
    return {prefix + name: now for name, (was, now) in pairs.items() if was != now}


@dataclass(frozen=True, slots=True)
class Row:
    """A proposal, its trouble, and the fixes that are tried.

    Attributes:
        mends: name and changes of each fix, the most promising first. ``...`` at the end: there are
            more.
    """

    before: Proposal
    trouble: Trouble
    mends: list[tuple[str, Changes] | Any]


def tried(row: Row) -> list[tuple[str, Changes] | Any]:
    """Return the fixes of a row: as many as it has, with ``...`` if it ends in that and there are
    more.

    ``assert tried(row) == row.mends``.
    """
    most = len(row.mends) - 1 if row.mends and row.mends[-1] is ... else None
    every = mends(row.before, row.trouble)
    found = [(one.said, changes(row.before, one.proposal)) for one in islice(every, most)]
    return [*found, ...] if most is not None and next(every, None) is not None else found


def beside(**beyond: int | Beyond) -> Beside:
    """Return accesses past the end of buffers in both cases, in bytes."""
    seen = {
        name: Beyond(0, one, one) if isinstance(one, int) else one for name, one in beyond.items()
    }
    return Beside({"train": seen, "held-out": seen})


class Simulated:
    """A simulated kernel that accesses as many elements of buffers as expressions say.

    >>> Simulated({"b": "n + 60"}).attempt(proposal(N, B), 0.1)  # doctest: +SKIP
    Beside({'train': {'b': Beyond(0, 240, 240)}, 'held-out': {'b': Beyond(0, 240, 240)}})

    Attributes:
        tried: the proposals that were attempted.
    """

    def __init__(self, needs: Mapping[str, str]) -> None:
        """Simulate a kernel.

        Args:
            needs: number of elements of a buffer that it accesses, as an expression of sizes,
                scalars,
                and ``threads`` and ``blocks`` of the launch.
        """
        self._needs = {name: parse(text) for name, text in needs.items()}
        self.tried: list[Proposal] = []

    def attempt(self, proposal: Proposal, patience: float) -> Trouble | None:
        """Return the first trouble of a proposal; None if there is none."""
        self.tried.append(proposal)
        if what := impossible(proposal):
            return Impossible(what)
        seen = {case: dict(self._beyond(proposal, case)) for case in on_host(proposal)}
        return Beside(seen) if any(seen.values()) else None

    def _beyond(self, proposal: Proposal, case: str) -> Iterator[tuple[str, Beyond]]:
        found = plan(proposal, case)
        blocks = threads = 1
        for count in found.grid:
            blocks *= count
        for count in found.block:
            threads *= count
        known = {**names(proposal, case), "blocks": blocks, "threads": blocks * threads}
        for one in proposal.buffers:
            if one.name in self._needs:
                more = self._needs[one.name].evaluate(known) - found.items[one.name]
                if more > 0:
                    past = more * one.element.bytes
                    yield one.name, Beyond(0, past, past)


def answering(*troubles: Trouble | None) -> Attempt:
    """Return an attempt that gives these answers in turn."""
    waiting = iter(troubles)
    return lambda proposal, patience: next(waiting)
