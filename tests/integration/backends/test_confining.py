"""Confinement of PTX in a process of its own, which leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gi_cuda.backends.cuda.ptx.confine import confined_module
from gi_cuda.backends.cuda.ptx.confining import write_confined
from tests.processes import MARK, family, outlive

SAMPLES = sorted((Path(__file__).parents[2] / "sources" / "ptx").glob("*.ptx"))
ASKING = """
import sys
from pathlib import Path
from gi_cuda.backends.cuda.ptx.confining import write_confined
for line in sys.stdin:
    sample, path = map(Path, line.split())
    write_confined(path, sample.read_text("utf-8"))
    print("done", flush=True)
"""

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


class Asking:
    """A process that has files confined."""

    def __init__(self) -> None:
        self.mark = str(uuid.uuid4())
        self.process = subprocess.Popen(
            [sys.executable, "-c", ASKING],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, MARK: self.mark},
        )

    def confine(self, sample: Path, path: Path) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{sample} {path}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def others(self) -> list[int]:
        """The processes that it started."""
        return [pid for pid in family(self.mark) if pid != self.process.pid]


@pytest.fixture
def asking() -> Iterator[Asking]:
    one = Asking()
    with one.process:
        yield one
        one.process.kill()
    for pid in family(one.mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_texts_are_confined_for_many_at_once(tmp_path: Path) -> None:
    texts = [sample.read_text("utf-8") for sample in SAMPLES * 4]
    files = [tmp_path / f"{at}.ptx" for at in range(len(texts))]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write_confined, files, texts))
    for text, file in zip(texts, files, strict=True):
        assert file.read_text("utf-8") == confined_module(text)


def test_what_is_wrong_with_a_text_comes_out(tmp_path: Path) -> None:
    text = ".version 9.0\n.target sm_90\n.address_size 64\n .visible .entry k()\n{\n\tret;\n}\n"
    with pytest.raises(AssertionError, match="not confined"):
        write_confined(tmp_path / "strange.ptx", text)


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_who_asked(asking: Asking, tmp_path: Path, number: int) -> None:
    asking.confine(SAMPLES[0], tmp_path / "text.ptx")
    assert asking.others()
    asking.process.send_signal(number)
    outlive(asking.mark)


@needs_proc
def test_nothing_outlives_who_ended(asking: Asking, tmp_path: Path) -> None:
    asking.confine(SAMPLES[0], tmp_path / "text.ptx")
    assert asking.process.stdin is not None
    asking.process.stdin.close()
    assert asking.process.wait() == 0
    outlive(asking.mark)


@needs_proc
def test_a_text_is_confined_though_its_process_was_killed(asking: Asking, tmp_path: Path) -> None:
    asking.confine(SAMPLES[0], tmp_path / "text.ptx")
    for _ in range(2):
        for pid in asking.others():
            os.kill(pid, signal.SIGKILL)
        path = tmp_path / "text.ptx"
        asking.confine(SAMPLES[1], path)
        assert path.read_text("utf-8") == confined_module(SAMPLES[1].read_text("utf-8"))
