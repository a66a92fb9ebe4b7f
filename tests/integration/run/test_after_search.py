"""From winner to upstream on the command line: validate, minimize, interactions, history, explain,
patch; each on a run of its own."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.analyze.champion import Champion, stored_champion
from gi_cuda.analyze.reading import SpeedUp
from gi_cuda.analyze.validation import Validation
from gi_cuda.evaluation import Evaluation
from gi_cuda.execute.model import Survival, Verdict
from gi_cuda.run import DATABASE, open_run
from gi_cuda.store import Individual, Phases, Store, Tabued, Tally
from tests.command import gi_cuda

from .conftest import WASTE, git

WINNER = f"CHECKED=1 <_kernel.cu_22>+<_kernel.cu_29> {WASTE}"

COMMANDS = ("validate", "minimize", "interactions", "history", "explain", "patch")


@pytest.fixture(scope="module")
def run(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the finished run with a winner of which is known what it does: the wasted work
    goes, a check that nobody needs comes, and a value is set that is overwritten at once. Its place
    before all that the search found is sure."""
    folder = tmp_path_factory.mktemp("runs") / "copy"
    shutil.copytree(finished.folder, folder)
    with Store(folder / DATABASE) as store:
        ident, last = store.next_ident(), store.generations()[-1].number
        parents = tuple(one.ident for one in store.individuals(last)[:2])
        one = Individual(ident, last + 1, WINNER, b"winner", None, "crossover", parents)
        store.add_generation(last + 1, Tally(1), [one], Tabued())
        store.add_evaluation(
            ident, Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, 0.05, 0.04, 0.06)
        )
        store.add_phases(last + 1, Phases(), finished=True)
        speed_up = SpeedUp(2.0, 1.9, 2.1)
        validation = Validation(True, "", speed_up, {"held-out": speed_up})
        store.put(champion=asdict(Champion(ident, WINNER, validation)))
    return folder


