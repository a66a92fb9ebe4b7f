"""``gi-cuda tune``: search only the configuration space, on a device or in a recording."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda import AUTO
from gi_cuda.analyze.stored.tuning_results import measured
from gi_cuda.cli.console import console
from gi_cuda.cli.options import (
    LARGEST,
    Backend,
    Devices,
    Force,
    Jobs,
    NoCache,
    RunFolder,
    Seed,
    Workers,
    chosen_backend,
)
from gi_cuda.cli.search import evolve
from gi_cuda.cli.search.allowance import TimeLimit
from gi_cuda.cli.search.train_model import PROFILED, train
from gi_cuda.errors import UserError
from gi_cuda.genome.space import Space
from gi_cuda.report.tables import counted, print_table, right, say, table, whole
from gi_cuda.runs.create import default_folder
from gi_cuda.runs.stored import DATABASE, open_store, stored_subject
from gi_cuda.search.strategies.tune import PREFIX, SETTINGS
from gi_cuda.spec import Target, buffer_sizes, load_case
from gi_cuda.spec.toml_file.load import load_target
from gi_cuda.subject import Subject
from gi_cuda.tune.records.exports import Measured, kernel_tuner_cache, t4_results, write_json
from gi_cuda.tune.records.recorded import read_recorded
from gi_cuda.tune.records.simulation import Simulated, simulate
from gi_cuda.tune.rest import rest_words
from gi_cuda.tune.searchers import DEFAULT, SEARCHERS, find_searcher, profile
from gi_cuda.tune.t1.t1_export import t1_description

_SEARCHERS = "; ".join(f"{name}: {kind.help}" for name, kind in SEARCHERS.items())


# Each parameter is an option of the command line.
def command(
    target: Annotated[
        Path | None, typer.Argument(metavar="TARGET", help="A target's folder, or its target.toml.")
    ] = None,
    searcher: Annotated[
        str,
        typer.Option(
            "--searcher",
            metavar="NAME|MODULE:NAME",
            help=f"What chooses the configurations. {_SEARCHERS}.",
            autocompletion=lambda: list(SEARCHERS),
        ),
    ] = DEFAULT,
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="The model of --searcher profile."),
    ] = None,
    train_model: Annotated[
        Path | None,
        typer.Option(
            "--train-model",
            metavar="FILE",
            help="In place of a search: write a model of hardware counters. It is trained on a"
            " recorded tuning (--from), or on --evaluations configurations of the target that ncu"
            f" profiles on its GPU (default: {PROFILED}).",
        ),
    ] = None,
    training: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RECORDED",
            help="With --train-model: KTT's results that have profiling data.",
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(min=1, max=LARGEST, help="About so many configurations are measured."),
    ] = None,
    time: TimeLimit = None,
    until: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="FRACTION",
            help="End once the best has, with 95 % confidence, this share of the speed of the best"
            " of the rest, e.g. 0.95; or else when the time is up.",
        ),
    ] = None,
    seed: Seed = 1,
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--simulate",
            metavar="FILE",
            help="In place of a target: search what another tuner recorded (Kernel Tuner's cache,"
            " T4, KTT's results), with its times.",
        ),
    ] = None,
    t1: Annotated[
        Path | None,
        typer.Option("--t1-output", metavar="FILE", help="Write the space and the launch as T1."),
    ] = None,
    t4: Annotated[
        Path | None,
        typer.Option(
            "--t4-output", metavar="FILE", help="Write all that was measured, as T4 results."
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--kernel-tuner-cache",
            metavar="FILE",
            help="Write all that was measured, as a cache of Kernel Tuner.",
        ),
    ] = None,
    run: RunFolder = None,
    backend: Backend = AUTO,
    devices: Devices = "all",
    workers: Workers = 0,
    jobs: Jobs = 0,
    no_cache: NoCache = False,
    force: Force = False,
) -> None:
    """Search a target's configurations; ends with the best one validated on held-out cases."""
    if train_model is not None or training is not None:
        where = None if recorded else train_model
        on = evaluations, seed, backend, devices, jobs
        train(where, target, training, *on, no_cache=no_cache, force=force)
        return
    if model is not None:
        if searcher != profile.SEARCHER.name:
            raise UserError(
                f"the searcher {searcher} has no model",
                where="--model",
                hint="add --searcher profile",
            )
        searcher = f"{profile.PREFIX}{model.resolve()}"
    kind = find_searcher(searcher, "--searcher")
    if recorded is not None:
        if target is not None:
            raise UserError(
                "a recorded space has no target",
                where="--simulate",
                hint=f"either `gi-cuda tune {target}` or `gi-cuda tune --simulate {recorded}`",
            )
        found = simulate(read_recorded(recorded), kind, seed, evaluations, until=until)
        _say_simulated(found, recorded)
        return
    if target is None:
        raise UserError(
            "no target is named",
            where="tune TARGET",
            hint="type gi-cuda tune TARGET, or gi-cuda tune --simulate FILE",
        )
    population, generations = _generations(evaluations)
    read = load_target(target)
    folder = run or default_folder(read.name)
    if t1 is not None:  # write it first, since this may refuse the target
        _write_t1(t1, read, chosen_backend(backend))
    ended = None
    try:
        evolve.command(
            target,
            run=folder,
            preset=f"{PREFIX}{searcher}",
            population=population,
            generations=generations,
            seed=seed,
            time=time,
            backend=backend,
            devices=devices,
            workers=workers,
            jobs=jobs,
            no_cache=no_cache,
            force=force,
            until=until,
        )
    except typer.Exit as error:  # the measurements can be exported nevertheless
        ended = error
    if (t4 or cache) and (folder / DATABASE).is_file():
        with open_store(folder) as store:
            subject, device = stored_subject(store, folder), str(store.get("device"))
            rows = list(measured(store, subject))
        _write_results(subject, device, rows, t4, cache)
    if ended is not None:
        raise ended


