"""``gi-cuda resume``: continue a run that was stopped or killed."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import Annotated

import typer

from gi_cuda.backends.table import ALL
from gi_cuda.cli.console import console
from gi_cuda.cli.options import LARGEST, MovedTarget, NoCache, RunPath, cache_unless, follow
from gi_cuda.cli.search.allowance import Allowance, TimeLimit, time_for
from gi_cuda.cli.search.clusters import ClusterCompiles, OnCluster, evaluating
from gi_cuda.cli.search.ideas import Ask, Ideas, ask_for_ideas, with_files
from gi_cuda.cli.search.searching import saying_how_to_go_on, search
from gi_cuda.errors import UserError
from gi_cuda.report.tables import say
from gi_cuda.runs.lock import locked
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import keep_ideas, open_store, stored_plan, stored_subject


def command(
    run: RunPath,
    target: MovedTarget = None,
    generations: Annotated[
        int | None, typer.Option(min=1, max=LARGEST, help="Go on to so many generations in all.")
    ] = None,
    time: TimeLimit = None,
    ideas: Ideas = None,
    ask: Ask = None,
    cluster: OnCluster = None,
    cluster_compiles: ClusterCompiles = False,
    no_cache: NoCache = False,
) -> None:
    """Go on with a run where it was stopped or killed; nothing finished is done again."""
    begun = clock.monotonic()
    follow(run, target)
    with open_store(run) as store:
        allowed = Allowance(time_for(time, generations, store.get("backend")), begun)
        aim = stored_plan(store).objective
        if ideas:
            with locked(run):
                keep_ideas(store, with_files(stored_subject(store, run), ideas))
    where = evaluating(cluster, aim, compiles=cluster_compiles)
    if ask is not None:
        ask_for_ideas(open_run(run, cache_unless(no_cache)), ask)
    with saying_how_to_go_on(run), open_run(run, cache_unless(no_cache)) as opened:
        bred = len(opened.store.generations())
        if generations is not None and generations < bred:
            raise UserError(
                f"the run has {bred} generations already",
                where="--generations",
                hint=f"it counts all of them, the old ones too: name more than {bred}",
            )
        if generations is not None:
            opened = opened.extended(generations)
        done = len(opened.store.evaluations())
        say(console, f"resuming {run}: {done} individuals are evaluated already")
        there = tuple(opened.tools.pool.devices)
        if opened.plan.devices not in (ALL, there):
            say(
                console,
                f"it measured on GPU {_listed(opened.plan.devices)}; going on with GPU"
                f" {_listed(there)}",
            )
        search(opened, allowed, where)


def _listed(devices: Sequence[int]) -> str:
    return ", ".join(map(str, devices))
