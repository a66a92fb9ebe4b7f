"""A worker: what it opens once, and how it answers requests until it is told to stop or dies."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from gi_cuda.execute.device import Device, LaunchCrashed, LaunchHung, LaunchRefused
from gi_cuda.execute.host import HostDevice
from gi_cuda.execute.measure import Bench, count_loops, measure, record
from gi_cuda.execute.model import CountLoops, Measure, Record, Refused
from gi_cuda.execute.session import CRASHED_STATUS, HUNG_STATUS, Session
from gi_cuda.host import build_library
from gi_cuda.target import CaseData, Target, load_case, load_target

_HANDLERS: Mapping[type, Callable[[Bench, Any], object]] = {
    Measure: measure,
    Record: record,
    CountLoops: count_loops,
}


@dataclass(frozen=True, slots=True)
class Workshop:
    """What is loaded before workers are forked: target and cases. Holds no device."""

    session: Session
    target: Target
    cases: Mapping[str, CaseData]

    @classmethod
    def open(cls, session: Session) -> Workshop:
        """Load the target and its cases.

        Raises:
            UserError: what is wrong with them.
        """
        # What every worker needs is loaded once, here: a crash is then paid for by a fork alone.
        import numpy.ma  # noqa: F401 - numpy would load it when an oracle first asks

        build_library()
        target = load_target(session.target)
        wanted = [case for case in target.cases if case.name in session.cases]
        return cls(session, target, {case.name: load_case(target, case) for case in wanted})

    def device(self, words: int) -> Device:
        """The device of one worker; ``words`` takes what a dying worker has to say."""
        return HostDevice(self.target, self.cases, words)


def serve(workshop: Workshop, connection: Connection, words: int) -> None:
    """Answer requests until the other end is closed.

    Args:
        workshop: loaded before the fork.
        connection: where requests come from and answers go.
        words: file descriptor for last words.
    """
    bench = Bench(
        workshop.device(words),
        workshop.target,
        workshop.cases,
        workshop.session.reference,
    )
    while True:
        try:
            request = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        try:
            answer = _HANDLERS[type(request)](bench, request)
        except LaunchRefused as error:
            answer = Refused(str(error))
        except LaunchHung as error:
            _die(words, str(error), HUNG_STATUS)
        except LaunchCrashed as error:
            _die(words, str(error), CRASHED_STATUS)
        try:
            connection.send(answer)
        except BrokenPipeError:
            os._exit(0)


def _die(words: int, message: str, status: int) -> NoReturn:
    os.write(words, message.encode()[:1000])
    os._exit(status)
