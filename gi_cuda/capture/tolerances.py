"""Compute tolerances of captured outputs from repetitions and from a run in double precision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gi_cuda import AUTO
from gi_cuda.backends.table import resolved
from gi_cuda.capture.fitted import Fitted
from gi_cuda.capture.folder import files, named
from gi_cuda.capture.launches.observed import Observation
from gi_cuda.capture.noise import Allowed, allowed, coarsest, in_another_order, passed_on, reals
from gi_cuda.errors import DeviceLost, UserError, WorkerFault
from gi_cuda.evaluate.reference.double_precision import in_double_precision
from gi_cuda.grammar import Grammar
from gi_cuda.init import write_folder
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.spec.oracles import Outputs
from gi_cuda.subject import load_subject

_LARGE = 1 << 30
"""Largest size of a launch's data, in bytes, for a run in double precision."""

_SOON = 5.0
"""Time limit of a launch in double precision, seconds."""

_LOOP = re.compile(r"\b(?:for|while|do)\b")


def tolerances_of(fitted: Fitted, command: str, scratch: Path) -> dict[str, Allowed]:
    """Return the tolerance of each output that holds real numbers or that threads append to.

    Args:
        fitted: the captured launches.
        command: command line of the application.
        scratch: a folder for a target that runs in double precision, and for its answers.
    """
    outputs = _outputs(fitted)
    exact = _in_double_precision(fitted, command, scratch)
    real = [one for one in outputs if one.element.floating]
    return {one.name: _allowed(one, fitted, exact) for one in real} | _appended(outputs, fitted)


def _outputs(fitted: Fitted) -> list[ProposedBuffer]:
    return [one for one in fitted.proposal.buffers if one.role in ("output", "inout")]


def _in_double_precision(fitted: Fitted, command: str, scratch: Path) -> Outputs:
    """Return the answers of the first launch in double precision, by buffer.

    The result is empty for a kernel without a loop (which adds few numbers), for a launch with much
    data, and if the run in double precision fails for any reason.
    """
    first, *_ = fitted.launches
    outputs = _outputs(fitted)
    single = any(one.element.type == "float32" for one in outputs)
    size = sum(piece.end - piece.begin for piece in first.pieces.values())
    if not single or size > _LARGE:
        return {}
    folder = (scratch / "in-double").resolve()
    roles = ["train", *["held-out"] * (len(fitted.launches) - 1)]
    case, *others = named(fitted, roles, command)
    cases = [case, *(others[:1] or named(fitted, ["held-out"], command, "again"))]
    usual = {one.name: Allowed(0.0, 0.0, "") for one in outputs}
    with suppress(UserError, WorkerFault, DeviceLost, KeyError):
        write_folder(folder, files(fitted, cases, usual, command, folder))
        backend, _ = resolved(AUTO)
        subject = load_subject(folder, backend)
        grammar = subject.grammar
        functions = grammar.functions if isinstance(grammar, Grammar) else ()
        if any(_LOOP.search(subject.reference, one.start, one.end) for one in functions):
            place = scratch / "double"
            return in_double_precision(subject, [case.name], backend, place, _SOON)[case.name]
    return {}


def _allowed(buffer: ProposedBuffer, fitted: Fitted, exact: Outputs) -> Allowed:
    """Return the tolerance of a buffer's real numbers.

    Args:
        buffer: the buffer.
        fitted: the captured launches.
        exact: known answers of the first launch in double precision, by buffer.
    """
    element = buffer.element
    if _only_moved(buffer, fitted, fitted.launches[0]):
        return Allowed(0.0, 0.0, "all that the first launch wrote there are values that it got")
    pieces = [one.pieces[buffer.name] for one in fitted.launches]
    answers = [reals(element, one.read(element.type, after=True)) for one in pieces]
    pairs = [
        (answer, reals(element, again))
        for answer, one in zip(answers, pieces, strict=True)
        for again in one.again(element.type)
    ]
    got = [_passed_on(buffer, fitted, one) for one in fitted.launches]
    found = exact.get(buffer.name) if element.type == "float32" else None
    precise = [] if found is None or found.shape != answers[0].shape else [(answers[0], found)]
    return allowed(coarsest(element), answers, pairs, got, precise)


def _only_moved(buffer: ProposedBuffer, fitted: Fitted, one: Observation) -> bool:
    """Tell whether all real numbers that a launch writes to a buffer occur in its inputs."""
    kind = buffer.element.type
    if buffer.element.fields or buffer.name not in one.pieces:
        return False
    before, after = (one.pieces[buffer.name].read(kind, after=late) for late in (False, True))
    alike = (
        other.name
        for other in fitted.proposal.buffers
        if other.role in ("input", "inout") and other.element == buffer.element
    )
    inputs = [one.pieces[name].read(kind, after=False) for name in alike if name in one.pieces]
    return passed_on(before, after, inputs)


def _appended(buffers: Sequence[ProposedBuffer], fitted: Fitted) -> dict[str, Allowed]:
    """Find the buffers to which threads append in an order that differs from run to run."""
    elements = {one.name: one.element for one in buffers}
    found: dict[str, Allowed] = {}
    for one in fitted.launches:
        runs: dict[str, list[NDArray[Any]]] = {}
        for name, element in elements.items():
            piece = one.pieces[name]
            every = [piece.read("uint8", after=True), *piece.again("uint8")]
            whole = len(every[0]) // element.bytes * element.bytes
            runs[name] = [each[:whole].reshape(-1, element.bytes) for each in every]
        turns = zip(*runs.values(), strict=False)
        first, *others = (dict(zip(runs, each, strict=True)) for each in turns)
        for together in in_another_order(first, others):
            alike = len({elements[name].parts for name in together}) == 1
            for name in together:
                why = "several runs gave the same rows in another order"
                found[name] = Allowed(0.0, 0.0, why, together if alike else (name,))
    return found


def _passed_on(buffer: ProposedBuffer, fitted: Fitted, one: Observation) -> list[NDArray[Any]]:
    """Return the inputs of a launch that a kernel could copy into a buffer: same type and size."""
    alike = [
        other
        for other in fitted.proposal.buffers
        if other.role in ("input", "inout") and other.element == buffer.element
    ]
    every = [one.pieces[other.name].read(buffer.element.type, after=False) for other in alike]
    size = len(one.pieces[buffer.name].read(buffer.element.type, after=True))
    return [reals(buffer.element, values) for values in every if len(values) == size]
