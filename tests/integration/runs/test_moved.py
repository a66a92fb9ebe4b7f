"""Runs and targets that were moved, lists of runs, and references in mails."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.runs.lock import locked
from gi_cuda.runs.stored import DATABASE, open_store, stored_target
from gi_cuda.store import Store
from gi_cuda.subject import Start
from tests.command import THOROUGH, gi_cuda
from tests.sweeps import broad

from .conftest import WASTE, copy_scale

SMALL = ("--population", 2, "--generations", 1, "--preset", "tune")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in no work tree, with a target, a grammar edited by hand and a run."""
    folder = tmp_path_factory.mktemp("project") / "here"
    target = copy_scale(folder / "a target")
    gi_cuda("convert", target, cwd=folder)
    grammar = ["--bnf", target / "kernel.cu.bnf", "--scope", target / "kernel.cu.scope"]
    done = gi_cuda("evolve", target, *SMALL, *grammar, "--run", "runs/one", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def shown(run: Path, *words: object) -> str:
    done = gi_cuda("show", run, "--individual", 1, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_moved_together_is_found(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "there")
    project.rename(tmp_path / "away")
    try:
        assert "+++ b/" in shown(tmp_path / "there" / "runs" / "one")
    finally:
        (tmp_path / "away").rename(project)


def test_a_target_that_was_moved_alone_is_asked_for_once(project: Path, tmp_path: Path) -> None:
    run, target = tmp_path / "run", tmp_path / "target"
    shutil.copytree(project / "runs" / "one", run)
    (project / "a target").rename(target)
    try:
        assert "there is no target here any more" in shown(run)
        assert f"gi-cuda show {run} --target FOLDER" in shown(run)
        assert "+++ b/" in shown(run, "--target", target)
        assert "+++ b/" in shown(run)
        with open_store(run) as store:
            assert stored_target(store, run) == target
            assert all(Path(file).parent == target for file in store.get("grammar_files"))
        other = copy_scale(tmp_path / "other")
        with (other / "kernel.cu").open("a") as source:
            source.write("// changed\n")
        done = gi_cuda("show", run, "--target", other)
        assert done.returncode == 2
        assert "not the run's target" in done.stderr
    finally:
        target.rename(project / "a target")


def test_where_two_targets_are_the_one_that_is_as_it_was_counts(
    project: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    with open_store(copy / "runs" / "one") as store:
        assert stored_target(store, copy / "runs" / "one") == project / "a target"
        store.put(target=str(copy_scale(tmp_path / "changed")))
        with (tmp_path / "changed" / "kernel.cu").open("a") as source:
            source.write("// changed\n")
        assert stored_target(store, copy / "runs" / "one") == copy / "a target"


def test_the_commands_of_a_mail_find_it_again(project: Path, tmp_path: Path) -> None:
    """Outside a work tree they are for the folder that the patch was made in."""
    run = tmp_path / "run"
    shutil.copytree(project / "runs" / "one", run)
    before = Start("a winner", "", "paper", run=str(project / "runs" / "before"))
    with Store(run / DATABASE) as store:
        store.put(start=asdict(before))
    words = ["--individual", 1, "--format", "mail", "-o", "one.mbox", "--force"]
    done = gi_cuda("patch", run, *words, cwd=project)
    assert done.returncode == 0, done.stderr
    text = (project / "one.mbox").read_text("utf-8")
    block = text.partition("To reproduce:\n")[2].partition("\n\n")[0].replace("\\\n", " ")
    search = shlex.split(block.splitlines()[0])
    assert search[:3] == ["gi-cuda", "evolve", "a target"]
    options = dict(zip(search[3::2], search[4::2], strict=True))
    assert (project / options["--run"]).resolve() == run
    assert options["--bnf"] == "a target/kernel.cu.bnf"
    assert options["--scope"] == "a target/kernel.cu.scope"
    assert options["--from"] == "runs/before"
    subject = re.search(r"^Subject: .*", text, re.M)
    assert subject is not None
    assert "a CPU" in subject[0] or "prepare" in subject[0]
    measured = re.search(r"speed-up \S+ \[(\S+),", done.stdout)
    assert measured is not None
    further = "next: search further\n" in done.stdout
    # The variant does the same; by chance the whole interval may lie above 1 all the same.
    assert further or float(measured[1]) >= 1
    assert not further or float(measured[1]) <= 1


def test_runs_are_listed(project: Path, finished: Any, tmp_path: Path) -> None:
    shutil.copytree(finished.folder, tmp_path / "first")
    shutil.copytree(project / "runs" / "one", tmp_path / "second")
    with Store(tmp_path / "second" / DATABASE) as store:
        plan = store.get("plan")
        plan["settings"]["generations"] = 7
        store.put(plan=plan)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / DATABASE).write_text("no database at all, but a text")
    done = gi_cuda("runs", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    first, second = lines[str(tmp_path / "first")], lines[str(tmp_path / "second")]
    assert re.search(r"3 of 3 +[\d.]+ +[\d.]+ +done", first)
    assert re.search(r"a target .*a CPU +1 of 7 .*stopped", second)
    assert str(tmp_path / "broken") in lines
    with locked(tmp_path / "second"):
        busy = gi_cuda("runs", tmp_path / "second").stdout
    assert re.search(r"1 of 7 .* at work", busy)
    assert busy.endswith(f"\n  gi-cuda show {tmp_path / 'second'}\n")
    nothing = gi_cuda("runs", tmp_path / "broken" / "nowhere")
    assert nothing.returncode == 2
    assert "gi-cuda evolve TARGET" in nothing.stderr


@broad
def test_a_run_is_measured_once_however_often_it_is_named(finished: Any) -> None:
    again = f"{finished.folder}/."
    words = (finished.folder, again, WASTE, WASTE)
    done = gi_cuda("compare", *words, cwd=finished.repository, **{THOROUGH: "1"})
    assert done.returncode == 0, done.stderr
    assert f"{again} is {finished.folder}, and measured once" in done.stdout
    table = done.stdout.partition("what they change")[0]
    assert table.count(WASTE) == 1
    assert done.stdout.endswith(f"\n  gi-cuda patch {finished.folder} -o faster.patch\n")
    assert re.search(r"^measuring: \d+ of \d+ runs$", done.stderr, re.M)
