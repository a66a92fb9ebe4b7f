"""Check that the cases vary in their inputs.

A scalar or structure member with the same value in all cases looks like a constant to the search.
A variant may then ignore it, and be wrong for users with another value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.evaluate.checks.finding import Finding, listed
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.declarations.element_types import (
    ElementTypes,
    read_element_types,
)
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, of_source, signature
from gi_cuda.spec import Buffer, Given, Target
from gi_cuda.spec.launching.kernel_names import overload
from gi_cuda.spec.numbers import NumberType
from gi_cuda.subject import Subject

_FEW = 64
"""Largest number of values of an input that counts as parameters; a larger one is a table."""


def never_varied(
    target: Target, cases: Sequence[Given], layouts: Mapping[str, np.dtype[Any]]
) -> Iterator[Finding]:
    """Yield findings for scalars, members and small inputs with the same value in all cases.

    Args:
        layouts: layouts of inputs that are structures, by name.
    """
    if len(cases) < 2:
        return
    fixed = [
        one
        for one in target.scalars
        if one.value is None
        and not one.redraw
        and one.count == 1
        and len({case.scalars[one.name].tobytes() for case in cases}) == 1
    ]
    if fixed:
        shown = [f"{one.name} = {cases[0].scalars[one.name]:g}" for one in fixed]
        yield Finding(f"{target.file}:{fixed[0].line}", _said("scalar", shown), _ADVICE)
    for buffer in target.buffers:
        if not buffer.role.given:
            continue
        where = f"{target.file}:{buffer.line}"
        if shown := _fixed_parts(buffer, cases, layouts.get(buffer.name)):
            yield Finding(
                where, _said("member" if buffer.name in layouts else "input", shown), _ADVICE
            )
        values = [case.uniform.get(buffer.name) for case in cases]
        if values[0] is not None and all(value == values[0] for value in values):
            yield Finding(
                where, f"{buffer.name} holds {values[0]} everywhere in all cases", _ADVICE
            )


_ADVICE = "what it does is not tested, and may be taken for a constant: let a case have another one"


def _said(noun: str, shown: Sequence[str]) -> str:
    several = len(shown) > 1
    verb = "have one value each" if several else "has one value"
    return f"{noun}{'s' if several else ''} {listed(shown)} {verb} in all cases"


def _fixed_parts(buffer: Buffer, cases: Sequence[Given], layout: np.dtype[Any] | None) -> list[str]:
    """Return the members of a small input that never vary, in words.

    For an array of numbers, return the input itself if no number varies: single numbers may be
    equal by chance.
    """
    arrays = [case.small.get(buffer.name) for case in cases]
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays):
        return []
    if layout is None:
        same = len({array.tobytes() for array in known}) == 1
        return [buffer.name] if same and known[0].size <= _FEW else []
    items = [array.view(np.uint8) for array in known]
    if any(item.size % layout.itemsize for item in items):
        return []
    structures = [item.view(layout) for item in items]
    return [f"{buffer.name}.{n}" for n in layout.names or () if _one_value(structures, n)]


def _one_value(structures: Sequence[NDArray[Any]], member: str) -> bool:
    """Tell whether a member has the same value in all structures of all cases."""
    rows = np.concatenate([one[member].reshape(one.size, -1) for one in structures])
    return bool((rows == rows[0]).all())


def layouts_of(subject: Subject) -> dict[str, np.dtype[Any]]:
    """Return the layouts of inputs that are plain structures, by name.

    Inputs whose layout cannot be read from the source and its headers are left out.
    """
    target = subject.target
    source = subject.source.grammar.source
    code = of_source(Path(target.source), Source(source.name, source.text))
    types = read_element_types([code])
    found = {}
    for buffer in target.buffers:
        kind = _declared(code, target, buffer)
        layout = _layout(types, kind) if kind else None
        if layout is not None:
            found[buffer.name] = layout
    return found


def _declared(code: CudaFile, target: Target, buffer: Buffer) -> str | None:
    """Return the declared type of a buffer's items in the source; None if unknown."""
    if buffer.symbol is not None:
        own = re.escape(buffer.symbol.rpartition("::")[2])
        declared = re.search(rf"([A-Za-z_]\w*)\s+{own}\s*[;\[={{]", code.of(code.root))
        return declared[1] if declared else None
    for sequence in target.launches:
        for step in sequence.steps:
            if buffer.name not in step.args:
                continue
            plain = overload(step.kernel)[0].partition("<")[0].strip().rpartition("::")[2]
            taken = [tuple(signature(code, one)) for one in code.definitions if one.name == plain]
            at = step.args.index(buffer.name)
            if len(taken) == 1 and at < len(taken[0]):
                return taken[0][at].type
    return None


def _layout(types: ElementTypes, kind: str) -> np.dtype[Any] | None:
    """Return the layout of a plain structure; None for other types."""
    members = []
    for member_kind, name, length in types.structs.get(types.resolved(kind), ()):
        element = types.element(member_kind)
        if element is None or element.fields:
            return None
        members.append((name, NumberType(element.type).dtype, (element.parts * length,)))
    return np.dtype(members, align=True) if members else None
