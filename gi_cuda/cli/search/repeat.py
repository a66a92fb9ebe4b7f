"""``gi-cuda repeat``: run the same search with several seeds, and compare the results."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from gi_cuda.analyze.finalists.winner import is_validated
from gi_cuda.analyze.stored.listing import Standing, list_runs
from gi_cuda.backends.table import backend_named, open_backend, resolved
from gi_cuda.cli.console import console
from gi_cuda.cli.next_steps import say_next
from gi_cuda.cli.options import TargetPath, cores, devices_of
from gi_cuda.cli.search import evolve, resume
from gi_cuda.cli.search.allowance import VALIDATIONS, time_for
from gi_cuda.cli.search.side_by_side import SideBySide
from gi_cuda.cli.stopping import STATUS
from gi_cuda.errors import UserError
from gi_cuda.report.results.runs import found_words, runs_table
from gi_cuda.report.tables import print_table, say
from gi_cuda.runs.folder import restored
from gi_cuda.runs.stored import DATABASE, open_store, stored_plan
from gi_cuda.spec import content_hash, load_target

OPTIONS = "options.json"
"""Name of the file beside the runs that records their options, written with the first run."""

_OWN = ("target", "run", "seed", "force", "others")
"""Options of ``evolve`` that ``repeat`` sets itself."""

MOST = 1000
"""Largest number of seeds."""

_ON_RESUME = ("no_cache", "cluster", "cluster_compiles")
_NOT_ALIKE = ("jobs", "workers", "devices", *_ON_RESUME)
"""Options that may differ between runs that are compared."""


def command(
    target: TargetPath,
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="SEEDS", help="E.g. 1..10, or 1,4,7..9.")
    ] = "1..10",
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            help="Folder for the runs, seed-1 and so on.",
            show_default="runs/<target>-<preset>",
        ),
    ] = None,
    **options: Any,
) -> None:
    """Evolve a target once for each seed, and say what the runs found together: on several GPUs a
    seed on each, else one after the other. The same command goes on where it was stopped: it skips
    what is done. All other options are those of evolve."""
    numbers = read_seeds(seeds)
    name = f"{load_target(target).name}-{options['preset'].replace(':', '-')}"
    folder = into or Path("runs") / name
    again = shlex.join(["gi-cuda", *sys.argv[1:]])
    if folder.exists() and not folder.is_dir():
        raise UserError(
            "there is a file in the place of the runs",
            where=str(folder),
            hint="choose another folder with --into",
        )
    made_with = _made_with(folder, target, options)
    runs = {seed: folder / f"seed-{seed}" for seed in numbers}
    devices = _devices(options)
    try:
        if len(devices) > 1 < len(runs):
            search_side_by_side(runs, devices, options["jobs"])
        else:
            _search_in_turn(target, runs, options)
    except (KeyboardInterrupt, typer.Exit) as ended:
        if getattr(ended, "exit_code", STATUS) == STATUS:
            say_next(again, "go on with all seeds")
        raise
    finally:
        if list_runs(folder):
            _keep(folder / OPTIONS, made_with)
    there = [one for one in list_runs(folder) if one.folder in runs.values()]
    print_table(console, runs_table(there))
    say(console, found_words(there))
    if len(there) < len(runs) or not all(
        isinstance(one.standing, Standing) and one.standing.validated for one in there
    ):
        say_next(again, "go on with the runs that are not validated")
        raise typer.Exit(1)
    say_next(f"gi-cuda report {shlex.quote(str(folder))}/seed-*", "compare the runs on one page")


def _with_options_of_evolve() -> None:
    """Add the options of ``evolve`` to :func:`command`, in place of ``options``.

    They are then parsed, completed and explained in the same way.
    """
    own = signature(command, eval_str=True)
    named = {name: one for name, one in own.parameters.items() if name != "options"}
    others = signature(evolve.command, eval_str=True).parameters
    kept = [one for name, one in others.items() if name not in _OWN]
    command.__signature__ = own.replace(parameters=[*named.values(), *kept])  # type: ignore[attr-defined]


_with_options_of_evolve()


def read_seeds(text: str) -> list[int]:
    """Return the seeds in a text such as ``1..10`` or ``1,4,7..9``, in this order.

    Raises:
        UserError: the text holds no seeds, or too many.
    """
    seeds: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:\.\.(\d{1,9}))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < first + MOST:
            raise UserError(
                f"{part!r} names no seeds, or more than {MOST}",
                where="--seeds",
                hint="e.g. 1..10, or 1,4,7..9",
            )
        seeds |= dict.fromkeys(range(first, last + 1))
    return list(seeds)


def _made_with(folder: Path, target: Path, options: Mapping[str, Any]) -> str:
    """Return the options that affect the results of runs, as JSON for the file beside the runs.

    Raises:
        UserError: existing runs were made with other options.
    """
    alike = {name: value for name, value in options.items() if name not in _NOT_ALIKE}
    alike["target"] = content_hash(load_target(target))
    said = json.dumps(alike, default=str, indent=1)
    now, file = json.loads(said), folder / OPTIONS
    before = json.loads(file.read_text("utf-8")) if file.is_file() else now
    if differs := [name for name in now if now[name] != before.get(name)]:
        words = {"target": "the target", "start": "--from"}
        raise UserError(
            "the runs here were made with something else for "
            + ", ".join(words.get(one, f"--{one}") for one in differs),
            where=str(folder),
            hint="give the options of before, or choose another folder with --into",
        )
    return said


def _keep(file: Path, text: str) -> None:
    """Write a file atomically, since other processes may read and write it at the same time."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    new.write_text(text, "utf-8")
    new.replace(file)


