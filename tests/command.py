"""Run ``gi-cuda`` as a user does: in a process of its own, with arguments, folder and environment.

The process is forked from one that has the libraries loaded, which saves a second each time;
``gi_cuda.cli`` itself is loaded anew. Unless :data:`THOROUGH` is set, the command validates in few
processes and proposes small cases for a GPU. ``test_run_killed.py`` starts the command without any
of this.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from socket import socket
from typing import Any

from gi_cuda.analyze.compare import comparison
from gi_cuda.evaluate import replicates
from gi_cuda.runs import run
from gi_cuda.trial import attempts, large
from tests.lent import borrow, lent

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "distributed",
        "encodings.utf_8_sig",
        "importlib.resources.readers",
        "matplotlib.backends.backend_agg",
        "matplotlib.backends.backend_svg",
        "matplotlib.pyplot",
        "numpy.ma",
        "numpy.random",
        "rich._emoji_codes",
        "rich.progress",
        "rich.status",
        "rich.table",
        "typer._adapters",
        "typer._click.decorators",
        "typer.rich_utils",
        "gi_cuda.analyze.external_ideas",
        "gi_cuda.analyze.compare.imports",
        "gi_cuda.analyze.finalists.finalist_validation",
        "gi_cuda.analyze.interactions.algorithm",
        "gi_cuda.analyze.minimizing.minimize",
        "gi_cuda.analyze.finalists.neutral",
        "gi_cuda.analyze.next_step",
        "gi_cuda.analyze.finalists.racing",
        "gi_cuda.analyze.validate.acceptance",
        "gi_cuda.backends.host.running.races",
        "gi_cuda.capture",
        "gi_cuda.cluster.evaluator",
        "gi_cuda.cluster.replica",
        "gi_cuda.evaluate.reference.baseline",
        "gi_cuda.evaluate.checks.answers",
        "gi_cuda.evaluate.checks.blindness",
        "gi_cuda.evaluate.checks.parameters.effects",
        "gi_cuda.evaluate.checks.inputs",
        "gi_cuda.evaluate.checks.parameters.launched",
        "gi_cuda.evaluate.checks.orders",
        "gi_cuda.evaluate.checks.target_files",
        "gi_cuda.evaluate.checks.unset_locals",
        "gi_cuda.grammar.frontends.cuda.rules.statement_account",
        "gi_cuda.init",
        "gi_cuda.report.as_json",
        "gi_cuda.report.targets.check",
        "gi_cuda.report.page.payload",
        "gi_cuda.report.page.render",
        "gi_cuda.report.page.page_text",
        "gi_cuda.report.targets.convert",
        "gi_cuda.report.results.minimize",
        "gi_cuda.report.progress",
        "gi_cuda.report.targets.untested",
        "gi_cuda.report.results.winner",
        "gi_cuda.runs.create",
        "gi_cuda.search",
        "gi_cuda.spec.toml_file.resolve",
        "gi_cuda.subject.idea_files",
        "gi_cuda.trial",
        "gi_cuda.upstream.letters",
        "gi_cuda.upstream.submission",
        __name__,
    ]
)


def ensure_running() -> None:
    """Start the process that commands are forked from, if it does not run yet."""
    forkserver.ensure_running()


_STATUS = threading.Lock()
"""Starting a process also reads the exit status of those that ended; the thread that waits for one
of them would find nothing left to read, and take that for exit status 255."""

NOISY = ("copies of the reference differ in speed by up to", "this machine is too noisy")
"""Beginnings of the errors for a machine on which nothing can be measured, as a machine that runs
tests is now and then. Such a command leaves nothing behind."""

THOROUGH = "GI_CUDA_TEST_THOROUGH"
"""In the environment of a command that is to validate and compare in as many processes as users'
do, and to propose as much data, where a test asks for that; see ``few_processes`` in
``conftest.py``."""

ATTEMPTS = 4

FEW = replace(replicates.THOROUGH, builds=3)
"""Number of builds that commands of tests measure, instead of the users' number."""

SOON = 0.01
"""Seconds that a case for a GPU takes on the host then."""

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True, slots=True)
class AtWork:
    """A running command."""

    line: Sequence[str]
    process: BaseProcess
    said: Path
    complained: Path

    def ended(self, patience: float | None = None) -> bool:
        """Tell whether it has ended, waiting for some seconds at most.

        Args:
            patience: seconds to wait; None for no limit.
        """
        return bool(wait([self.process.sentinel], patience))

    def end(self) -> Done:
        """Wait for its end; return its output and exit status (negative for a signal)."""
        self.ended()
        with _STATUS:
            self.process.join()
        assert self.process.exitcode is not None
        texts = [path.read_text("utf-8") for path in (self.said, self.complained)]
        return Done(self.line, self.process.exitcode, *texts)

    def kill(self) -> Done:
        """Send SIGKILL; return its output so far."""
        self.process.kill()
        return self.end()


@contextmanager
def begin(*words: object, cwd: Path | None = None, **environment: str) -> Iterator[AtWork]:
    """Start the command; kill it at the end of the context if it still runs."""
    line = ["gi-cuda", *map(str, words)]
    everything = {**os.environ, "COLUMNS": "200", **environment}
    with lent(environment.keys() - {THOROUGH}) as workers, tempfile.TemporaryDirectory() as folder:
        said, complained = Path(folder) / "stdout", Path(folder) / "stderr"
        streams = [os.devnull, str(said), str(complained)]
        arguments = (line, str(cwd or Path.cwd()), everything, streams, workers)
        process = _CONTEXT.Process(target=_main, args=arguments)
        with _STATUS:
            process.start()
        started = AtWork(line, process, said, complained)
        try:
            yield started
        finally:
            if not started.ended(0):
                started.kill()


def quietly(attempt: Callable[[], Done]) -> Done:
    """Run an attempt, again if the machine was too busy to measure; return its result."""
    for _ in range(ATTEMPTS):
        done = attempt()
        if done.returncode != 2 or not any(said in done.stderr for said in NOISY):
            break
    return done


def gi_cuda(*words: object, cwd: Path | None = None, **environment: str) -> Done:
    """Run the command to its end, again if the machine was too busy to measure."""

    def once() -> Done:
        with begin(*words, cwd=cwd, **environment) as started:
            return started.end()

    return quietly(once)


def in_few_processes(change: Callable[[Any, str, object], None]) -> None:
    """Make validations and comparisons use few processes.

    Args:
        change: sets an attribute of a module.
    """
    for module in (run, comparison):
        change(module, "THOROUGH", FEW)


def with_little_data(change: Callable[[Any, str, object], None]) -> None:
    """Make ``init`` propose small cases for a GPU.

    Args:
        change: sets an attribute of a module.
    """
    change(large, "GPU_GOAL", SOON)
    change(attempts, "GPU_BRIEF", SOON / 4)


def _main(
    line: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    streams: Sequence[str],
    workers: socket | None,
) -> None:
    for number, stream in enumerate(streams):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
        opened = os.open(stream, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    # Whoever runs the tests behind a shell's `&` ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(line)
    if workers is not None:
        borrow(workers)
    if THOROUGH not in environment:
        in_few_processes(setattr)
        with_little_data(setattr)
    assert "gi_cuda.cli" not in sys.modules
    from gi_cuda.cli import main

    main()
