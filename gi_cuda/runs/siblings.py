"""Cases like the held-out ones, for what looks faster in a search.

Guards that the train cases never need, and sizes that they do not have, are what a search removes
first: what it climbs on is then wrong on the held-out cases, and so is all that it breeds of it.
The held-out cases themselves it is not to see; the same ones with another seed it may.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from gi_cuda.backends.protocol.requests import Record, Recorded
from gi_cuda.errors import MachineError, UserError
from gi_cuda.evaluate.baseline import Baseline, compile_reference
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.runs.tools import Tools, with_cases
from gi_cuda.spec import siblings

LIMIT: Final = 10.0
"""Seconds that the reference may take on one."""


@contextmanager
def making_siblings(tools: Tools) -> Iterator[Tools]:
    """The tools with a worker that has the siblings of the held-out cases. Their data is made while
    others do something else; whether it can be comes out when the worker is needed."""
    subject = tools.subject
    cases = siblings(subject.target, subject.backend)
    if not cases:
        yield replace(tools, session=replace(tools.session, cases=()))
        return
    with with_cases(tools, cases, tools.reference) as own:
        yield own


def record_siblings(tools: Tools, baseline: Baseline) -> tuple[str, ...]:
    """Record the reference's answers on siblings of the held-out cases, beside its others.

    Args:
        tools: with the siblings (see :func:`making_siblings`).
        baseline: says in which orders of threads.

    Returns:
        The names of the siblings; none where the cases have no seeds, or the reference fails with
        others.
    """
    subject, cases = tools.subject, tools.session.cases
    if not cases:
        return ()
    whole, runs = unmodified(subject), max(2, subject.target.oracle.runs)
    folder = tools.scratch("siblings")
    (binary,) = compile_reference(subject, tools.compiler, [subject.reference], folder)
    program = whole.program(binary, cases)
    request = Record(program, tools.reference, runs, LIMIT, baseline.recorded)
    try:
        answer = tools.pool.one(request)
    except MachineError:
        raise
    except UserError:  # the data module may have nothing to say to another seed
        return ()
    right = isinstance(answer, Recorded) and not any(answer.penalties.values())
    return program.cases if right else ()
