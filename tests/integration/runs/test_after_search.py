"""Commands after a search: validate, minimize, interactions, history, explain, patch.

Each works on a run of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.analyze.finalists.winner import (
    choose_individual,
    stored_winner,
)
from gi_cuda.analyze.validate import portability
from gi_cuda.analyze.validate.portability import Measured
from gi_cuda.errors import UserError
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.generation import Individual, Tally
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store, Tabued
from gi_cuda.subject import Subject
from tests.command import THOROUGH, gi_cuda
from tests.sweeps import broad

from .conftest import WASTE, git, with_winner

WINNER = f"CHECKED=1 <_kernel.cu_22>+<_kernel.cu_29> {WASTE}"

COMMANDS = ("validate", "minimize", "interactions", "history", "explain", "patch")


@pytest.fixture(scope="module")
def run(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the finished run with a winner of which is known what it does: the wasted work
    goes, a check that nobody needs comes, and a value is set that is overwritten at once. Its place
    before all that the search found is sure."""
    return with_winner(finished.folder, WINNER, tmp_path_factory.mktemp("runs") / "copy")


@pytest.fixture(scope="module")
def minimized(run: Path, finished: Any) -> str:
    """The output of ``minimize``: timed removals of edits from a run that was searched.

    On a busy machine it may not be able to prove that something costs nothing, and keeps it; then
    it is asked again.
    """
    for _ in range(8):
        done = gi_cuda("minimize", run, cwd=finished.repository)
        assert done.returncode == 0, done.stderr
        if ": 1 of 3 changes stay" in done.stdout:
            break
    return done.stdout


def test_minimize_keeps_what_pays(minimized: str, run: Path) -> None:
    first = minimized.splitlines()[0]
    assert re.match(r"individual \d+: 1 of 3 changes stay; speed-up on held-out cases", first)
    with Store(run / DATABASE) as store:
        winner = stored_winner(store)
        assert winner is not None
        assert store.get(f"minimized/{winner.ident}")["minimization"]["genotype"] == WASTE


@pytest.mark.usefixtures("minimized")
def test_what_is_left_is_shown(run: Path) -> None:
    done = gi_cuda("show", run)
    assert done.returncode == 0, done.stderr
    _, _, rest = done.stdout.partition("winner: ")
    assert re.match(r"individual \d+, minimized, speed-up on held-out cases \d", rest)
    assert "\nas the search found it: " in rest
    changes, diff = rest.partition("its changes:\n")[2].split("individual", 1)
    assert changes == f"  {WASTE}\n    deletes the statement on line 27\n"
    assert "CHECKED" not in diff
    assert diff.endswith(f"  gi-cuda validate {run}\n")


def test_edits_that_others_overrule_are_no_changes(
    run: Path, scale: Subject, tmp_path: Path
) -> None:
    folder = tmp_path / "overruled"
    shutil.copytree(run, folder)
    with Store(folder / DATABASE) as store:
        ident, number = store.next_ident(), store.generations()[-1].number + 1
        text = f"{WASTE}<_kernel.cu_22> {WASTE}"
        one = Individual(ident, number, text, b"overruled", None, "mutant", ())
        store.add_generation(number, Tally(1), [one], Tabued())
        chosen = choose_individual(store, scale, folder, ident, as_found=True)
    assert str(chosen.genotype) == WASTE


@dataclass(frozen=True, slots=True)
class Validated:
    """Output of ``validate`` with measurements from another machine, and its own measurements.

    Attributes:
        said: the output.
        there: measurements from elsewhere.
        here: file with its own measurements.
    """

    said: str
    there: Measured
    here: Path


@pytest.fixture(scope="module")
def validated(run: Path, minimized: str, finished: Any) -> Validated:
    """The winner's validation after it was minimized."""
    with Store(run / DATABASE) as store:
        target_hash = store.get("target_hash")
    noise, speed_up = SpeedUp(1.0, 0.9, 1.1), SpeedUp(3.0, 2.9, 3.1)
    validation = Validation(True, "", speed_up, {"held-out": speed_up})
    there = Measured(
        portability.FORMAT,
        "scale",
        target_hash,
        backend="host",
        device="another processor",
        versions={},
        genotype=WASTE,
        noise=noise,
        validation=validation,
    )
    file, here = run.parent / "there.json", run.parent / "here.json"
    file.write_text(portability.write(there), encoding="utf-8")
    words = ["--best", 1, "--with", file, "--export", here]
    done = gi_cuda("validate", run, *words, cwd=finished.repository, **{THOROUGH: "1"})
    assert done.returncode == 0, done.stderr
    return Validated(done.stdout, there, here)


def test_validate_says_whether_the_winner_holds(validated: Validated) -> None:
    verdict, *table = validated.said.splitlines()
    assert verdict.startswith("HOLDS: individual ")
    assert "minimized" in verdict
    assert "nothing found by address, undefined" in verdict
    assert any("copy of the reference" in line for line in table)
    assert any("clean" in line for line in table)