def _generations(evaluations: int | None) -> tuple[int | None, int | None]:
    """Return a population and a number of generations for at least so many evaluations."""
    if evaluations is None:
        return None, None
    generations = math.ceil(evaluations / SETTINGS.population)
    return math.ceil(evaluations / generations), generations


def _write_t1(path: Path, target: Target, backend: str) -> None:
    """Write a target's space, and its launch on the first case, as a T1 file."""
    space, case = Space.from_target(target, backend), load_case(target, target.cases[0])
    sizes = buffer_sizes(target, space.default, case)
    scalars = {name: value.item() for name, value in case.scalars.items()}
    write_json(path, t1_description(target, space, sizes, scalars))
    say(console, f"wrote {path}: the space")


def _write_results(
    subject: Subject, device: str, rows: Sequence[Measured], t4: Path | None, cache: Path | None
) -> None:
    """Write a run's measurements in the formats of other tuners."""
    target, space = subject.target, subject.space
    if t4 is not None:
        write_json(t4, t4_results(rows, target.name, device))
    if cache is not None:
        values = {one.name: one.values for one in space.parameters}
        write_json(cache, kernel_tuner_cache(values, rows, target.name, device))
    for path in filter(None, (t4, cache)):
        say(console, f"wrote {path}: {counted(len(rows), 'configuration')}")


def _say_simulated(found: Simulated, file: Path) -> None:
    """Print the progress of a search in a recorded space."""
    recorded = found.recorded
    of = " of ".join(filter(None, (recorded.kernel, recorded.device)))
    failing = Counter(recorded.reasons.values()).most_common()
    words = [f"{counted(len(recorded.costs), 'configuration')} recorded{f' ({of})' if of else ''}"]
    words += [f"{count} with {reason}" for reason, count in failing]
    say(console, f"{file}: {', '.join(words)}; the best takes {recorded.optimum:.4g} ms")
    rows = table(
        f"searched with {found.searcher}",
        *right("evaluations", "ms", "of the best speed"),
        *whole("configuration"),
    )
    for number, point, cost in found.improvements():
        values = recorded.grid.configuration(point)
        rows.add_row(
            str(number),
            f"{cost:.4g}",
            f"{recorded.optimum / cost:.1%}",
            " ".join(f"{name}={value}" for name, value in values.items()),
        )
    print_table(console, rows)
    took = f", which took {found.seconds:,.0f} s as recorded" if found.seconds else ""
    say(console, f"{counted(len(found.points), 'evaluation')} in all{took}")
    true = f" (it is {found.true_rest:.3g} times as fast)" if found.true_rest else ""
    say(console, f"{rest_words(found.rest)}{true}")