@pytest.fixture(scope="module")
def minimized(run: Path, finished: Any) -> str:
    """What ``minimize`` said of it."""
    done = gi_cuda("minimize", run, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_minimize_keeps_what_pays(minimized: str, run: Path, finished: Any) -> None:
    first = minimized.splitlines()[0]
    assert re.match(r"individual \d+: 1 of 3 changes stay; speed-up on held-out cases", first)
    with open_run(run) as opened:
        champion = stored_champion(opened.store)
        assert champion is not None
        stored = opened.store.get(f"minimized/{champion.ident}")
        left = stored["minimization"]["genotype"]
        assert left == WASTE
        (validation,) = opened.validate([opened.candidate(opened.subject.read(left))])
    assert validation.faster


@pytest.mark.usefixtures("minimized")
def test_validate_says_whether_the_winner_holds(run: Path, finished: Any) -> None:
    done = gi_cuda("validate", run, "--best", 1, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    verdict, *table = done.stdout.splitlines()
    assert verdict.startswith("HOLDS: individual ")
    assert "minimized" in verdict
    assert "nothing found by address, undefined" in verdict
    assert any("copy of the reference" in line for line in table)
    assert any("clean" in line for line in table)


def test_the_best_of_several_is_the_winner(run: Path, finished: Any, tmp_path: Path) -> None:
    folder = tmp_path / "several"
    shutil.copytree(run, folder)
    words = ["--best", 3, "--as-found", "--sanitizers", "none"]
    done = gi_cuda("validate", folder, *words, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    with Store(folder / DATABASE) as store:
        champion = stored_champion(store)
    assert champion is not None
    assert f"individual {champion.ident}," in done.stdout.splitlines()[0]


@pytest.mark.usefixtures("minimized")
def test_validate_of_what_is_not_faster_fails_with_status_1(run: Path, finished: Any) -> None:
    words = ["--genotype", "REPEAT=2", "--sanitizers", "none"]
    done = gi_cuda("validate", run, *words, cwd=finished.repository)
    assert done.returncode == 1
    assert "FAILS: the given genotype is not faster beyond the noise" in done.stdout


@pytest.mark.usefixtures("minimized")
def test_interactions_give_groups_and_a_graph(run: Path, finished: Any, tmp_path: Path) -> None:
    done = gi_cuda("interactions", run, "--figures", tmp_path / "f", cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert "groups: gain on top of all others" in done.stdout
    files = {path.name for path in (tmp_path / "f").iterdir()}
    assert files == {"interactions.svg", "interactions.png", "interactions.dot"}
    graph = (tmp_path / "f" / "interactions.dot").read_text(encoding="utf-8")
    assert graph.startswith("digraph changes {")
    assert f'label="{WASTE}"' in graph


@pytest.mark.usefixtures("minimized")
def test_history_tells_where_changes_were_found(run: Path, finished: Any) -> None:
    done = gi_cuda("history", run, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    for said in [
        "generations",
        "the winner's changes",
        "ancestors: its changes",
        "as changes are added",
    ]:
        assert said in done.stdout
    found = re.search(rf"^ {re.escape(WASTE)} +(\d)", done.stdout, re.M)
    assert found
    assert found[1] == "0"
    names = {path.stem for path in (run / "figures").iterdir()}
    assert {"best", "sizes", "losses", "speed-against-size", "frequencies", "family"} <= names
    assert "added" in names


@pytest.mark.usefixtures("minimized")
def test_explain_shows_each_change_in_context(run: Path, finished: Any) -> None:
    done = gi_cuda("explain", run, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert f"  {WASTE}\n   deletes a statement\n" in done.stdout
    assert "its place is executed on: train, held-out" in done.stdout
    assert re.search(r"^- +waste \+= tile\[i % BLOCK\];", done.stdout, re.M)


@pytest.mark.usefixtures("minimized")
@pytest.mark.parametrize("configuration", ["defaults", "separate"])
def test_a_mail_goes_in_with_git_am(
    configuration: str, run: Path, finished: Any, tmp_path: Path
) -> None:
    mail = tmp_path / "winner.mbox"
    words = ["--format", "mail", "--check", "--output", mail, "--configuration", configuration]
    done = gi_cuda("patch", run, *words, "--from", "Ada <a@example.com>", cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert "patched file: speed-up" in done.stdout
    assert "(host back end: a CPU; it was not measured on a GPU)" in done.stdout
    assert "without -D of any parameter and verified on held-out cases: held-out" in done.stdout
    scratch = tmp_path / "scratch"
    git(tmp_path, "clone", "--quiet", str(finished.repository), str(scratch))
    git(scratch, "am", "--quiet", str(mail))
    text = (scratch / "kernels/scale/kernel.cu").read_text(encoding="utf-8")
    assert "gi_guard" not in text
    assert "waste += tile" not in text
    log = git(scratch, "log", "-1", "--format=%an%n%B")
    for said in ["Ada", "times as fast", "held-out", "Device:", f"--seed {finished.seed}", WASTE]:
        assert said in log


@pytest.mark.usefixtures("minimized")
def test_a_patch_of_chosen_changes_alone(run: Path, finished: Any) -> None:
    """The winner as found: a setting, then two edits."""
    words = ["--as-found", "--edits", 3, "--check"]
    done = gi_cuda("patch", run, *words, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Measured by gi-cuda on ")
    assert "git applies it" in done.stderr
    changed = [line for line in done.stdout.splitlines() if re.match(r"[+-](?![+-])", line)]
    assert changed == ["-        waste += tile[i % BLOCK];"]


@pytest.mark.usefixtures("minimized")
def test_measurements_travel(run: Path, finished: Any, tmp_path: Path) -> None:
    words = ["--best", 1, "--sanitizers", "none"]
    there = tmp_path / "there.json"
    done = gi_cuda("validate", run, *words, "--export", there, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    moved = json.loads(there.read_text(encoding="utf-8"))
    moved["device"] = "another processor"
    there.write_text(json.dumps(moved), encoding="utf-8")
    done = gi_cuda("validate", run, *words, "--with", there, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert "on several machines" in done.stdout
    assert "another processor" in done.stdout

    for key, value, said in [
        ("genotype", "REPEAT=2", "of another genotype: REPEAT=2"),
        ("target_hash", "0", "of another target"),
        ("format", 9, "format 9"),
    ]:
        there.write_text(json.dumps({**moved, key: value}), encoding="utf-8")
        done = gi_cuda("validate", run, *words, "--with", there, cwd=finished.repository)
        assert done.returncode == 2
        assert said in done.stderr


# -- what users get wrong --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_winner(run: Path) -> Path:
    folder = run.parent / "no-winner"
    shutil.copytree(run, folder)
    with Store(folder / DATABASE) as store:
        store.put(champion=None)
        store._db.execute("UPDATE evaluation SET verdict = 'same' WHERE verdict = 'faster'")
    return folder


def refused(done: subprocess.CompletedProcess[str], *said: str) -> None:
    assert done.returncode == 2, done
    assert done.stderr.startswith("gi-cuda: error: ")
    assert "Traceback" not in done.stderr
    for words in said:
        assert words in done.stderr


@pytest.mark.parametrize("verb", [v for v in COMMANDS if v != "history"])
def test_a_run_without_a_winner(verb: str, without_winner: Path, finished: Any) -> None:
    done = gi_cuda(verb, without_winner, cwd=finished.repository)
    said = "no individual that is faster" if verb == "validate" else "no validated winner"
    # It is done, so that going on alone would do nothing.
    refused(done, said, f"gi-cuda resume {without_winner} --generations 6")


def test_a_history_without_a_winner_is_told_without_it(without_winner: Path, finished: Any) -> None:
    done = gi_cuda("history", without_winner, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert "no validated winner" in done.stdout


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_run_that_is_going_on(verb: str, run: Path, finished: Any) -> None:
    with (run / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(
            gi_cuda(verb, run, cwd=finished.repository), "at work on this run", str(run), "wait"
        )


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_target_that_changed(verb: str, run: Path, finished: Any) -> None:
    text = finished.source.read_bytes()
    finished.source.write_bytes(text + b"// changed\n")
    try:
        done = gi_cuda(verb, run, cwd=finished.repository)
        refused(done, "the target changed since this run began", "kernels/scale/kernel.cu")
    finally:
        finished.source.write_bytes(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["patch", "--edits", "99"], ["--edits: there is no change 99", "explain"]),
        (["patch", "--edits", "0"], ["--edits: there is no change 0"]),
        (["patch", "--edits", "one"], ["--edits: 'one' is not a number or a range", "1,3-5"]),
        (["patch", "--format", "zip"], ["--format does not take 'zip'", "diff, mail"]),
        (["patch", "--configuration", "no"], ["--configuration does not take", "separate"]),
        (["patch", "--individual", "999"], ["no individual 999", "gi-cuda show"]),
        (["minimize", "--individual", "999"], ["no individual 999"]),
        (["explain", "--individual", "999"], ["no individual 999"]),
        (["validate", "--sanitizers", "some"], ["--sanitizers does not take 'some'"]),
        (["validate", "--genotype", "<nothing>"], ["there is no rule <nothing>"]),
        (["validate", "--with", "no.json"], ["no.json: cannot be read"]),
        (["validate", "--with", "kernels/scale/data.py"], ["data.py: not a file of measurements"]),
        (["validate", "--export", "kernels/scale/data.py"], ["the file exists", "--force"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_options_that_cannot_be(
    words: list[str], said: list[str], run: Path, finished: Any
) -> None:
    refused(gi_cuda(words[0], run, *words[1:], cwd=finished.repository), *said)


def test_a_sanitizer_that_is_required_and_missing(run: Path, finished: Any, tmp_path: Path) -> None:
    """The compiler is there, under another name than the one that has the sanitizers."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    for name in ("as", "ld", "git"):
        if found := shutil.which(name):
            (tmp_path / name).symlink_to(found)
    environment = {"PATH": os.fspath(tmp_path), "CXX": compiler}
    words = ["--best", 1, "--sanitizers", "required"]
    done = gi_cuda("validate", run, *words, cwd=finished.repository, **environment)
    refused(done, "no address sanitizer found: g++ is not on PATH", "--sanitizers none")


def test_a_search_may_start_from_the_winner_of_another_run(finished: Any, tmp_path: Path) -> None:
    more = tmp_path / "more"
    words = ["--from", finished.folder, "--population", 4, "--generations", 1, "--run", more]
    done = gi_cuda("evolve", "kernels/scale", *words, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^starting from individual \d+ of .*, speed-up [1-9]", done.stdout, re.M)
    with Store(more / DATABASE) as store, Store(finished.folder / DATABASE) as before:
        champion = stored_champion(before)
        assert champion is not None
        evaluations = store.evaluations()
        mutants = [one.genotype for one in store.individuals()]
    assert len(mutants) == 4
    # All are mutants of it, so that most have most of it.
    changes = set(champion.genotype.split())
    assert sum(len(changes & set(genotype.split())) > 0 for genotype in mutants) > 2
    assert any(one.ratio and one.ratio < 0.7 for one in evaluations.values())
