"""Where a search's individuals are evaluated: by this machine's workers, or those of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Annotated, TypeAlias

import typer

from gi_cuda.cli.console import console
from gi_cuda.errors import UserError
from gi_cuda.report.tables import say
from gi_cuda.runs.run import Run, RunEvaluator

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

Evaluating: TypeAlias = Callable[[Run, Callable[[], bool]], AbstractContextManager[RunEvaluator]]
"""Gives, of a run and of what says whether to stop, where its individuals are evaluated."""


def by_its_own(run: Run, stop: Callable[[], bool]) -> AbstractContextManager[RunEvaluator]:
    """By the run's own workers."""
    return nullcontext(run.evaluator())


def evaluating(cluster: str | None, *, compiles: bool) -> Evaluating:
    """Where individuals are evaluated, by what a user says.

    Raises:
        UserError: there is no such cluster, or what it takes is not installed.
    """
    if cluster is None and compiles:
        raise UserError("there is no cluster", where="--cluster-compiles", hint="add --cluster")
    if cluster is None:
        return by_its_own
    # One machine never needs these.
    from gi_cuda.cluster.compiler import compiled_by
    from gi_cuda.cluster.evaluator import evaluated_by
    from gi_cuda.cluster.meeting import meeting_at

    begin = compiled_by if compiles else evaluated_by
    return partial(begin, meeting_at(cluster), partial(say, console))
