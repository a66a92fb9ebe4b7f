"""Isolation of processes that run untrusted kernels, tested with real processes."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.host.running.isolation import isolation
from gi_cuda.backends.host.running.shard import closed

seccomp = pytest.mark.skipif("seccomp" not in isolation(), reason="the system filters no calls")


def tried(action: str, readable: Path) -> subprocess.CompletedProcess[str]:
    """A process that is isolated and does something then."""
    program = (
        "import os, socket, subprocess, threading\n"
        "from pathlib import Path\n"
        "from gi_cuda.backends.host.running.isolation import isolate\n"
        f"isolate([Path({str(readable)!r})])\n{action}\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


@seccomp
@pytest.mark.parametrize(
    "action",
    [
        "socket.socket()",
        "subprocess.run(['true'])",
        "os.fork()",
        "os.kill(os.getppid(), 0)",
        "os.execv('/bin/true', ['true'])",
    ],
)
def test_what_reaches_others_ends_the_process(action: str, tmp_path: Path) -> None:
    assert tried(action, tmp_path).returncode == -31  # SIGSYS


@seccomp
@pytest.mark.parametrize(
    "action",
    [
        "open('made', 'w')",
        "os.open('there', os.O_RDWR)",
        "os.mkdir('made')",
        "os.unlink('there')",
        "os.rename('there', 'made')",
    ],
)
def test_no_file_is_written(action: str, tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    ended = tried(f"os.chdir({str(tmp_path)!r})\n{action}", tmp_path)
    assert "PermissionError" in ended.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["there"]


@seccomp
def test_what_a_worker_does_goes_on(tmp_path: Path) -> None:
    (tmp_path / "library").write_text("code")
    ended = tried(
        f"print(Path({str(tmp_path / 'library')!r}).read_text())\n"
        "import decimal\n"
        "one = threading.Thread(target=lambda: print('thread'))\n"
        "one.start(), one.join()\n"
        "os.write(os.memfd_create('copy'), b'x')\n",
        tmp_path,
    )
    assert ended.stdout.split() == ["code", "thread"], ended.stderr


@pytest.mark.skipif("Landlock" not in isolation(), reason="the system hides no files")
def test_only_code_is_read(tmp_path: Path) -> None:
    for name in ("code", "answers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    ended = tried(f"open({str(tmp_path / 'answers' / 'file')!r})", tmp_path / "code")
    assert "PermissionError" in ended.stderr


def test_arrays_of_files_cannot_be_touched_while_they_are_closed(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_bytes(bytes(range(64)))
    array = np.memmap(file, np.uint8, "r").view(np.ndarray)
    with closed([array[16:32]]):
        child = os.fork()
        if not child:
            faulthandler.disable()
            os._exit(int(array[20]))
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 11  # SIGSEGV
    assert array[20] == 20
