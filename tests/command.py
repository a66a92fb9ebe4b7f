"""``gi-cuda`` as a user starts it: a process of its own with words, a folder and an environment.

It is forked from a process that has the libraries loaded, which saves a second each time;
``gi_cuda.cli`` itself is loaded anew. ``test_run_killed.py`` starts the command without that.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "matplotlib.pyplot",
        "numpy.ma",
        "rich.progress",
        "rich.table",
        "typer.rich_utils",
        "gi_cuda.analyze.acceptance",
        "gi_cuda.analyze.interactions",
        "gi_cuda.analyze.minimization",
        "gi_cuda.baseline",
        "gi_cuda.run",
        "gi_cuda.scaffold",
        "gi_cuda.search",
        "gi_cuda.submission",
        "gi_cuda.target.assemble",
        __name__,
    ]
)

_STATUS = threading.Lock()
"""Starting a process also reads the exit status of those that ended; the thread that waits for one
of them would find nothing left to read, and take that for exit status 255."""

Done = subprocess.CompletedProcess[str]


def gi_cuda(*words: object, cwd: Path | None = None, **environment: str) -> Done:
    """Run the command to its end; what it said, and its exit status."""
    line = ["gi-cuda", *map(str, words)]
    everything = {**os.environ, "COLUMNS": "200", **environment}
    with tempfile.TemporaryDirectory() as folder:
        said, complained = Path(folder) / "stdout", Path(folder) / "stderr"
        streams = [os.devnull, str(said), str(complained)]
        arguments = (line, str(cwd or Path.cwd()), everything, streams)
        process = _CONTEXT.Process(target=_main, args=arguments)
        with _STATUS:
            process.start()
        wait([process.sentinel])
        with _STATUS:
            process.join()
        assert process.exitcode is not None
        texts = [path.read_text("utf-8") for path in (said, complained)]
    return Done(line, process.exitcode, *texts)


def check(target: object, *words: object, cwd: Path | None = None) -> Done:
    """``gi-cuda check``; again where it says that the machine was too noisy, which one that runs
    tests is now and then."""
    for _ in range(4):
        done = gi_cuda("check", target, *words, cwd=cwd)
        if "too noisy" not in done.stderr:
            break
    return done


def _main(
    line: Sequence[str], folder: str, environment: Mapping[str, str], streams: Sequence[str]
) -> None:
    for number, stream in enumerate(streams):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
        opened = os.open(stream, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(line)
    assert "gi_cuda.cli" not in sys.modules
    from gi_cuda.cli import main

    main()
