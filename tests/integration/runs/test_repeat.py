"""``repeat``: one search with several seeds, which goes on where it was interrupted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from gi_cuda.cli.search.repeat import search_side_by_side
from gi_cuda.errors import UserError
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


def facts(run: Path) -> dict[str, object]:
    """The reference's measurement, and its answers."""
    with Store(run / DATABASE) as store:
        stored = {name: store.get(name) for name in ("baseline", "untested", "prepared")}
    return stored | {one.name: one.read_bytes() for one in (run / "reference").iterdir()}


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
    assert facts(second) == facts(first)
    assert " of 2 runs have a winner; speed-up on the held-out cases" in done.stdout
    assert done.stdout.endswith("\n  gi-cuda report runs/scale-random/seed-*\n")
    before = tree(tmp_path)
    others = gi_cuda(*REPEAT, "--edits", "full", "--from", "runs/other", cwd=tmp_path)
    is_refused(others, "runs/scale-random", "something else for --edits, --from", "--into")
    assert tree(tmp_path) == before


def test_seeds_run_side_by_side_where_there_are_several_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the processor stands for two GPUs."""
    shutil.copytree(SCALE, tmp_path / "t", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["gi-cuda", *REPEAT, "--into", "runs/two", "--backend", "host"]
    )
    runs = {seed: Path(f"runs/two/seed-{seed}") for seed in (2, 3)}

    logs = [Path(f"runs/two/seed-{seed}.txt") for seed in runs]

    def searched() -> Done:
        try:
            search_side_by_side(runs, [0, 0], 1)
        except UserError:  # which names the file
            return Done([], 2, "", "".join(one.read_text() for one in logs if one.exists()))
        return Done([], 0, "", "")

    assert quietly(searched).returncode == 0
    assert all(evaluated(run) for run in runs.values())
    for seed, log in zip(runs, logs, strict=True):
        assert f"seed {seed}, 1 of 1: runs/two/seed-{seed}\n" in log.read_text()
    assert json.loads(Path("runs/two/options.json").read_text())["population"] == 2
    done = gi_cuda(*REPEAT, "--into", "runs/two", cwd=tmp_path)
    assert done.stdout.count("done already") == 2
