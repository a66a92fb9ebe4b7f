"""Options for evaluation on a cluster, and the choice between this machine's workers and a
cluster.
"""

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
    """An evaluator of a run's individuals, and the run with it."""

    run: Run
    evaluator: RunEvaluator


Evaluating: TypeAlias = Callable[[Run, Callable[[], bool]], AbstractContextManager[Place]]
"""A function of a run and a stop function; returns a context with the place of evaluation."""

_OBJECTIVE = "--objective"


@contextmanager
def by_its_own(
    run: Run, stop: Callable[[], bool], ready: list[Station] | None = None
) -> Iterator[Place]:
    """Evaluate with the run's own workers; with several devices, in one process for each.

    Args:
        ready: processes that are running already.
    """
    if len(run.tools.backend.devices) < 2:
        yield Place(run, run.evaluator())
        return
    # Import it here: with one device it is not needed.
    from gi_cuda.cluster.stations import evaluated_on_each

    with evaluated_on_each(run, ready=ready) as evaluator:
        yield Place(run, evaluator)


@contextmanager
def made_ready(where: Evaluating, devices: int) -> Iterator[Evaluating]:
    """Yield the same place of evaluation, after starting its processes in the background.

    Args:
        devices: number of devices that the run will have.
    """
    if where is not by_its_own or devices < 2:
        yield where
        return
    from gi_cuda.cluster.stations import stations

    with stations(devices) as ready:
        yield partial(by_its_own, ready=ready)


def evaluating(cluster: str | None, objective: Objective, *, compiles: bool) -> Evaluating:
    """Return the place of evaluation for a user's options.

    Raises:
        UserError: there is no such cluster, dask is not installed, or the options need a cluster
            that measures.
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
    # Import it here: with one machine it is not needed.
    from gi_cuda.cluster.meeting import meeting_at

    begin = _on_kinds if objective is not Objective.EACH else _by_others(compiles=compiles)
    return partial(begin, meeting_at(cluster))


def _by_others(*, compiles: bool) -> Callable[..., AbstractContextManager[Place]]:
    """Return the place of evaluation on a cluster, or of compilation only."""
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
    """Evaluate on workers of several kinds, all of which count."""
    from gi_cuda.cluster.portable import evaluated_on_kinds

    with evaluated_on_kinds(meeting, partial(say, console), run, stop) as evaluator:
        yield Place(replace(run, others=evaluator), evaluator)
