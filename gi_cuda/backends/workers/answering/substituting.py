"""Run programs with substitutes for inputs, and compare their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.input_requests import (
    AgreesWith,
    DependsOn,
    Effect,
    TellVarying,
    Varying,
    WritesTheSame,
)
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.protocol.substitutes import InPlace, Substitute
from gi_cuda.backends.workers.answering.comparing import (
    WIDER,
    equal,
    finite,
    finite_alike,
    near,
    scale_of,
    why_overflown,
    why_wrong,
    width_of,
)
from gi_cuda.backends.workers.answering.recording import unwritten
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.other_cases import (
    AT_LEAST,
    LONGER,
    Answers,
    Changed,
    Expected,
    Right,
    answers_of,
    changed,
    most_kept,
    smallest,
    substituted,
)
from gi_cuda.backends.workers.cases.written import were_written
from gi_cuda.spec.case_data.other_sizes import OtherCase

_TELLING = 2 * WIDER
"""Multiple of the tolerance by which the effect of an input has to exceed it, so that a program
that ignores the input is rejected with :data:`WIDER` allowed."""

_FEW = 100
"""One in so many elements may be written with its old value, or not, by chance."""


def depends_on(runner: CaseRunner, request: DependsOn) -> Effect:
    """Return the effect on a program's outputs of a substitute for an input."""
    program, other = request.program, request.substitute
    least, _ = smallest(runner, program, program)
    for given in runner.plans(program):
        one = substituted(runner, program, [(request.input, other)], given)
        runner.device.make_room(one.given)
        before = answers_of(runner, program, one.given, request.limit)
        limit = min(request.limit, AT_LEAST + LONGER * before.seconds)
        same = Right(before.outputs, equal(runner))
        found = answers_of(runner, program, one.plan, limit, one.contents, same)
        if found.outputs:
            compared = given.case == least.case and not (
                other.to_overflow or other.special or other.scaled
            )
            told = compared and why_wrong(runner, one, found, [before], width=_TELLING)
            return Effect.TOLD if told else Effect.SMALL
    return Effect.NONE


def agrees_with(runner: CaseRunner, request: AgreesWith) -> str | None:
    """Compare a program with the reference, both with a substitute for an input.

    Returns:
        The reason why the program is wrong; "" if it is right. None if the reference cannot be
        compared
        with: it writes where it must not, the oracle rejects its own outputs, or (with another
            size) its outputs become NaN or depend on the order of threads, unlike those on the case
            itself.
    """
    # One case suffices: the substitutes would be the same in others.
    pair = request.input, request.substitute
    mine, theirs = smallest(runner, request.program, request.reference)
    right = changed(runner, request.reference, pair, theirs)
    if right is None:
        return None
    one = changed(runner, request.program, pair, mine)
    assert one is not None, "a case that is there for the one is there for the other"
    runner.device.make_room(right.given)
    expected = _expected(runner, request, right)
    if expected is None:
        return None
    overflow = isinstance(request.substitute, Substitute) and request.substitute.to_overflow
    width = width_of(request.substitute)
    rules = finite(runner) if overflow else near(runner, width) if expected.scale == 1 else None
    known = Right(expected.runs[0].outputs, rules)
    found = answers_of(runner, request.program, one.plan, expected.limit, one.contents, known)
    if not isinstance(request.substitute, OtherCase) and request.substitute.special:
        found = replace(found, outputs=finite_alike(found.outputs, expected.runs[0].outputs))
    if overflow:
        whole = {name for name, kind in runner.types.items() if not kind.real}
        wrong = why_overflown(found.outputs, expected.runs[0].outputs, whole)
    else:
        wrong = why_wrong(runner, right, found, expected.runs, expected.scale, width)
    named = "" if isinstance(request.substitute, OtherCase) else f"{one.plan.case}: "
    return f"{named}{wrong}" if wrong else ""


def tell_varying(runner: CaseRunner, request: TellVarying) -> Varying:
    """Count the output elements that change with other inputs, on the smallest case."""
    plan, _ = smallest(runner, request.reference, request.reference)
    given = answers_of(runner, request.reference, plan, request.limit).outputs
    changed_at = {name: np.zeros(array.size, np.bool_) for name, array in given.items()}
    limit = request.limit
    for pair in request.others:
        if (one := changed(runner, request.reference, pair, plan)) and one.plan.sizes == plan.sizes:
            found = answers_of(runner, request.reference, one.plan, limit, one.contents).outputs
            for name, array in found.items():
                changed_at[name] |= _differs(array.reshape(-1), given[name].reshape(-1))
    left = unwritten(runner.target, plan, given)
    return Varying(
        {
            name: (int(np.count_nonzero(some)), some.size - left.get(name, (0, 0))[0])
            for name, some in changed_at.items()
        }
    )


def writes_the_same(runner: CaseRunner, request: WritesTheSame) -> bool:
    """Tell whether a program writes the elements that the reference writes, on the smallest case.

    One in :data:`_FEW` may differ.
    """
    plans = smallest(runner, request.program, request.reference)
    given = runner.cases[plans[0].case].buffers
    found, expected = (
        {
            name: were_written(array, given.get(name))
            for name, array in answers_of(runner, program, plan, request.limit).outputs.items()
        }
        for program, plan in zip((request.program, request.reference), plans, strict=True)
    )
    return all(
        some.size == found[name].size
        and np.count_nonzero(some != found[name]) * _FEW <= np.count_nonzero(some)
        for name, some in expected.items()
    )


