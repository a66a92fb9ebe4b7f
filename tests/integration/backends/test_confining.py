"""PTX is confined beside the process that asks for it, and nothing of that stays."""

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
from gi_cuda.backends.cuda.ptx.confining import confine_file
from tests.processes import MARK, family, outlive

SAMPLES = sorted((Path(__file__).parents[2] / "sources" / "ptx").glob("*.ptx"))
ASKING = """
import sys
from pathlib import Path
from gi_cuda.backends.cuda.ptx.confining import confine_file
for line in sys.stdin:
    confine_file(Path(line.strip()))
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

    def confine(self, path: Path) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
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


def copied(sample: Path, folder: Path, name: str = "text.ptx") -> Path:
    path = folder / name
    path.write_bytes(sample.read_bytes())
    return path


def test_files_are_confined_in_their_place_for_many_at_once(tmp_path: Path) -> None:
    texts = SAMPLES * 4
    files = [copied(text, tmp_path, f"{at}.ptx") for at, text in enumerate(texts)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(confine_file, files))
    for sample, file in zip(texts, files, strict=True):
        assert file.read_text(encoding="utf-8") == confined_module(sample.read_text("utf-8"))


def test_what_is_wrong_with_a_text_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "strange.ptx"
    text = ".version 9.0\n.target sm_90\n.address_size 64\n .visible .entry k()\n{\n\tret;\n}\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match="not confined"):
        confine_file(path)


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_who_asked(asking: Asking, tmp_path: Path, number: int) -> None:
    asking.confine(copied(SAMPLES[0], tmp_path))
    assert asking.others()
    asking.process.send_signal(number)
    outlive(asking.mark)


@needs_proc
def test_nothing_outlives_who_ended(asking: Asking, tmp_path: Path) -> None:
    asking.confine(copied(SAMPLES[0], tmp_path))
    assert asking.process.stdin is not None
    asking.process.stdin.close()
    assert asking.process.wait() == 0
    assert not family(asking.mark)


@needs_proc
def test_a_text_is_confined_though_its_process_was_killed(asking: Asking, tmp_path: Path) -> None:
    asking.confine(copied(SAMPLES[0], tmp_path))
    for _ in range(2):
        for pid in asking.others():
            os.kill(pid, signal.SIGKILL)
        path = copied(SAMPLES[1], tmp_path)
        asking.confine(path)
        assert path.read_text("utf-8") == confined_module(SAMPLES[1].read_text("utf-8"))
