"""Sibling cases: the held-out cases with another seed, for variants that look faster in a search.

A search first removes guards that the train cases never need, and code for sizes that they do not
have. Its best variants are then wrong on the held-out cases, and so are their offspring. The
search must not see the held-out cases, but it may see the same cases with another seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from gi_cuda.backends.protocol.requests import Record, Recorded
from gi_cuda.errors import MachineError, UserError
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.reference.baseline import Baseline, compile_reference
from gi_cuda.runs.tools import Tools, with_cases
from gi_cuda.spec import siblings

LIMIT: Final = 10.0
"""Seconds that the reference may take on one sibling case."""


@contextmanager
def making_siblings(tools: Tools) -> Iterator[Tools]:
    """Yield the tools with a worker that holds the siblings of the held-out cases.

    The worker makes their data in the background. A failure shows when the worker is first used.
    """
    subject = tools.subject
    cases = siblings(subject.target, subject.backend)
    if not cases:
        yield replace(tools, session=replace(tools.session, cases=()))
        return
    with with_cases(tools, cases, tools.reference) as own:
        yield own


def record_siblings(tools: Tools, baseline: Baseline) -> tuple[str, ...]:
    """Record the reference's outputs on the siblings of the held-out cases.

    Args:
        tools: tools with the siblings (see :func:`making_siblings`).
        baseline: its `recorded` names the thread schedules to record.

    Returns:
        The names of the siblings; empty if the cases have no seeds or the reference fails with
        another seed.
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
    except UserError:  # the target's data module may not support another seed
        return ()
    right = isinstance(answer, Recorded) and not any(answer.penalties.values())
    return program.cases if right else ()
