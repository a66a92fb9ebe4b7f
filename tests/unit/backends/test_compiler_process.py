"""Compilers that fail because of the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gi_cuda.backends.compile.process import CompilerKilled, run
from gi_cuda.errors import MachineError

DIES = """
echo >> "$0.started"
[ $(wc -l < "$0.started") -gt "$1" ] && exit 0
"""


def script(folder: Path, text: str) -> Path:
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


def started(compiler: Path) -> int:
    return len(Path(f"{compiler}.started").read_text().splitlines())


@pytest.mark.parametrize(
    "death",
    [
        "kill -9 $$",
        "kill -TERM $$",
        "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1",
        "echo \"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\" >&2; exit 9",
        "echo 'clang: error: unable to execute command: Killed' >&2; exit 254",
        "echo 'cc1plus: out of memory allocating 65536 bytes' >&2; exit 1",
    ],
)
def test_one_that_is_killed_is_started_again(death: str, tmp_path: Path) -> None:
    compiler = script(tmp_path, DIES + death)
    assert run([compiler, "1"], limit=60).ok
    assert started(compiler) == 2


def test_one_that_is_killed_each_time_is_no_verdict(tmp_path: Path) -> None:
    compiler = script(tmp_path, DIES + "kill -9 $$")
    with pytest.raises(CompilerKilled, match="3 times"):
        run([compiler, "99"], limit=60)
    assert started(compiler) == 3


@pytest.mark.parametrize("death", ["kill -SEGV $$", "echo 'k.cu:1: error: Killed it' >&2; exit 1"])
def test_one_that_fails_over_what_it_reads_is_started_once(death: str, tmp_path: Path) -> None:
    compiler = script(tmp_path, DIES + death)
    assert not run([compiler, "99"], limit=60).ok
    assert started(compiler) == 1


def test_a_full_disk_is_no_verdict(tmp_path: Path) -> None:
    said = "fatal error: error writing to /tmp/ccx.s: No space left on device"
    compiler = script(tmp_path, f"echo '{said}' >&2; exit 1")
    with pytest.raises(MachineError, match="the disk is full"):
        run([compiler], limit=60)


def test_compilers_give_way_with_all_that_they_start() -> None:
    """The input is sent only after the priority of the compiler is set."""
    done = run(["sh", "-c", "read go && nice"], limit=60.0, stdin="go\n")
    assert int(done.stdout) == min(19, os.nice(0) + 5)
