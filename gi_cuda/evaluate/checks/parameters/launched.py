"""Check that the cases' launches and scalars exercise the conditions in kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gi_cuda.evaluate.checks.finding import Finding, listed
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels, of_source
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text, built_in_indices
from gi_cuda.spec import Given
from gi_cuda.spec.launching.kernel_names import overload
from gi_cuda.spec.launching.launches import plan
from gi_cuda.subject import Subject

_INDEX = re.compile(r"\b(threadIdx|blockIdx)\s*\.\s*([yz])\b")
"""Indices along y and z. Along x many kernels read their index although one block is launched."""


def one_sided(subject: Subject, cases: Sequence[Given]) -> Iterator[Finding]:
    """Yield findings for indices and scalar values that a kernel uses but no case exercises.

    These are indices that are 0 in all launches of all cases, and numbers that a kernel compares
    with a scalar although no case gives the scalar this value.
    """
    target = subject.target
    code = of_source(target.source, subject.grammar.source)
    launches = [one for case in cases for one in plan(target, subject.standard, case.scalars)]
    steps = {step.kernel: step for one in target.launches for step in one.steps}
    for name, step in steps.items():
        text = _body(code, name)
        own = [one for one in launches if one.kernel == name]
        extents = {"blockIdx": [one.grid for one in own], "threadIdx": [one.block for one in own]}
        fixed = [
            f"{index}.{axis}"
            for index, axis in dict.fromkeys(_INDEX.findall(text))
            if own and all(extent["xyz".index(axis)] == 1 for extent in extents[index])
        ]
        if fixed:
            yield Finding(
                f"{target.file}:{step.line}",
                f"{name} reads {listed(fixed)}, which {'are' if fixed[1:] else 'is'} 0 in all"
                " launches of all cases",
                "is it launched so? If the host code has more threads or blocks along that axis,"
                " write its grid and block into [[launch]]; else all is well",
            )
    whole = [one for one in target.scalars if one.dtype.kind in "iu" and one.value is None]
    for scalar in whole:
        asked = {number for name in steps for number in _asked(code, name, scalar.name)}
        given = {int(case.scalars[scalar.name]) for case in cases if scalar.count == 1}
        if given and (lacking := sorted(asked - given)):
            yield Finding(
                f"{target.file}:{scalar.line}",
                f"the kernel asks whether {scalar.name} is {listed(list(map(str, lacking)))}, and"
                " it is so in no case",
                "add a case with that value, so that what the kernel does then is tested",
            )


def _body(code: CudaFile, name: str) -> str:
    """Return the text of a kernel without comments; "" if the name is not unique."""
    plain = overload(name)[0].partition("<")[0].rpartition("::")[2].strip()
    found = [one.definition.node for one in kernels(code) if one.definition.name == plain]
    return built_in_indices(bare_text(code.of(found[0]))) if len(found) == 1 else ""


def _asked(code: CudaFile, name: str, scalar: str) -> Iterator[int]:
    """Yield the numbers with which a kernel compares a scalar for equality."""
    own = re.escape(scalar)
    compared = rf"(?<![\w.>])(?:{own}\s*[!=]=\s*(\d+)|(\d+)\s*[!=]=\s*{own})(?![\w.\[(])"
    for found in re.finditer(compared, _body(code, name)):
        yield int(found[1] or found[2])
