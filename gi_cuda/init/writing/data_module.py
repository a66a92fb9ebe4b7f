"""Write the data module of a proposed target: random inputs of the right types and sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element, Member
from gi_cuda.init.host.in_python import in_python, python_name
from gi_cuda.init.kernel.access import Access
from gi_cuda.init.proposing.buffers import MOST, Fill, ProposedBuffer
from gi_cuda.init.proposing.members import ProposedScalar
from gi_cuda.init.proposing.proposal import Proposal
from gi_cuda.spec.numbers import NumberType

_BYTES = 256
"""Upper bound of random bytes of unknown meaning; a histogram may have a bin for each value."""


def data_py(proposal: Proposal) -> str:
    """Return the text of the data module: random inputs of the right types and sizes."""
    sizes = [python_name(extent.name) for extent in proposal.extents]
    signature = ", ".join(["seed: int", *(f"{name}: int" for name in sizes)])
    given = [b for b in proposal.buffers if b.role in ("input", "inout")]
    lines = [
        f'"""Inputs of {proposal.kernel}. {proposal.mark}: data like the real ones;'
        ' these are random."""',
        "",
        "import numpy as np",
        *(line for b in given for line in _layout(b)),
        *(_RANDOM_ITEMS.splitlines() if any(b.element.fields for b in given) else ()),
        "",
        "",
        f"def case({signature}) -> dict[str, object]:",
        f'    """Inputs for one case: {", ".join(["a seed", *sizes])} as target.toml has them."""',
        *(["    rng = np.random.default_rng(seed)"] if _draws(proposal, given) else []),
        "    return {",
        *(f"        {_quoted(b.name)}: {_made(proposal, b)},{_note(b)}" for b in given),
        *(f"        {_quoted(e.name)}: {python_name(e.name)}," for e in proposal.extents),
    ]
    for scalar in proposal.scalars:
        if scalar.name not in proposal.counts and scalar.computed is None:
            about = "about " if scalar.varied else ""
            why = scalar.note or (f"{about}as in the host code" if scalar.source else proposal.mark)
            lines.append(f"        {_quoted(scalar.name)}: {_value(scalar)},  # {why}")
    return "\n".join([*lines, "    }", ""])


def _note(buffer: ProposedBuffer) -> str:
    return f"  # {buffer.notes.data}" if buffer.notes.data else ""


def _quoted(name: str) -> str:
    return json.dumps(name)


def _draws(proposal: Proposal, given: Sequence[ProposedBuffer]) -> bool:
    """Tell whether the module draws random numbers."""
    real = any(one.varied and one.element.floating for one in proposal.scalars)
    return real or any(map(_random, given))


def _value(scalar: ProposedScalar) -> str:
    if scalar.varied:
        more = "* rng.uniform(0.75, 1.25)" if scalar.element.floating else "+ seed % 2"
        return f"{scalar.value!r} {more}"
    if scalar.count == 1:
        return repr(scalar.value)
    if scalar.element.floating:
        return f"np.linspace(0.1, 1, {scalar.count}, dtype=np.{scalar.element.type})"
    return f"np.full({scalar.count}, {scalar.value!r}, dtype=np.{scalar.element.type})"


def _layout(buffer: ProposedBuffer) -> list[str]:
    """Return the lines that define the numpy type of a buffer of structs."""
    fields = buffer.element.fields
    if not fields:
        return []
    begin, end = f"{_layout_name(buffer)} = np.dtype(", ")"
    if _is_plain(fields, buffer.element.parts):
        members = [
            f'        ("{f.name}", np.{f.type}' + (f", ({f.length},))," if f.length > 1 else "),")
            for f in fields
        ]
        return ["", begin, "    [", *members, "    ],", "    align=True,", end]
    formats = [f"({f.type!r}, ({f.length},))" if f.length > 1 else repr(f.type) for f in fields]
    keys = {
        "names": [f.name for f in fields],
        "formats": f"[{', '.join(formats)}]",
        "offsets": [f.at for f in fields],
        "itemsize": buffer.element.parts,
    }
    return [
        "",
        begin,
        "    {",
        *(f'        "{key}": {v},' for key, v in keys.items()),
        "    }",
        end,
    ]


def _is_plain(fields: Sequence[Member], size: int) -> bool:
    """Tell whether numpy's default layout of the members is the compiler's."""
    layout = np.dtype([(f.name, f.type, (f.length,)) for f in fields], align=True)
    places = [layout.fields[f.name][1] for f in fields] if layout.fields else []
    return layout.itemsize == size and places == [f.at for f in fields]


