"""The worker process: opens its device once, and answers requests until it is disconnected."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NoReturn, TypeAlias

from gi_cuda.backends.protocol.device import (
    Device,
    DeviceMaker,
    LaunchCrashed,
    LaunchHung,
    LaunchRefused,
)
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.input_requests import (
    AgreesWith,
    DependsOn,
    KeepsNothing,
    TellVarying,
    WritesTheSame,
)
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.request_parts import parts_of
from gi_cuda.backends.protocol.requests import (
    CompareAnswers,
    CountLoops,
    Explore,
    GetReady,
    LeaveOut,
    Measure,
    Record,
    Refused,
    Rehearse,
    SharedMeasurement,
    SpoilOutputs,
    TellInputs,
    TrySchedule,
)
from gi_cuda.backends.protocol.session import CRASHED_STATUS, HUNG_STATUS, Session
from gi_cuda.backends.table import backend_named
from gi_cuda.backends.workers.answering.answers import compare_answers, tell_inputs
from gi_cuda.backends.workers.answering.exploring import count_loops, explore
from gi_cuda.backends.workers.answering.keeping import keeps_nothing
from gi_cuda.backends.workers.answering.measuring import get_ready, measure, measure_together
from gi_cuda.backends.workers.answering.recording import record, try_schedule
from gi_cuda.backends.workers.answering.rehearsing import rehearse
from gi_cuda.backends.workers.answering.spoiling import leave_out, spoil_outputs
from gi_cuda.backends.workers.answering.substituting import (
    agrees_with,
    depends_on,
    tell_varying,
    writes_the_same,
)
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.errors import NoRoom, UserError, is_memory, machine_error
from gi_cuda.spec import CaseData, Target, find_case, load_case
from gi_cuda.spec.case_data.other_sizes import OtherCase
from gi_cuda.spec.case_data.own_code import check_code

_HANDLERS: Mapping[type, Callable[[CaseRunner, Any], object]] = {
    Measure: measure,
    SharedMeasurement: measure_together,
    Rehearse: rehearse,
    Record: record,
    CountLoops: count_loops,
    TrySchedule: try_schedule,
    LeaveOut: leave_out,
    DependsOn: depends_on,
    AgreesWith: agrees_with,
    KeepsNothing: keeps_nothing,
    Explore: explore,
    SpoilOutputs: spoil_outputs,
    TellInputs: tell_inputs,
    TellVarying: tell_varying,
    WritesTheSame: writes_the_same,
    CompareAnswers: compare_answers,
    GetReady: get_ready,
}

_OF_REFERENCE = (
    *(Record, TrySchedule, LeaveOut, Explore, SpoilOutputs, TellInputs, CompareAnswers, GetReady),
)
"""Requests that run only the reference."""

_COURTESY = 10
"""Nice value of a worker that runs samples during a search, so that compilers have priority."""

Answerer: TypeAlias = Callable[[object], object]
"""Function that returns the answer to a request."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """Data and code that are loaded before workers are forked. It holds no device.

    Attributes:
        session: the workers' session.
        cases: the session's cases by name.
        device: makes the device of one worker, after the fork.
    """

    session: Session
    cases: dict[str, CaseData]
    device: DeviceMaker

    @classmethod
    def open(cls, session: Session, before: WorkerContext | None = None) -> WorkerContext:
        """Load the target's cases and the back end's code.

        Args:
            before: the context of an earlier session; its cases are reused.

        Raises:
            UserError: the target's data or code is at fault.
        """
        # Load everything before workers are forked, so that a crash costs a fork only.
        device = backend_named(session.backend).device_maker()
        target = session.target
        check_code(target)
        known = before.of(target) if before else {}
        cases = {
            name: known.get(name) or load_case(target, find_case(target, name))
            for name in session.cases
        }
        return cls(session, cases, device)

    def of(self, target: Target) -> dict[str, CaseData]:
        """Return the cases that a target has as well; none if its data may differ."""
        mine = self.session.target
        # The path may be spelled as the user spelled it, or as a run recorded it.
        if replace(mine, cases=(), file=target.file) != replace(target, cases=()):
            return {}
        return {name: data for name, data in self.cases.items() if _same_case(name, mine, target)}

    def opened(self, slot: WorkerSlot) -> Device:
        """Make the device of one worker, and configure it for the session."""
        device = self.device(self.session.target, self.cases, slot)
        if self.session.sample:
            device.sample(self.session.sample)
            os.nice(_COURTESY)
        return device

    def answerer(self, slot: WorkerSlot) -> Answerer:
        """Return a worker's function for requests, or one that returns the error."""
        target = self.session.target
        try:
            device = self.opened(slot)
        except UserError as error:
            return partial(_regret, error)
        except (OSError, MemoryError) as error:
            return partial(_regret, machine_error(error))
        except LaunchRefused as error:
            trouble = (NoRoom if error.room else UserError)(
                f"the device cannot be used: {error}",
                hint="does another program hold its memory? See `gi-cuda doctor`",
            )
            return partial(_regret, trouble)
        runner = CaseRunner(device, target, self.cases, self.session.reference)
        if not self.session.isolated:
            return partial(_answer, runner, slot.words)
        return partial(_answer_isolated, runner, slot.words)


def _same_case(name: str, *targets: Target) -> bool:
    first, *others = ([one for one in target.cases if one.name == name] for target in targets)
    return all(one == first for one in others)


def serve(context: WorkerContext, connection: Connection, slot: WorkerSlot) -> None:
    """Answer requests until the other end is closed.

    Args:
        context: data and code that were loaded before the fork.
        connection: the connection for requests and answers.
        slot: the worker's slot on its device.
    """
    answer = context.answerer(slot)
    while True:
        try:
            request = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        try:
            said = answer(request)
            if not isinstance(request, GetReady):
                connection.send(said)
        except BrokenPipeError:
            os._exit(0)


def _answer_isolated(runner: CaseRunner, words: int, request: object) -> object:
    if not isinstance(request, _OF_REFERENCE):
        for other in parts_of(request, OtherCase):  # while its data can still be read
            with suppress(UserError):
                runner.made(other.case)
        runner.isolate(parts_of(request, Program))
    return _answer(runner, words, request)


def _answer(runner: CaseRunner, words: int, request: object) -> object:
    try:
        return _HANDLERS[type(request)](runner, request)
    except LaunchRefused as error:
        return Refused(str(error), error.where, error.hint, error.masked, error.room)
    except LaunchHung as error:
        _die(words, str(error), HUNG_STATUS)
    except LaunchCrashed as error:
        _die(words, str(error), CRASHED_STATUS)
    except (OSError, MemoryError) as error:
        trouble = machine_error(error)
        return Refused(trouble.what) if is_memory(error) else trouble


def _regret(error: UserError, request: object) -> UserError:
    return error


def _die(words: int, message: str, status: int) -> NoReturn:
    os.write(words, message.encode()[:1000])
    os._exit(status)
