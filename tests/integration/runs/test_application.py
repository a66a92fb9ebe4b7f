"""``--application`` on the command line: a run's winner in the application that it is part of."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.analyze.finalists.winner import Winner, stored_winner
from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store
from tests.command import begin, gi_cuda
from tests.processes import MARK, family, outlive
from tests.sweeps import sweep

from .conftest import WASTE, add_winner, git

SOURCES = Path(__file__).parents[2] / "sources" / "application"

KEYS = {
    "build": '"make"',
    "run": '"./scaled 20000 20"',
    "kernel_time": "'kernel time: ([0-9.]+) ms'",
    "pairs": "4",
}
REFUSING = {"build": '''"grep -q 'waste +=' kernel.cu && make"'''}
"""Keys of an application that does not build with the winner's patch."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """A copy of a finished run whose target got an application after it.

    Attributes:
        repository: the git work tree.
        winner: the individual's number.
    """

    repository: Path
    winner: int

    @property
    def folder(self) -> Path:
        return self.repository / "runs" / "first"

    @property
    def target(self) -> Path:
        return self.repository / "kernels" / "scale" / "target.toml"

    def application(self, **keys: str) -> None:
        """Give the target an application, in place of the one that it may have."""
        text = self.target.read_text(encoding="utf-8").partition("\n# An application")[0]
        lines = "\n".join(f"{key} = {value}" for key, value in (KEYS | keys).items())
        self.target.write_text(f"{text}\n# An application.\n[application]\n{lines}\n")

    def kept(self) -> Winner | None:
        with Store(self.folder / DATABASE) as store:
            return stored_winner(store)


@pytest.fixture(scope="module")
def adopted(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> Adopted:
    """The run, with a winner of which is known that it leaves out the wasted work and no more."""
    repository = tmp_path_factory.mktemp("adopted") / "repository"
    shutil.copytree(finished.repository, repository)
    shutil.copytree(SOURCES, repository / "kernels" / "scale", dirs_exist_ok=True)
    with Store(repository / "runs" / "first" / DATABASE) as store:
        ident = add_winner(store, WASTE, "mutation")
        store.put(target=str(repository / "kernels" / "scale"))
    return Adopted(repository, ident)


def patched(adopted: Adopted, file: Path, *words: object) -> Any:
    words = ("--as-found", "--format", "mail", "--output", file, *words)
    return gi_cuda("patch", adopted.folder, *words, cwd=adopted.repository)


def validated(adopted: Adopted) -> Any:
    words = ["--individual", adopted.winner, "--as-found", "--sanitizers", "none", "--application"]
    return gi_cuda("validate", adopted.folder, *words, cwd=adopted.repository)


def test_a_winner_that_holds_in_the_application(adopted: Adopted, tmp_path: Path) -> None:
    """The mail says so, also where only ``validate`` asked the application."""
    adopted.application()
    done = validated(adopted)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith("; right in the application")
    assert "application, whole program: speed-up " in done.stdout
    assert "application, kernel's time as it prints it: speed-up " in done.stdout
    file = tmp_path / "later.mbox"
    done = patched(adopted, file)
    assert done.returncode == 0, done.stderr
    assert "  application, whole program: speed-up " in file.read_text(encoding="utf-8")


def test_the_mail_of_a_patch_says_both(adopted: Adopted, tmp_path: Path) -> None:
    adopted.application(check='"make test"', kernel_time="'time: (.*) ms'")
    file = tmp_path / "winner.mbox"
    done = patched(adopted, file, "--check", "--application")
    assert done.returncode == 0, done.stderr
    assert "application: built, run and right with the patch: its own check, `make" in done.stdout
    git(tmp_path, "clone", "--quiet", str(adopted.repository), "clone")
    git(tmp_path / "clone", "am", "--quiet", str(file))
    log = " ".join(git(tmp_path / "clone", "log", "-1", "--format=%B").split())
    for said in [
        "Speed-up on inputs the search never saw",
        "In the whole application, built and run before and after:",
        "its own check, `make test`",
        "application, whole program: speed-up ",
        "application, kernel's time as it prints it: speed-up ",
    ]:
        assert said in log


def test_what_fails_in_the_application_is_no_winner_and_no_patch(
    adopted: Adopted, tmp_path: Path
) -> None:
    adopted.application(**REFUSING)
    before = adopted.kept()
    done = validated(adopted)
    assert done.returncode == 1, done.stderr
    verdict = done.stdout.splitlines()[0]
    assert verdict.startswith(f"FAILS: individual {adopted.winner} is found fault with by the app")
    assert "with the patch `grep -q 'waste +=' kernel.cu && make` fails (status 1)" in verdict
    assert adopted.kept() == before
    file = tmp_path / "refused.mbox"
    done = patched(adopted, file, "--application")
    assert done.returncode == 2
    assert "the application speaks against the patch: with the patch `grep" in done.stderr
    assert not file.exists()


def test_a_target_without_application(adopted: Adopted, tmp_path: Path) -> None:
    text = adopted.target.read_text(encoding="utf-8")
    adopted.target.write_text(text.partition("\n# An application")[0], encoding="utf-8")
    done = patched(adopted, tmp_path / "none.mbox", "--application")
    assert done.returncode == 2
    assert "does not say how the application is built and run" in done.stderr
    assert "add to it: [application]" in done.stderr


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", sweep([signal.SIGINT, signal.SIGTERM], signal.SIGINT))
def test_stopped_while_the_application_hangs(
    number: signal.Signals, adopted: Adopted, tmp_path: Path
) -> None:
    hangs, mark = tmp_path / "hangs", str(uuid.uuid4())
    adopted.application(run='''"trap '' INT TERM; touch $HANGS; sleep 1000"''')
    (tmp_path / "tmp").mkdir()
    environment = {"HANGS": str(hangs), MARK: mark, "TMPDIR": str(tmp_path / "tmp")}
    words = ["patch", adopted.folder, "--as-found", "--application"]
    try:
        with begin(*words, cwd=adopted.repository, **environment) as started:
            while not hangs.exists():
                assert not started.ended(0.01), started.end().stderr
            assert started.process.pid is not None
            os.kill(started.process.pid, number)
            assert started.ended(60)
            done = started.end()
        assert done.returncode == 130
        assert done.stderr.endswith("gi-cuda: interrupted\n")
        assert done.stdout == ""
        outlive(mark)
        assert not list((tmp_path / "tmp").iterdir())
    finally:
        for pid in family(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
