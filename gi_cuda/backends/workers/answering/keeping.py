"""Launch a program repeatedly while its variables keep their values, as in an application."""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.backends.protocol.input_requests import KeepsNothing
from gi_cuda.backends.protocol.programs import CasePlan, Program
from gi_cuda.backends.workers.answering.comparing import why_wrong
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.other_cases import (
    AT_LEAST,
    LONGER,
    Answers,
    Changed,
    Expected,
    changed,
    launched,
    smallest,
)

_MOST, _FEWEST = 2**30, 3
"""_MOST: bytes that the outputs of all launches may take. _FEWEST: number of launches that are made
in any case."""


def keeps_nothing(runner: CaseRunner, request: KeepsNothing) -> str | None:
    """Compare a program with the reference over several launches.

    Returns:
        The reason why the program is wrong in one of the launches; "" if it is right; None if the
        reference itself does not reproduce its outputs.
    """
    mine, theirs = smallest(runner, request.program, request.reference)
    right = _cases(runner, request.reference, request, theirs)
    values = tuple(request.reference.configuration.items())
    words = [f"{name}: {other}" for name, other in request.others]
    key = request.reference.binary.path, values, theirs.case, *words, request.launches
    if key not in runner.expected:
        runner.expected[key] = _runs(runner, request, right)
    expected: Expected | None = runner.expected[key]
    if expected is None:
        return None
    one = _cases(runner, request.program, request, mine)
    found = _answers(runner, request.program, one, expected.limit)
    return _why_wrong(runner, right, found, expected.runs)


def _runs(runner: CaseRunner, request: KeepsNothing, cases: Sequence[Changed]) -> Expected | None:
    """Return the reference's outputs in all launches, from as many runs as the oracle needs.

    None if one more run gives other outputs.
    """
    *runs, again = (
        _answers(runner, request.reference, cases, request.limit)
        for _ in range(runner.target.oracle.runs + 1)
    )
    every = tuple(one for run in runs for one in run)
    if _why_wrong(runner, cases, again, every):
        return None
    return Expected(AT_LEAST + LONGER * max(one.seconds for one in every), every, 1.0)


def _cases(
    runner: CaseRunner, program: Program, request: KeepsNothing, given: CasePlan
) -> list[Changed]:
    """Return the cases to launch a program on: every second launch has other inputs.

    If outputs are large, there are fewer launches.
    """
    plain = Changed(given, given, {}, runner.cases[given.case])
    others = [one for pair in request.others if (one := changed(runner, program, pair, given))]
    size = sum(
        given.sizes[one.name] * one.dtype.itemsize
        for one in runner.target.buffers
        if one.role.judged
    )
    return [
        others[number // 2 % len(others)] if number % 2 and others else plain
        for number in range(launch_count(request.launches, size))
    ]


def launch_count(wanted: int, size: int) -> int:
    """Return the number of launches whose outputs are kept at a time.

    Args:
        wanted: the most launches.
        size: bytes of the outputs of a launch.
    """
    return min(wanted, max(_FEWEST, _MOST // max(1, size)))


def _answers(
    runner: CaseRunner, program: Program, cases: Sequence[Changed], limit: float
) -> list[Answers]:
    """Return a program's outputs in successive launches."""
    for one in cases:
        runner.device.make_room(one.plan)
    with runner.device.turn():
        loaded = runner.device.load(program.binary)
        found = [
            launched(runner, loaded, one.plan, limit, one.contents, keeping=number > 0).kept()
            for number, one in enumerate(cases)
        ]
        runner.device.unload(loaded)
    return found


def _why_wrong(
    runner: CaseRunner, cases: Sequence[Changed], found: Sequence[Answers], runs: Sequence[Answers]
) -> str:
    for number, (case, one) in enumerate(zip(cases, found, strict=True)):
        if wrong := why_wrong(runner, case, one, runs[number :: len(cases)]):
            return f"launch {number + 1} of {len(found)}: {wrong}"
    return ""
