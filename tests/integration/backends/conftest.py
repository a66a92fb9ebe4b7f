"""Compile real kernels for the host, and run each in a process of its own that may crash."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.host.build.library import (
    COMPILE_OPTIONS,
    INCLUDE,
    build_library,
    find_compiler,
)
from gi_cuda.backends.host.build.preamble import preamble
from gi_cuda.backends.host.build.precompiled import headers_first
from gi_cuda.backends.host.build.prepare import prepare, variant_text
from gi_cuda.backends.host.build.static_shared import with_guards
from gi_cuda.backends.host.running.runtime import HostLaunchError, Runtime
from gi_cuda.backends.host.running.shard import Shard
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.spec import Texture, View

_INCLUDE = re.compile(r"^\s*#include.*", re.M)
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Outcome:
    """Result of a launch in a child process.

    Attributes:
        status: as in ``subprocess``: negative for a signal.
        report: text that the runtime wrote before a signal.
        error: kind and message of a HostLaunchError, or empty.
        outputs: the buffers after the launch.
        switches: fibre switches of the launch.
    """

    status: int
    report: str
    error: str = ""
    outputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    switches: int = 0


class Host:
    """Compiler and launcher of kernels, under a schedule or in the natural order.

    Attributes:
        folder: folder for compiled shards.
        shards: compiled shards, by source.
    """

    def __init__(
        self,
        folder: Path,
        library: Path,
        shards: dict[str, Path],
        schedule: Schedule | None = None,
    ) -> None:
        self.folder = folder
        self.library = library
        self.shards = shards
        self.schedule = schedule

    def compile(
        self,
        text: str,
        kernels: Sequence[str],
        symbols: Sequence[str] = (),
        prelude: str = "",
        exports: Sequence[str] = (),
        options: Sequence[str] = ("-O2",),
    ) -> Path:
        """Compile a text to a shard; raise RuntimeError with the compiler's messages on failure."""
        # What a text includes comes in front of it, as it does in a shard.
        front = "".join(f"{line.strip()}\n" for line in text.splitlines() if "#include" in line)
        body = variant_text("v0", prepare(_INCLUDE.sub("", text)), kernels, symbols)
        whole = "\n".join([prelude, preamble(front, [text]), body, *exports, ""])
        key = " ".join([whole, *options])
        if key in self.shards:
            return self.shards[key]
        # Of a name of its own: a loader takes what has the name of a loaded library for that one.
        name = f"shard{len(self.shards)}"
        source, shard = self.folder / f"{name}.cpp", self.folder / f"{name}.so"
        assembly = source.with_suffix(".s")
        source.write_text(whole)
        made = source.with_suffix(".o")
        compiler, words = find_compiler(), [*COMPILE_OPTIONS, *options]
        # Compiled headers serve only where they come first, as they do in a shard.
        ready = () if prelude else headers_first(compiler, words)
        command = [compiler, *ready, *words, f"-I{INCLUDE}"]
        self.step([*command, source, "-S", "-o", assembly])
        assembly.write_text(with_guards(assembly.read_text()))
        self.step([compiler, "-c", assembly, "-o", made])
        self.step([*command, made, "-o", shard])
        self.shards[key] = shard
        return shard

    def step(self, command: Sequence[str | Path]) -> None:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def run(
        self,
        text: str,
        arguments: Mapping[str, np.ndarray | np.generic],
        grid: Sequence[int],
        block: Sequence[int],
        *,
        shared: int = 0,
        limit: float = 20.0,
        symbols: Mapping[str, np.ndarray] | None = None,
        textures: Mapping[str, tuple[str, int, bool] | View] | None = None,
        exports: Sequence[str] = (),
        options: Sequence[str] = ("-O2",),
        masks: str = "checked",
        sample: int = 0,
    ) -> Outcome:
        """Compile the text and launch its kernel k with these arguments, in order.

        The names of textures and surfaces describe them: views, and for linear memory the
        component's type,
        the components of a texel, and whether they are normalized.
        """
        kernels = [] if exports else ["k"]
        job = {
            "library": self.library,
            "shard": self.compile(
                text,
                kernels,
                list(symbols or ()),
                exports=exports,
                options=options,
            ),
            "arguments": dict(arguments),
            "grid": tuple(grid),
            "block": tuple(block),
            "shared": shared,
            "limit": limit,
            "symbols": dict(symbols or {}),
            "textures": dict(textures or {}),
            "schedule": self.schedule,
            "masks": masks,
            "sample": sample,
        }
        report = self.folder / "report"
        receiver, sender = _FORK.Pipe(duplex=False)
        child = _FORK.Process(target=_launch, args=(job, sender, report))
        child.start()
        sender.close()
        answer: dict[str, Any] = {}
        with receiver, suppress(EOFError):
            answer = receiver.recv()
        child.join()
        assert child.exitcode is not None
        return Outcome(child.exitcode, report.read_text(), **answer)


def _launch(job: Mapping[str, Any], sender: Connection, report: Path) -> None:
    """Run one launch in this process, which it may crash."""
    faulthandler.disable()
    os.dup2(os.open(report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    runtime = Runtime(job["library"])
    runtime.report(2)
    runtime.limit(job["limit"])
    runtime.sample(job["sample"])
    if job["masks"] == "device":
        runtime.take_masks_as_devices()
    shard = Shard(job["shard"])
    for name, value in job["symbols"].items():
        shard.symbol("v0", name)[:] = value.view(np.uint8)

    buffers = {}
    arguments: list[Any] = []
    for name, value in job["arguments"].items():
        if not isinstance(value, np.ndarray):
            arguments.append(value)
            continue
        buffer = runtime.alloc(name, value.dtype, value.size)
        buffer[:] = value.ravel()
        buffers[name] = buffer
        if name in job["textures"]:
            view = job["textures"][name]
            if not isinstance(view, View):
                dtype, *shape = view
                view = View(Texture(name, name, np.dtype(dtype), *shape), name)
            arguments.append(runtime.view(view, buffer))
        else:
            arguments.append(buffer)

    kernel = shard.kernel("v0", "k")
    error, before = "", runtime.switches
    try:
        with runtime.scheduled(job["schedule"], 5):
            runtime.run(runtime.call(kernel, arguments, job["grid"], job["block"], job["shared"]))
    except HostLaunchError as problem:
        error = f"{type(problem).__name__}: {problem}"
    sender.send(
        {
            "error": error,
            "outputs": {name: buffer.copy() for name, buffer in buffers.items()},
            "switches": runtime.switches - before,
        }
    )


@pytest.fixture(scope="session")
def library() -> Path:
    # The one that other tests of this process load as well: a process has only one.
    return build_library()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shards")


@pytest.fixture(scope="session")
def shards() -> dict[str, Path]:
    return {}


@pytest.fixture
def host(
    request: pytest.FixtureRequest, folder: Path, library: Path, shards: dict[str, Path]
) -> Host:
    return Host(folder, library, shards, getattr(request, "param", None))
