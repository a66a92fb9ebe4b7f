"""``repeat``: one search with several seeds, which goes on where it was interrupted."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store
from tests.command import Done, begin, gi_cuda, quietly
from tests.integration.cli.refusing import SCALE, is_refused, tree

SIZES = ("--population", "2", "--generations", "2", "--preset", "random")
REPEAT = ("repeat", "t", "--seeds", "2..3", "--jobs", "1", *SIZES)


def evaluated(run: Path) -> set[int]:
    if not (run / DATABASE).is_file():
        return set()
    with Store(run / DATABASE) as store:
        return set(store.evaluations())


def test_it_goes_on_where_it_was_interrupted_and_says_what_all_found(tmp_path: Path) -> None:
    """The whole command: seeds that are done are skipped, one that is begun is resumed."""
    shutil.copytree(SCALE, tmp_path / "t", ignore=shutil.ignore_patterns("__pycache__"))
    first, second = (tmp_path / f"runs/scale-random/seed-{one}" for one in (2, 3))

    def interrupted() -> Done:
        with begin(*REPEAT, cwd=tmp_path) as started:
            while not evaluated(second):
                if started.ended(0.01):
                    return started.end()
            assert started.process.pid is not None
            os.kill(started.process.pid, signal.SIGINT)
            return started.end()

    done = quietly(interrupted)
    assert done.returncode == 130, done
    assert done.stdout.endswith(f"next: go on with all seeds\n  gi-cuda {' '.join(REPEAT)}\n")
    before, begun = tree(first), evaluated(second)
    done = gi_cuda(*REPEAT, cwd=tmp_path)
    assert done.returncode == 0, done
    assert "seed 2, 1 of 2: runs/scale-random/seed-2\ndone already\nseed 3, 2 of 2" in done.stdout
    assert f"{len(begun)} individuals are evaluated already" in done.stdout
    assert tree(first) == before
    assert begun <= evaluated(second)
    assert " of 2 runs have a winner; speed-up on the held-out cases" in done.stdout
    assert done.stdout.endswith("\n  gi-cuda report runs/scale-random/seed-*\n")
    before = tree(tmp_path)
    others = gi_cuda(*REPEAT, "--edits", "full", "--from", "runs/other", cwd=tmp_path)
    is_refused(others, "runs/scale-random", "something else for --edits, --from", "--into")
    assert tree(tmp_path) == before