def _layout_name(buffer: ProposedBuffer) -> str:
    return f"{buffer.name.upper()}_ITEM"


def _random(buffer: ProposedBuffer) -> bool:
    return not _same(buffer) and not buffer.element.fields


def _same(buffer: ProposedBuffer) -> bool:
    """Tell whether all elements of a buffer have the same value."""
    if _zeros(buffer):
        return True
    fill = buffer.fill
    return fill is not None and fill.high - fill.low == 1 and not fill.rising


def _zeros(buffer: ProposedBuffer) -> bool:
    """Tell whether a buffer starts as zeros.

    These are buffers that atomics add to, device variables that the host does not set, and
    addresses.
    """
    unset = buffer.symbol is not None and buffer.role == "inout" and buffer.elements == "1"
    unset = unset and not buffer.copied
    addresses = buffer.element.addresses and not (buffer.element.fields or buffer.addresses)
    return buffer.access is Access.ATOMIC or unset or addresses


def _made(proposal: Proposal, buffer: ProposedBuffer) -> str:
    element = buffer.element
    items = buffer.items(proposal.counts)
    items = in_python(items)
    size = times(items, element.parts)
    if buffer.addresses and not element.fields:
        return _numbers_of_elements(proposal, buffer, items)
    if _zeros(buffer):
        return f"np.zeros({size}, dtype=np.{_numpy(element)})"
    if element.fields:
        return f"random_items({_layout_name(buffer)}, {items}, seed)"
    if _same(buffer) and buffer.fill is not None:
        low = buffer.fill.low
        made = f"full({size}, {low}" if low else f"zeros({size}"
        return f"np.{made}, dtype=np.{_numpy(element)})"
    if buffer.fill is not None and buffer.fill.rising:
        steps = f"rng.integers({buffer.fill.low}, {buffer.fill.high}, {size})"
        return f"np.cumsum({steps}).astype(np.{element.type})"
    if buffer.fill is not None and element.floating:
        low, high = buffer.fill.low, buffer.fill.high
        return f"rng.uniform({low}, {high}, {size}).astype(np.{_numpy(element)})"
    if _numpy(element) in ("float32", "float64"):
        return f"rng.random({size}, dtype=np.{_numpy(element)})"
    if element.type == "float16":
        return f"rng.random({size}).astype(np.float16)"
    behind = [one for one in proposal.buffers if one.name == buffer.into]
    if behind and buffer.fill is None:
        places = in_python(behind[0].ahead(proposal.counts))
        return f"rng.integers(0, {places}, {size}, dtype=np.{element.type})"
    most = 2 if element.truth else _BYTES if element.type == "uint8" else MOST
    fill = buffer.fill or Fill(0, most)
    return f"rng.integers({fill.low}, {fill.high}, {size}, dtype=np.{element.type})"


def _numpy(element: Element) -> str:
    """Return numpy's type for an element; types that numpy lacks are given as float32."""
    return "float32" if NumberType(element.type).small else element.type


def _numbers_of_elements(proposal: Proposal, buffer: ProposedBuffer, items: str) -> str:
    """Return an expression for a buffer of pointers, given as numbers of elements.

    Each pointer points to its own part of the buffer behind; all parts have the same size.
    """
    if buffer.element.type != "uint64" or buffer.element.parts > 1:
        return f"np.zeros({times(items, buffer.element.parts)}, dtype=np.{buffer.element.type})"
    name = buffer.addresses[0][0]
    behind = next(one for one in proposal.buffers if one.name == name)
    size = in_python(times(behind.items(proposal.counts), behind.element.parts))
    return f"np.arange({items}, dtype=np.uint64) * (({size}) // ({items}))"


def times(items: str, parts: int) -> str:
    """Return an expression for `items` times `parts`."""
    if parts == 1:
        return items
    return f"({items}) * {parts}" if set("+-/ ") & set(items) else f"{items} * {parts}"


_RANDOM_ITEMS = '''

def random_items(layout: np.dtype, items: int, seed: int) -> np.ndarray:
    """Structs as bytes, of random numbers: real ones in [0, 1), whole ones below 100."""
    rng = np.random.default_rng(seed)
    found = np.zeros(items, dtype=layout)
    for name in layout.names:
        part = found[name]
        real = np.issubdtype(part.dtype, np.floating)
        part[...] = rng.random(part.shape) if real else rng.integers(0, 100, part.shape)
    return found.view(np.uint8)
'''
