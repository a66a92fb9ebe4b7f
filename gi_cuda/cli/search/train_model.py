"""``gi-cuda tune --train-model``: train a model of hardware counters for the searcher
``profile``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from gi_cuda.analyze.profiling import counters_of, find_ncu
from gi_cuda.backends import cores
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.console import console
from gi_cuda.cli.files import check_new, scratch_folder
from gi_cuda.cli.options import cache_unless, chosen_backend, devices_of
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.report.progress import Steps
from gi_cuda.report.tables import counted, say
from gi_cuda.runs.tools import open_tools
from gi_cuda.spec.parameters import Value
from gi_cuda.tune.counter_model import CounterModel
from gi_cuda.tune.counters import Counters
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.records.exports import write_json
from gi_cuda.tune.records.recorded import read_recorded
from gi_cuda.tune.searchers import SEARCHERS

PROFILED = 64
"""Default number of profiled configurations; each takes some seconds."""


def train(
    file: Path | None,
    target: Path | None,
    recorded: Path | None,
    number: int | None,
    seed: int,
    backend: str,
    devices: str,
    jobs: int,
    *,
    no_cache: bool,
    force: bool,
) -> None:
    """Train a model on configurations with their counters, and write it to a file.

    Args:
        number: number of configurations of the target to profile; None for :data:`PROFILED`.
        seed: determines the configurations.

    Raises:
        UserError: not exactly one of target and recorded tuning is given, the back end has no
            counters, ncu is missing, or no configuration has counters.
    """
    if file is None or (target is None) == (recorded is None):
        raise UserError(
            "a model has a file, and is trained either on a target or on a recorded tuning",
            where="--train-model",
            hint="gi-cuda tune TARGET --train-model FILE,"
            " or gi-cuda tune --train-model FILE --from RECORDED",
        )
    check_new(file, force=force)
    rows: list[tuple[Mapping[str, Value], Counters]] = []
    if recorded is not None:
        read = read_recorded(recorded)
        rows += ((read.grid.configuration(point), one) for point, one in read.counters.items())
    elif target is not None:
        backend = chosen_backend(backend)
        if not backend_named(backend).gpu:
            raise UserError(
                f"the {backend} back end has no hardware counters",
                where="--train-model",
                hint="use a GPU (--backend cuda), or a recorded tuning (--from RECORDED)",
            )
        ncu, cache = find_ncu(), cache_unless(no_cache)
        with scratch_folder() as folder, Steps(console) as tell:
            tell("reading the target and its source")
            subject = open_subject(target, backend, "source")
            grid, chosen = Grid.of_space(subject.space), devices_of(backend, devices)
            points = SEARCHERS["random"].make(grid, random.Random(seed)).ask(number or PROFILED)
            some = [subject.space.chosen(grid.configuration(point)) for point in points]
            jobs = jobs or cores()
            given = partial(open_tools, subject, folder, workers=1, jobs=jobs, cache=cache)
            with given(devices=chosen) as tools:
                rows += counters_of(tools, ncu, some, tell)
    write_json(file, CounterModel.trained(rows, str(target or recorded)).as_json())
    say(console, f"wrote {file}: a model of the counters of {counted(len(rows), 'configuration')}")