@broad
def test_the_best_of_several_is_the_winner(run: Path, finished: Any, tmp_path: Path) -> None:
    folder = tmp_path / "several"
    shutil.copytree(run, folder)
    words = ["--best", 3, "--as-found", "--sanitizers", "none"]
    done = gi_cuda("validate", folder, *words, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    with Store(folder / DATABASE) as store:
        winner = stored_winner(store)
    assert winner is not None
    assert f"individual {winner.ident}," in done.stdout.splitlines()[0]


@pytest.mark.usefixtures("minimized")
def test_validate_of_what_is_not_faster_fails_with_status_1(run: Path, finished: Any) -> None:
    change = "<_kernel.cu_29>+<_kernel.cu_22>"
    words = ["--genotype", f"REPEAT=2 {change}", "--sanitizers", "none"]
    done = gi_cuda("validate", run, *words, cwd=finished.repository)
    assert done.returncode == 1
    assert "FAILS: the given genotype is not faster beyond the noise" in done.stdout
    said = f"not tested: {change}: no case reaches kernel.cu:29, where it changes something"
    assert said in done.stdout


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


@broad
@pytest.mark.usefixtures("minimized")
def test_history_tells_where_changes_were_found(run: Path, finished: Any) -> None:
    done = gi_cuda("history", run, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    for said in [
        "generations",
        "the winner's changes",
        "the winner, ",
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
    assert f"  {WASTE}\n   deletes the statement on line 27\n" in done.stdout
    assert "its place is executed on: train, held-out" in done.stdout
    assert re.search(r"^- +waste \+= tile\[i % BLOCK\] / ", done.stdout, re.M)


@pytest.mark.usefixtures("minimized")
def test_a_mail_goes_in_with_git_am(run: Path, finished: Any, tmp_path: Path) -> None:
    mail = tmp_path / "winner.mbox"
    words = ["--format", "mail", "--check", "--output", mail, "--configuration", "separate"]
    done = gi_cuda("patch", run, *words, "--sender", "Ada <a@example.com>", cwd=finished.repository)
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


def test_a_patch_of_chosen_changes_alone(finished: Any, tmp_path: Path) -> None:
    """The winner is a setting, then two edits. Standard output is the patch and no more."""
    run = with_winner(finished.folder, WINNER, tmp_path / "run")
    words = ["--changes", 3, "--check"]
    done = gi_cuda("patch", run, *words, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Measured by gi-cuda on ")
    assert "git applies it" in done.stderr
    changed = [line for line in done.stdout.splitlines() if re.match(r"[+-](?![+-])", line)]
    assert changed == ["-        waste += tile[i % BLOCK] / (i + 1);"]
    patch, scratch = tmp_path / "stdout.patch", tmp_path / "scratch"
    patch.write_text(done.stdout, encoding="utf-8")
    shutil.copytree(finished.repository / "kernels", scratch / "kernels")
    git(scratch, "init", "--quiet")
    git(scratch, "apply", str(patch))
    before, after = finished.source.read_text(), (scratch / "kernels/scale/kernel.cu").read_text()
    assert after == before.replace("        waste += tile[i % BLOCK] / (i + 1);\n", "")


def test_measurements_travel(validated: Validated, run: Path, finished: Any) -> None:
    assert "on several machines" in validated.said
    assert "another processor" in validated.said
    here = portability.read(validated.here)
    portability.check_same(here, validated.there.target_hash, [WASTE], validated.here)
    with pytest.raises(UserError, match="of another target"):
        portability.check_same(here, "0", [WASTE], validated.here)

    exported = json.loads(validated.here.read_text(encoding="utf-8"))
    wrong = validated.here.with_name("wrong.json")
    for key, value, said in [
        ("genotype", "REPEAT=2", "of another genotype: REPEAT=2"),
        ("format", 9, "format 9"),
    ]:
        wrong.write_text(json.dumps({**exported, key: value}), encoding="utf-8")
        words = ["--best", 1, "--with", wrong]
        refused(gi_cuda("validate", run, *words, cwd=finished.repository), said)


# -- what users get wrong --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_winner(run: Path) -> Path:
    folder = run.parent / "no-winner"
    shutil.copytree(run, folder)
    with Store(folder / DATABASE) as store:
        store.put(champion=None)
        store._db.execute("UPDATE evaluation SET verdict = 'same', selectable = 0")
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
        (["patch", "--changes", "99"], ["--changes: there is no change 99", "explain"]),
        (["patch", "--format", "zip"], ["--format does not take 'zip'", "diff, mail"]),
        (["patch", "--configuration", "no"], ["--configuration does not take", "separate"]),
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


@broad
def test_a_search_may_start_from_the_winner_of_another_run(finished: Any, tmp_path: Path) -> None:
    more = tmp_path / "more"
    words = ["--from", finished.folder, "--population", 20, "--generations", 1, "--run", more]
    done = gi_cuda("evolve", "kernels/scale", *words, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^starting from individual \d+ of .*, speed-up [1-9]", done.stdout, re.M)
    with Store(more / DATABASE) as store, Store(finished.folder / DATABASE) as before:
        winner = stored_winner(before)
        assert winner is not None
        own = before.evaluations()[winner.ident]
        evaluations = store.evaluations()
        mutants = [one.genotype for one in store.individuals()]
    assert len(mutants) == 20
    # All are mutants of it, so that most have most of it.
    changes = set(winner.genotype.split())
    assert sum(len(changes & set(genotype.split())) > 0 for genotype in mutants) > 14
    # What it gains depends on the machine; that some of them gain as much does not.
    assert any(one.selectable for one in evaluations.values())
    ratios = [one.ratio for one in evaluations.values() if one.ratio]
    assert own.ratio is not None
    assert min(ratios) < 1.1 * own.ratio < 1