def _devices(options: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the devices that seeds can be divided among, all of one kind."""
    backend, _ = resolved(options["backend"])
    if options["cluster"] or not backend_named(backend).gpu:
        return []
    return [
        one.number for one in open_backend(backend, devices_of(backend, options["devices"])).devices
    ]


def _search_in_turn(target: Path, runs: Mapping[int, Path], options: Mapping[str, Any]) -> None:
    """Run the searches one after the other."""
    for done, (seed, run) in enumerate(runs.items(), 1):
        say(console, f"seed {seed}, {done} of {len(runs)}: {run}")
        try:
            _search(target, run, seed, options)
        except typer.Exit as ended:
            if ended.exit_code == STATUS:
                raise


def search_side_by_side(runs: Mapping[int, Path], devices: Sequence[int], jobs: int) -> None:
    """Run each search in a process of its own, as many at a time as there are devices.

    Args:
        jobs: compiler processes of each search; 0 to divide the cores.

    Raises:
        UserError: a search cannot begin.
    """
    each = jobs or max(1, cores() // len(devices))
    statuses: dict[int, int] = {}

    def start(seed: int, device: int) -> subprocess.Popen[bytes]:
        run, log = runs[seed], _log(runs[seed])
        say(console, f"seed {seed} on GPU {device}: {run}, its output is in {log}")
        # If an option is given twice, the last value counts.
        own = ["--seeds", str(seed), "--devices", str(device), "--jobs", str(each)]
        words = [sys.executable, "-m", "gi_cuda", *sys.argv[1:], *own]
        with log.open("ab") as out:
            return subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )

    def ended(seed: int, device: int, status: int) -> None:
        statuses[seed] = status
        said = {0: "done", 1: "not validated", STATUS: "stopped"}
        say(console, f"seed {seed} on GPU {device}: {said.get(status, f'failed, status {status}')}")

    for run in runs.values():
        run.parent.mkdir(parents=True, exist_ok=True)
    SideBySide(list(runs), _begun_on(runs), start, ended, fatal=(2, STATUS)).run(devices)
    if STATUS in statuses.values():
        raise typer.Exit(STATUS)
    if wrong := [seed for seed, status in statuses.items() if status == 2]:
        raise UserError(
            f"the search with seed {wrong[0]} cannot begin or go on",
            where=str(_log(runs[wrong[0]])),
            hint="the last lines there say why, and what to do",
        )


def _begun_on(runs: Mapping[int, Path]) -> dict[int, int]:
    """Return the device of each run that has begun."""
    begun = {}
    for seed, run in runs.items():
        if (run / DATABASE).is_file():
            with open_store(run) as store:
                if devices := stored_plan(store).devices:
                    begun[seed] = devices[0]
    return begun


def _log(run: Path) -> Path:
    return run.with_name(f"{run.name}.txt")


def _search(target: Path, run: Path, seed: int, options: Mapping[str, Any]) -> None:
    """Begin a run, or resume it for the rest of its time; skip a finished run."""
    if not restored(run).exists():
        others = [one.folder for one in list_runs(run.parent)]
        evolve.command(target, run=run, seed=seed, others=others, **options)
        return
    with open_store(run) as store:
        if is_validated(store):
            say(console, "done already")
            return
        plan, prepared = stored_plan(store), store.get("prepared", 0.0)
        time = time_for(options["time"], options["generations"], store.get("backend"))
        if time is not None:
            spent = prepared + sum(one.phases.wall for one in store.generations())
            time = max(time - spent, VALIDATIONS * prepared)
    resume.command(
        run,
        generations=plan.settings.generations,
        time=time,
        **{name: options[name] for name in _ON_RESUME},
    )
