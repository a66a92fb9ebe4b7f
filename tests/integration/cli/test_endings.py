"""A command ends when it is asked to, whatever compilers, workers and the device do."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from gi_cuda.analyze.finalists.winner import Winner
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store
from gi_cuda.subject import Subject
from tests.command import AtWork, Done, begin, gi_cuda, quietly
from tests.processes import MARK, family, outlive
from tests.sweeps import broad, sweep
from tests.traced import Tracer, may_trace

PATIENCE = 60.0
"""Seconds after which a test gives up; a compiler that hangs is given 300 by the tool itself."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

HANGING = Path(__file__).with_name("hanging-compiler")
"""A compiler that hangs as soon as there is a file that says so. The host's runtime library is kept
by the path of the compiler that made it, so that this one makes it once for all tests."""


@pytest.fixture
def surroundings(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a command: a compiler that can be made to hang, a mark, and a folder for
    temporary files. Nothing that has the mark outlives the test."""
    mark = str(uuid.uuid4())
    (tmp_path / "tmp").mkdir()
    yield {
        "CXX": str(HANGING),
        "HANG": str(tmp_path / "hang"),
        MARK: mark,
        "TMPDIR": str(tmp_path / "tmp"),
    }
    for pid in family(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def hangs(started: AtWork, surroundings: dict[str, str]) -> bool:
    """Wait until a compiler hangs; whether the command is still at work then."""
    file = Path(surroundings["HANG"])
    while not (file.exists() and file.read_text()):
        if started.ended(0.01):
            return False
    return True


def compiles(mark: str) -> bool:
    """Tell whether a compiler of a command runs, which hangs."""
    for pid in family(mark):
        with contextlib.suppress(OSError):
            if str(HANGING).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
    return False


def ended(started: AtWork, number: int) -> Done:
    """Ask a command to end by a signal; return its result."""
    assert started.process.pid is not None
    os.kill(started.process.pid, number)
    assert started.ended(PATIENCE)
    return started.end()


def rows(database: Path) -> dict[int, tuple[object, ...]]:
    """Every finished measurement, as stored."""
    with contextlib.closing(sqlite3.connect(database)) as db:
        return {row[0]: row for row in db.execute("SELECT * FROM evaluation")}


def says(started: AtWork, words: str) -> bool:
    """Wait until a command has said something; False if it ended without."""
    while not (started.said.exists() and words in started.said.read_text()):
        if started.ended(0.01):
            return words in started.said.read_text()
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("verb", ["check", "evolve"])
def test_while_a_compiler_hangs(
    verb: str, number: int, scale: Subject, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    Path(surroundings["HANG"]).touch()
    words = ["--run", "runs/r"] if verb == "evolve" else []
    with begin(verb, scale.target.folder, *words, cwd=tmp_path, **surroundings) as started:
        assert hangs(started, surroundings)
        done = ended(started, number)
    assert done.returncode == 130
    assert done.stderr.endswith("gi-cuda: interrupted\n")
    assert "Traceback" not in done.stderr
    outlive(surroundings[MARK])
    assert not list((tmp_path / "tmp").iterdir())
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("way", sweep(["SIGTERM", "--time"], "SIGTERM"))
def test_a_search_whose_compiler_hangs_keeps_what_it_has(
    way: str, scale: Subject, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    words = ["evolve", scale.target.folder, "--run", "r", "--population", 4, "--generations", 500]
    seconds = iter((4, 16, 64))
    by_itself: list[str] = []

    def search() -> Done:
        limit = ["--time", next(seconds), "--force"] if way == "--time" else []
        with begin(*words, *limit, cwd=tmp_path, **surroundings) as started:
            if not says(started, "generation 0"):
                # The time was up before, on a busy machine.
                return search() if way == "--time" else started.end()
            Path(surroundings["HANG"]).touch()
            assert hangs(started, surroundings)
            if way == "SIGTERM":
                return ended(started, signal.SIGTERM)
            assert says(started, "time is up"), started.end().stderr
            # Validating needs the compiler, too, and is not waited for. Where nothing is worth it
            # the command ends by itself, also where the search did not stop cleanly.
            while not started.ended(0.01):
                if compiles(surroundings[MARK]):
                    return ended(started, signal.SIGTERM)
            by_itself.append(way)
            return started.end()

    done = quietly(search)
    assert done.returncode == (0 if by_itself else 130), done.stderr
    assert "gi-cuda resume r" in done.stdout
    assert "Traceback" not in done.stderr
    outlive(surroundings[MARK])
    assert len(rows(tmp_path / "r" / DATABASE)) >= 4
    assert not (tmp_path / "r" / "build").exists()


@broad
def test_where_time_was_up_before_anything_was_evaluated(scale: Subject, tmp_path: Path) -> None:
    words = ("--population", 4, "--generations", 1)
    done = gi_cuda("evolve", scale.target.folder, "--run", "r", *words, "--time", 0, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    said = "time is up, and no individual is evaluated yet: it takes its compiler that long"
    assert said in done.stdout
    assert "faster" not in done.stdout.partition(said)[2]
    assert rows(tmp_path / "r" / DATABASE) == {}
    resumed = gi_cuda("resume", "r", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert len(rows(tmp_path / "r" / DATABASE)) == 4


@pytest.mark.parametrize(
    "verb", sweep(["minimize", "validate", "compare", "interactions", "explain"], "validate")
)
def test_verbs_after_a_search_end_while_a_compiler_hangs(
    verb: str, small_run: Path, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    Path(surroundings["HANG"]).touch()
    before = rows(small_run / DATABASE)
    # One by its number: whether any seemed faster in so short a search is luck.
    words = ["--individual", 1] if verb == "validate" else []
    with begin(verb, small_run, *words, cwd=tmp_path, **surroundings) as started:
        assert hangs(started, surroundings), started.end()
        done = ended(started, signal.SIGTERM)
    assert done.returncode == 130
    assert done.stderr.endswith("gi-cuda: interrupted\n")
    assert "Traceback" not in done.stderr
    outlive(surroundings[MARK])
    assert not list((tmp_path / "tmp").iterdir())
    assert rows(small_run / DATABASE) == before


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory, scale: Subject) -> Path:
    """A run with a winner, whatever the search found."""
    folder = tmp_path_factory.mktemp("runs") / "r"
    words = ["evolve", scale.target.folder, "--run", folder, "--population", 4]
    done = gi_cuda(*words, "--generations", 1)
    assert done.returncode == 0, done.stderr
    speed_up = SpeedUp(2.0, 1.9, 2.1)
    with Store(folder / DATABASE) as store:
        one, *_ = store.individuals()
        validation = Validation(True, "", speed_up, {"held-out": speed_up})
        store.put(champion=asdict(Winner(one.ident, one.genotype, validation)))
    return folder


def parent(pid: int) -> int:
    """The number of a process's parent."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def workers(mark: str) -> Iterator[int]:
    """The workers of a command: they run the program of their parent, a fork server, which runs
    that of its own."""
    for pid in family(mark):
        with contextlib.suppress(OSError):
            ancestors = (pid, parent(pid), parent(parent(pid)))
            programs = {Path(f"/proc/{one}/cmdline").read_bytes() for one in ancestors}
            if len(programs) == 1 and b"fork_server" in programs.pop():
                yield pid


def fork_server(mark: str) -> int:
    """The process that a command's workers are forked from."""
    return parent(next(workers(mark)))


@broad
def test_a_fork_server_that_does_not_answer_is_ended(
    scale: Subject, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    words = ["evolve", scale.target.folder, "--run", "r", "--population", 4, "--generations", 500]
    mark = surroundings[MARK]

    def search() -> Done:
        with begin(*words, cwd=tmp_path, **surroundings) as started:
            if not says(started, "generation 0"):
                return started.end()
            server = fork_server(mark)
            os.kill(server, signal.SIGSTOP)
            for worker in list(workers(mark)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            return ended(started, signal.SIGTERM)

    done = quietly(search)
    assert done.returncode == 130, done.stderr
    assert "gi-cuda resume r" in done.stdout
    assert "Traceback" not in done.stderr
    outlive(mark)


@broad
@pytest.mark.skipif(not may_trace(), reason="this system lets nobody trace")
def test_a_worker_that_cannot_be_killed_is_left_behind_and_named(
    scale: Subject, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    """One that is traced and held at its exit is as dead to SIGKILL as one stuck in a driver."""
    words = ["evolve", scale.target.folder, "--run", "r", "--population", 4, "--generations", 500]
    mark = surroundings[MARK]
    stuck: list[int] = []

    def search() -> Done:
        with begin(*words, cwd=tmp_path, **surroundings) as started, Tracer() as tracer:
            if not says(started, "generation 0"):
                return started.end()
            # A variant may just have taken down all that there are.
            while not [one for one in workers(mark) if tracer.trace(one)] and not started.ended(0):
                pass
            done = ended(started, signal.SIGTERM)
            stuck[:] = tracer.held()
            return done

    done = quietly(search)
    assert done.returncode == 130, done.stderr
    assert stuck
    for worker in stuck:
        assert f"process {worker} (" in done.stderr
    assert "left behind" in done.stderr
    assert "Traceback" not in done.stderr
    outlive(mark)


def believed(database: Path) -> tuple[set[int], set[int]]:
    """The individuals that are stored as having run, and those that are stored as killed."""
    found = "SELECT individual FROM evaluation WHERE"
    with contextlib.closing(sqlite3.connect(database)) as db:
        ran = db.execute(f"{found} survival = 'normal'").fetchall()
        killed = db.execute(f"{found} message LIKE '%SIGKILL%'").fetchall()
    return {one for (one,) in ran}, {one for (one,) in killed}


@broad
def test_a_device_that_is_lost_stops_the_search_and_nothing_counts_that_came_of_it(
    scale: Subject, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    """Workers are killed over whatever they are at, until the search gives up. One that was killed
    may count only where something has worked after it: not among the last that are stored."""
    words = ["evolve", scale.target.folder, "--run", "r", "--population", 12, "--generations", 500]
    mark = surroundings[MARK]
    database = tmp_path / "r" / DATABASE
    seen: list[tuple[set[int], set[int]]] = []

    def search() -> Done:
        with begin(*words, cwd=tmp_path, **surroundings) as started:
            if not says(started, "generation 1"):
                return started.end()
            server = fork_server(mark)
            children = Path(f"/proc/{server}/task/{server}/children")
            while not started.ended(0):
                with contextlib.suppress(OSError):
                    for worker in children.read_text().split():
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(int(worker), signal.SIGKILL)
                seen.append(believed(database))
            return started.end()

    done = quietly(search)
    assert done.returncode == 1, done.stderr
    assert "the device is lost: the unmodified kernel fails, too" in done.stderr
    assert "nvidia-smi" in done.stderr
    assert "Traceback" not in done.stderr
    assert "gi-cuda resume r" in done.stdout
    outlive(mark)
    stored = rows(database)
    assert len(stored) >= 24
    seen.append(believed(database))
    grew = [
        [at for at in range(1, len(seen)) if seen[at][which] > seen[at - 1][which]]
        for which in (0, 1)
    ]
    ran, killed = (max(found, default=0) for found in grew)
    assert killed <= ran
    resumed = gi_cuda("resume", "r", "--generations", 4, cwd=tmp_path)
    assert resumed.returncode in (0, 2), resumed.stderr
    assert believed(database)[1] == seen[-1][1]