def _differs(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are not equal. Zeros of both signs are equal, and so is NaN to NaN."""
    found: NDArray[np.bool_] = one != other
    if one.dtype.kind == "f":
        found &= ~(np.isnan(one) & np.isnan(other))
    return found


def _expected(runner: CaseRunner, request: AgreesWith, right: Changed) -> Expected | None:
    """Return the reference's outputs, or None as :func:`agrees_with` says; cached."""
    reference = request.reference
    values = tuple(reference.configuration.items())
    key = reference.binary.path, values, right.plan.case, request.input, str(request.substitute)
    if key not in runner.expected:
        known = [run for one in runner.expected.values() if one for run in one.runs]
        size = sum(array.nbytes for run in known for array in run.outputs.values())
        if size > most_kept():
            runner.expected.clear()
        runner.expected[key] = _fit(runner, request, right)
    found: Expected | None = runner.expected[key]
    return found


def _fit(runner: CaseRunner, request: AgreesWith, right: Changed) -> Expected | None:
    """Return the reference's outputs if they are fit to compare with."""
    given = _given(runner, request, right)
    limit = min(request.limit, AT_LEAST + LONGER * given.seconds)
    runs = [
        answers_of(runner, request.reference, right.plan, limit, right.contents)
        for _ in range(runner.target.oracle.runs)
    ]
    other = request.substitute
    special = not isinstance(other, OtherCase) and other.special
    several = not isinstance(other, Substitute) and not special
    scaled = not other.reseeded if isinstance(other, OtherCase) else other.scaled
    scale = scale_of(given, runs[0]) if scaled else 1.0
    width = width_of(request.substitute)
    known = Right(runs[0].outputs, near(runner, width) if scale == 1 else None)
    again = answers_of(runner, request.reference, right.plan, limit, right.contents, known)
    if why_wrong(runner, right, again, runs, scale, width) or _unjudged(runner, right, runs):
        return None
    if isinstance(other, InPlace) and why_wrong(runner, right, runs[0], [given], width=width):
        return None  # the source does not support work in place
    whole = {one.name for one in runner.target.scalars if one.dtype.kind != "f"}
    indices = {one.name for one in runner.target.buffers if not one.type.real}
    if (several or request.input in whole | indices) and _became_nan(right, given, runs[0]):
        return None  # it reads unset memory: beyond an array, or by an index of another array
    if several or request.input in whole:
        if _leaves_more(runner, right, given, runs[0]):
            return None  # the source supports some sizes only
        if _is_ordered(runner, request.reference, right, given, runs):
            return None  # with other sizes, its threads race
    return Expected(limit, tuple(runs), scale)


def _given(runner: CaseRunner, request: AgreesWith, right: Changed) -> Answers:
    """Return the reference's outputs on the original case. Those of the last case are cached."""
    reference = request.reference
    key = reference.binary.path, tuple(reference.configuration.items()), right.given.case
    if key not in runner.given:
        runner.given.clear()
        runner.given[key] = answers_of(runner, reference, right.given, request.limit)
    found: Answers = runner.given[key]
    return found


def _became_nan(case: Changed, given: Answers, found: Answers) -> bool:
    """Tell whether outputs became NaN that were numbers."""
    alike = case.plan.sizes == case.given.sizes
    for name, array in found.outputs.items():
        if array.dtype.kind == "f":
            lost, known = np.isnan(array), np.isnan(given.outputs[name])
            if np.any(lost & ~known) if alike else np.any(lost) and not np.any(known):
                return True
    return False


def _leaves_more(runner: CaseRunner, case: Changed, given: Answers, found: Answers) -> bool:
    """Tell whether more of the outputs was never written."""
    before = unwritten(runner.target, case.given, given.outputs)
    now = unwritten(runner.target, case.plan, found.outputs)
    return any(_part(*now[name]) > _most_unwritten(_part(*one)) for name, one in before.items())


def _part(some: int, all_of_them: int) -> float:
    return some / max(1, all_of_them)


def _most_unwritten(part: float) -> float:
    """Return the share of an output that may stay unwritten with another size.

    Args:
        part: the share that stays unwritten on the original case.
    """
    return (part + 1) / 2 if part else 0.0


def _is_ordered(
    runner: CaseRunner, reference: Program, case: Changed, given: Answers, runs: Sequence[Answers]
) -> bool:
    """Tell whether the reference depends on thread order, but not on the original case.

    False if the device cannot choose the order.
    """
    limit = AT_LEAST + 2 * LONGER * given.seconds
    with runner.device.scheduled(Schedule.REVERSED, ()) as chosen:
        if not chosen:
            return False
        known = Right(runs[0].outputs, near(runner))
        turned = answers_of(runner, reference, case.plan, limit, case.contents, known)
        if not why_wrong(runner, case, turned, runs):
            return False
        whole = Changed(case.given, case.given, {}, runner.cases[case.given.case])
        known = Right(given.outputs, near(runner))
        turned = answers_of(runner, reference, case.given, limit, right=known)
        return not why_wrong(runner, whole, turned, [given])


def _unjudged(runner: CaseRunner, case: Changed, runs: Sequence[Answers]) -> bool:
    """Tell whether the oracle rejects the very outputs that it compares with.

    It may have been written for the case's own inputs only.
    """
    if runner.rules is not None:
        return False  # by these rules, every value is as good as itself
    oracle = runner.target.oracle
    expected = oracle.reference([run.outputs for run in runs])
    return not oracle.judge(case.data.values, runs[0].outputs, expected).acceptable
