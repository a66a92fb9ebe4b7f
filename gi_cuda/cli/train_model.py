"""``gi-cuda tune --train-model``: a model of hardware counters, for the searcher ``profile``."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.cli.console import console
from gi_cuda.cli.files import check_new
from gi_cuda.errors import UserError
from gi_cuda.report.tables import counted, say
from gi_cuda.tune.counter_model import CounterModel
from gi_cuda.tune.exports import write_json
from gi_cuda.tune.recorded import read_recorded


def train(file: Path | None, recorded: Path | None, *, force: bool) -> None:
    """Train a model on configurations with their counters, and write its file.

    Raises:
        UserError: a file is not named, exists, or has no counters.
    """
    if file is None or recorded is None:
        raise UserError(
            "a model has a file, and is trained on a recorded tuning",
            where="--train-model",
            hint="gi-cuda tune --train-model FILE --from RECORDED",
        )
    check_new(file, force=force)
    read = read_recorded(recorded)
    rows = [(read.grid.configuration(point), one) for point, one in read.counters.items()]
    write_json(file, CounterModel.trained(rows, str(recorded)).as_json())
    say(console, f"wrote {file}: a model of the counters of {counted(len(rows), 'configuration')}")
