"""Where a search's individuals are evaluated: by this machine's workers, or those of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import typer

from gi_cuda.cli.console import console
from gi_cuda.cli.options import choice
from gi_cuda.errors import UserError
from gi_cuda.report.tables import say
from gi_cuda.results.kinds import Objective
from gi_cuda.runs.run import Run, RunEvaluator

if TYPE_CHECKING:
    from gi_cuda.cluster.meeting import Meeting
    from gi_cuda.cluster.stations import Station

OnCluster: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS|FILE",
        help="Evaluate individuals on the workers of a dask cluster: the scheduler's address, or"
        " its scheduler file.",
    ),
]
ClusterCompiles: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--cluster-compiles", help="The cluster's workers only compile; this machine measures."
    ),
]

ObjectiveChoice: TypeAlias = Annotated[
    str,
    choice(
        "--objective",
        tuple(Objective),
        "What to search for where the workers of --cluster are machines of several kinds. each:"
        " what is fast on machines like this one; geomean: what is right on all of them and fast by"
        " the geometric mean of the speed-ups; worst: by the least speed-up.",
    ),
]


class Place(NamedTuple):
    """Where a run's individuals are evaluated, and the run as it is there."""

    run: Run
    evaluator: RunEvaluator


Evaluating: TypeAlias = Callable[[Run, Callable[[], bool]], AbstractContextManager[Place]]
"""Gives, of a run and of what says whether to stop, where its individuals are evaluated."""

_OBJECTIVE = "--objective"


@contextmanager
def by_its_own(
    run: Run, stop: Callable[[], bool], ready: list[Station] | None = None
) -> Iterator[Place]:
    """By the run's own workers; where it has several devices, by a process for each.

    Args:
        ready: such processes that are there already.
    """
    if len(run.tools.backend.devices) < 2:
        yield Place(run, run.evaluator())
        return
    # One device never needs this.
    from gi_cuda.cluster.stations import evaluated_on_each

    with evaluated_on_each(run, ready=ready) as evaluator:
        yield Place(run, evaluator)


@contextmanager
def made_ready(where: Evaluating, devices: int) -> Iterator[Evaluating]:
    """The same, with whatever it can load while a run is made already begun.

    Args:
        devices: how many the run will have.
    """
    if where is not by_its_own or devices < 2:
        yield where
        return
    from gi_cuda.cluster.stations import stations

    with stations(devices) as ready:
        yield partial(by_its_own, ready=ready)


def evaluating(cluster: str | None, objective: Objective, *, compiles: bool) -> Evaluating:
    """Where individuals are evaluated, by what a user says.

    Raises:
        UserError: there is no such cluster, or what it takes is not installed, or it takes one that
            measures.
    """
    if cluster is None and compiles:
        raise UserError("there is no cluster", where="--cluster-compiles", hint="add --cluster")
    if objective is not Objective.EACH and (cluster is None or compiles):
        raise UserError(
            f"{objective} takes machines of several kinds that measure",
            where=_OBJECTIVE,
            hint="leave --cluster-compiles out" if cluster else "name their scheduler by --cluster",
        )
    if cluster is None:
        return by_its_own
    # One machine never needs this.
    from gi_cuda.cluster.meeting import meeting_at

    begin = _on_kinds if objective is not Objective.EACH else _by_others(compiles=compiles)
    return partial(begin, meeting_at(cluster))


def _by_others(*, compiles: bool) -> Callable[..., AbstractContextManager[Place]]:
    """By the workers of a cluster, or by this machine with their compilers."""
    from gi_cuda.cluster.compiler import compiled_by
    from gi_cuda.cluster.evaluator import evaluated_by

    begin = compiled_by if compiles else evaluated_by

    @contextmanager
    def place(meeting: Meeting, run: Run, stop: Callable[[], bool]) -> Iterator[Place]:
        with begin(meeting, partial(say, console), run, stop) as evaluator:
            yield Place(run, evaluator)

    return place


@contextmanager
def _on_kinds(meeting: Meeting, run: Run, stop: Callable[[], bool]) -> Iterator[Place]:
    """By workers of several kinds, all of which have a say."""
    from gi_cuda.cluster.portable import evaluated_on_kinds

    with evaluated_on_kinds(meeting, partial(say, console), run, stop) as evaluator:
        yield Place(replace(run, others=evaluator), evaluator)
