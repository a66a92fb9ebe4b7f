"""``gi-cuda evolve``: search for a validated winner of a target."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda import AUTO
from gi_cuda.analyze.finalists.winner import predecessor
from gi_cuda.backends.table import idle_gpu, open_backend
from gi_cuda.cli.console import console
from gi_cuda.cli.options import (
    LARGEST,
    MOST,
    Backend,
    Bnf,
    Devices,
    EditsOfPreset,
    Force,
    Jobs,
    Level,
    NoCache,
    RunFolder,
    Scope,
    Seed,
    TargetPath,
    Workers,
    cache_unless,
    chosen_backend,
    cores,
    devices_of,
)
from gi_cuda.cli.search.allowance import Allowance, TimeLimit, longest, time_for
from gi_cuda.cli.search.clusters import (
    ClusterCompiles,
    ObjectiveChoice,
    OnCluster,
    evaluating,
    made_ready,
)
from gi_cuda.cli.search.ideas import Ask, Ideas, ask_for_ideas, with_files
from gi_cuda.cli.search.searching import preparing, saying_how_to_go_on, search
from gi_cuda.evaluate.levels import check_level, open_subject
from gi_cuda.report.progress import Steps
from gi_cuda.report.results.winner import device_words, several_words
from gi_cuda.report.tables import counted, say
from gi_cuda.report.targets.untested import untested_words
from gi_cuda.results.kinds import Objective
from gi_cuda.runs.create import create_run, default_folder
from gi_cuda.runs.run import Run, open_run
from gi_cuda.runs.stored import Plan, stored_untested
from gi_cuda.search import DEFAULT, PRESETS, find_preset
from gi_cuda.search.strategies.tune import BESIDE
from gi_cuda.tune.searchers import SEARCHERS, find_searcher

_PRESETS = "; ".join(f"{name}: {preset.help}" for name, preset in PRESETS.items())


def _of_preset(number: str) -> str:
    """Describe the default of an option that depends on the preset."""
    return f"the preset's own; {DEFAULT} has {getattr(PRESETS[DEFAULT].settings, number)}"


# Each parameter is an option of the command line.
def command(
    target: TargetPath,
    run: RunFolder = None,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            metavar="NAME|MODULE:NAME",
            help=f"How to search. {_PRESETS}. MODULE:NAME is one of your own.",
            autocompletion=lambda: list(PRESETS),
        ),
    ] = DEFAULT,
    searcher: Annotated[
        str | None,
        typer.Option(
            "--searcher",
            metavar="NAME|MODULE:NAME",
            help="What proposes configurations, beside the preset: any searcher of `tune`.",
            show_default="the preset varies them itself",
            autocompletion=lambda: list(SEARCHERS),
        ),
    ] = None,
    population: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST,
            help="New individuals in a generation.",
            show_default=_of_preset("population"),
        ),
    ] = None,
    generations: Annotated[
        int | None,
        typer.Option(
            min=1, max=LARGEST, help="Generations to breed.", show_default=_of_preset("generations")
        ),
    ] = None,
    seed: Seed = 1,
    time: TimeLimit = None,
    backend: Backend = AUTO,
    edits: EditsOfPreset = None,
    level: Level = "source",
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Start from the winner of this run on the source, instead of from the reference.",
        ),
    ] = None,
    bnf: Bnf = None,
    scope: Scope = None,
    ideas: Ideas = None,
    ask: Ask = None,
    devices: Devices = "all",
    cluster: OnCluster = None,
    cluster_compiles: ClusterCompiles = False,
    objective: ObjectiveChoice = Objective.EACH,
    workers: Workers = 0,
    jobs: Jobs = 0,
    no_cache: NoCache = False,
    untested: Annotated[
        bool,
        typer.Option(
            "--untested", help="Make changes that no case tests, too; a winner may be so."
        ),
    ] = False,
    force: Force = False,
    others: Annotated[
        list[Path] | None, typer.Option("--baseline-of", metavar="RUN", hidden=True)
    ] = None,
    until: Annotated[float | None, typer.Option(hidden=True)] = None,
) -> None:
    """Evolve a target's source, PTX or LLVM-IR; ends with the best individual validated on held-out
    cases."""
    begun_at = clock.monotonic()
    backend = chosen_backend(backend)
    time = time_for(time, generations, backend)
    allowed = Allowance(time, begun_at)
    if searcher is not None:
        find_searcher(searcher, "--searcher")
        preset = f"{preset}{BESIDE}{searcher}"
    chosen = find_preset(preset, "--preset")
    check_level(level, backend)
    aim = Objective(objective)
    cache = cache_unless(no_cache)
    with ExitStack() as stack:
        with Steps(console) as tell:
            where = evaluating(cluster, aim, compiles=cluster_compiles)
            tell("reading the target and its source")
            begun = None if start is None else predecessor(start, target)
            wanted = edits or chosen.edits
            subject = open_subject(
                target, backend, level, bnf=bnf, scope=scope, edits=wanted, start=begun
            )
            chosen.demand(subject)
            subject = with_files(subject, ideas)
            chosen_devices = devices_of(backend, devices)
            on = open_backend(backend, chosen_devices)
            where = stack.enter_context(made_ready(where, len(on.devices)))
            settings = chosen.settings.having(population, generations, len(on.devices))
            most = on.workers(workers, cores())
            numbers = preset, settings, seed, most, jobs or cores(), chosen_devices
            plan = Plan(*numbers, untested, aim)
            folder = run or default_folder(subject.target.name)
            stack.enter_context(saying_how_to_go_on(folder))
            made = create_run(
                subject,
                folder,
                plan,
                begun,
                overwrite=force,
                cache=cache,
                tell=tell,
                others=others or (),
            )
            if ask is not None:
                ask_for_ideas(made, ask)
                made = open_run(folder, cache)
            with preparing(allowed):
                opened = stack.enter_context(made)
            opened.store.put(time=time, until=until)
        for line in _beginning(opened, time):
            say(console, line)
        search(opened, allowed, where)


def _beginning(run: Run, seconds: float | None) -> Iterator[str]:
    """Yield lines about the search that begins: target, devices, preset and time limit."""
    baseline, plan, backend = run.baseline, run.plan, run.subject.backend
    yield (
        f"evolving {run.subject.target.name} in {run.folder}: reference"
        f" {baseline.seconds * 1e3:.3f} ms, noise floor {baseline.floor:.2%}"
    )
    limit = "--time would end it sooner"
    if seconds is not None:
        limit = f"{seconds:g} s in all (--time), {longest(seconds):g} s at most"
    yield (
        f"on {device_words(backend, run.store.get('device'))}, preset {plan.preset}:"
        f" {counted(plan.settings.generations, 'generation')} of"
        f" {counted(plan.settings.population, 'individual')}, {limit}"
    )
    names = [one.words for one in run.tools.pool.devices.values()]
    if len(names) == len(baseline.on_each):
        yield several_words(names, baseline.on_each)
    yield from run.tools.backend.left_out
    if run.preset.variation.code:
        yield from untested_words(stored_untested(run.store), allowed=plan.untested)
    if (idle := idle_gpu(backend)) is not None:
        name, gpu = idle
        yield (
            f"warning: this machine has a GPU ({gpu}), and what is faster on a CPU need not be on a"
            f" GPU: add --backend {name}; gi-cuda doctor says what it needs"
        )
    if run.started is not None:
        yield f"starting from {run.started}"
