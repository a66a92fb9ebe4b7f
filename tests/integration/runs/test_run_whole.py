"""A small search from the first command to a patch in a git repository."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from gi_cuda.analyze.finalists.winner import stored_winner
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.genome import Insert, Replace, mutate
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.generation import Individual, Phases, Tally
from gi_cuda.results.measurement import Survival
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import DATABASE, Plan
from gi_cuda.search import PRESETS, Origin
from gi_cuda.search.loop import End
from gi_cuda.search.strategies.barracuda import PAPER, SETTINGS
from gi_cuda.store import Store, Tabued
from gi_cuda.subject import Subject, load_subject
from tests.command import gi_cuda
from tests.sweeps import broad

SHIPPED = Path(__file__).parents[3] / "targets"

SMALL = Plan("barracuda", replace(SETTINGS, population=4, generations=1), 1, 1, 1)

Cli = Callable[..., subprocess.CompletedProcess[str]]


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_stopped_generation_tells_what_it_spent(scale: Subject, tmp_path: Path) -> None:
    plan = replace(SMALL, settings=replace(SETTINGS, population=24, generations=1))
    done: list[int] = []
    with create_run(scale, tmp_path / "run", plan) as run:
        search = run.evolution(stop=lambda: bool(done))
        for one in search.run():
            done += [one.ident] if one.ident is not None else []
        assert search.end is End.STOPPED
        # What was done when that was noticed is kept.
        assert sorted(run.store.evaluations()) == sorted(done) != []
        (only,) = run.store.generations()
        assert not only.finished
        assert only.phases.compile > 0


def test_a_search_stops_while_it_compiles(scale: Subject, tmp_path: Path) -> None:
    """It need not wait for the builds; they are done again on resuming."""
    with create_run(scale, tmp_path / "run", SMALL) as run:
        stops = chain([False], repeat(True))
        search = run.evolution(stop=lambda: next(stops))
        list(search.run())
        assert search.end is End.STOPPED
        assert run.store.evaluations() == {}
        assert len(run.store.pending(0)) == 4
        again = run.evolution()
        list(again.run())
        assert again.end is End.COMPLETE
        assert len(run.store.evaluations()) == 4


def test_evolve_says_how_it_goes_and_who_won(finished: Any) -> None:
    said = finished.said
    for generation in range(3):
        assert re.search(rf"^generation {generation}: 12 evaluated: .* compiled", said, re.M)
    assert "all generations are done" in said
    winner = re.search(r"^winner: individual (\d+), speed-up .* \[([\d.]+), [\d.]+\]", said, re.M)
    assert winner is not None
    with Store(finished.folder / DATABASE) as store:
        assert store.individual(int(winner[1])) is not None
    assert float(winner[2]) > 1


def test_the_database_tells_the_whole_story(finished: Any) -> None:
    with Store(finished.folder / DATABASE) as store:
        individuals, evaluations = store.individuals(), store.evaluations()
        generations, winner = store.generations(), stored_winner(store)
    assert len(individuals) == 36
    assert set(evaluations) == {one.ident for one in individuals}
    assert [g.number for g in generations] == [0, 1, 2]
    for generation in generations:
        assert generation.finished
        tally = generation.tally
        assert tally.created == 12 + tally.genotype_duplicates + tally.phenotype_duplicates
        assert sum(generation.outcomes.values()) == 12
        assert generation.phases.wall > 0
        assert generation.phases.compile > 0
    keys = [one.genotype_key for one in individuals]
    assert len(set(keys)) == 36
    phenotypes = [one.phenotype_key for one in individuals if one.phenotype_key]
    assert len(set(phenotypes)) == len(phenotypes)
    by_number = {one.ident: one for one in individuals}
    for one in individuals:
        expected = {Origin.RANDOM: 0, Origin.MUTATION: 1, Origin.CROSSOVER: 2}
        assert len(one.parents) == expected[Origin(one.origin)]
        for parent in one.parents:
            assert by_number[parent].generation == one.generation - 1
            assert evaluations[parent].outcome is Outcome.FASTER
    assert any(one.parents for one in individuals)
    assert winner is not None
    assert winner.validation.faster
    assert evaluations[winner.ident].selectable


def test_the_same_seed_through_python_breeds_the_same_first_generation(
    finished: Any, scale: Subject, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, population=12, generations=1)
    plan = Plan("barracuda", settings, finished.seed, workers=2, jobs=2)
    with create_run(scale, tmp_path / "run", plan) as run:
        search = run.evolution()
        seen = [step.ident for step in search.run() if step.ident is not None]
        assert search.end is End.COMPLETE
        bred = run.store.individuals(0)
        assert sorted(seen) == [one.ident for one in bred]
        mine = [one.genotype for one in bred]
    with Store(finished.folder / DATABASE) as store:
        assert [one.genotype for one in store.individuals(0)] == mine
    assert listing(tmp_path / "run") >= {DATABASE}
    assert not (tmp_path / "run" / "build").exists()
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]


def test_a_complete_run_goes_on_when_asked_for_more(finished: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copied"
    shutil.copytree(finished.folder, folder)
    with Store(folder / DATABASE) as store:
        before = store.evaluations()
    done = gi_cuda("resume", folder, "--generations", 4, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    fewer = gi_cuda("resume", folder, "--generations", 2, cwd=finished.repository)
    assert fewer.returncode == 2
    assert "--generations: the run has 4 generations already" in fewer.stderr
    assert "36 individuals are evaluated already" in done.stdout
    assert re.findall(r"^generation (\d): 12 evaluated", done.stdout, re.M) == ["3"]
    assert "winner: individual" in done.stdout
    with Store(folder / DATABASE) as store:
        after = store.evaluations()
        assert before.items() <= after.items()
        assert len(after) == 48
        assert store.get("plan")["settings"]["generations"] == 4


# -- show ------------------------------------------------------------------------------------------


def test_show_gives_counts_times_the_best_and_the_winners_diff(finished: Any) -> None:
    done = gi_cuda("show", finished.folder, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    for word in ["generations", "time", "search", "preprocess", "compile", "run", "verify"]:
        assert word in done.stdout
    assert "individuals/s" in done.stdout
    assert "winner: individual" in done.stdout
    assert "+++ b/kernels/scale/kernel.cu" in done.stdout
    with Store(finished.folder / DATABASE) as store:
        best = [one.ident for one, _ in store.best(5)]
    found = re.findall(r"^individual (\d+), generation \d, .*faster", done.stdout, re.M)
    assert [int(ident) for ident in found] == best


def test_show_a_generation_lists_its_members(finished: Any) -> None:
    done = gi_cuda("show", finished.folder, "--generation", 1, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^individual (\d+), generation 1, ", done.stdout, re.M)
    with Store(finished.folder / DATABASE) as store:
        assert [int(ident) for ident in found] == [one.ident for one in store.individuals(1)]


def test_show_an_individual_with_genotype_and_diff(finished: Any) -> None:
    with Store(finished.folder / DATABASE) as store:
        one = next(one for one in store.individuals() if "<_kernel.cu_27>" in one.genotype.split())
    done = gi_cuda("show", finished.folder, "--individual", one.ident, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert "<_kernel.cu_27>" in done.stdout
    assert re.search(r"^- +waste \+= tile\[i % BLOCK\] / ", done.stdout, re.M)


# -- patch -----------------------------------------------------------------------------------------


def test_the_patch_applies_and_the_patched_file_is_right(finished: Any, tmp_path: Path) -> None:
    patch = tmp_path / "winner.patch"
    done = gi_cuda("patch", finished.folder, "--output", patch, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert "speed-up" in done.stdout
    scratch = tmp_path / "scratch"
    shutil.copytree(finished.repository, scratch)
    for words in [("--check",), ()]:
        subprocess.run(["git", "apply", *words, patch], cwd=scratch, check=True)
    text = (scratch / "kernels/scale/kernel.cu").read_text(encoding="utf-8")
    assert "gi_guard" not in text
    with open_run(finished.folder) as run:
        winner = stored_winner(run.store)
        assert winner is not None
        genotype = run.subject.read(winner.genotype)
        assert text == run.subject.upstream(genotype).text
        macros = run.subject.upstream_macros(genotype)
        (validation,) = run.validate([Candidate(text, genotype.configuration, macros)])
    assert validation.correct, validation.message
    # The patched file stands on its own: with its new defaults it is a reference that passes.
    load_subject(scratch / "kernels/scale", "host")


def test_a_patch_of_a_wrong_individual_is_refused(finished: Any, tmp_path: Path) -> None:
    """One without the line that writes the output."""
    folder, patches = tmp_path / "run", tmp_path / "patches"
    shutil.copytree(finished.folder, folder)
    patches.mkdir()
    with Store(folder / DATABASE) as store:
        wrong, number = store.next_ident(), store.generations()[-1].number + 1
        one = Individual(wrong, number, "<_kernel.cu_31>", b"wrong", None, "random", ())
        store.add_generation(number, Tally(1), [one], Tabued())
        store.add_evaluation(wrong, Evaluation(True, Survival.NORMAL, 1.0))
        store.add_phases(number, Phases(), finished=True)
    words = ["--individual", wrong, "--output", patches / "p.patch"]
    done = gi_cuda("patch", folder, *words, cwd=finished.repository)
    assert done.returncode == 2
    assert f"individual {wrong}: " in done.stderr
    assert "the patched file fails on the held-out cases" in done.stderr
    assert list(patches.iterdir()) == []


# -- check -----------------------------------------------------------------------------------------


def test_check_passes(tmp_path: Path) -> None:
    done = gi_cuda("check", SHIPPED / "bwt_exact", "--jobs", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ready to evolve" in done.stdout
    assert re.search(r"broken on purpose +caught", done.stdout)
    assert re.search(r"noise floor +[\d.]+%", done.stdout)
    assert list(tmp_path.iterdir()) == []


# -- grammars edited by hand -----------------------------------------------------------------------


def only(bnf: str, kept: str) -> str:
    """Edit a ``.bnf`` as a user does to allow a single rule: write all others out as text."""
    productions = re.findall(r"^<([^>]+)> ::=((?: .*\n)(?: {4}.*\n)*)", bnf, re.M)
    head = bnf[: bnf.index("<kernel.cu> ::=")]
    items = {name: " " + " ".join(text.split("\n")).strip() for name, text in productions}
    special = {"pragma_K", "optrestrict_K", "launchbounds_K"}
    rules = [
        n for n in items if not re.match(r"kernel\.cu", n) and n.rstrip("0123456789") not in special
    ]
    for rule in rules:
        if rule != kept:
            text = items.pop(rule)
            items = {name: item.replace(f" <{rule}>", text) for name, item in items.items()}
    return head + "".join(f"<{name}> ::={text}\n" for name, text in items.items())


@broad
def test_a_rule_that_alone_is_left_is_the_only_one_that_changes(
    target: Path, tmp_path: Path
) -> None:
    """Also: the small space that is left is used up, and the run says so and ends."""
    assert gi_cuda("convert", target, "-o", tmp_path / "g", cwd=tmp_path).returncode == 0
    bnf, scope = tmp_path / "g/kernel.cu.bnf", tmp_path / "g/kernel.cu.scope"
    bnf.write_text(only(bnf.read_text(encoding="utf-8"), "_kernel.cu_27"), encoding="utf-8")
    toml = target / "target.toml"
    toml.write_text(toml.read_text("utf-8").replace("[32, 64, 128]", "[64, 128]"), "utf-8")
    words = ["--bnf", bnf, "--scope", scope, "--run", "run", "--population", 6]
    done = gi_cuda("evolve", target, *words, "--generations", 9, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the space is used up" in done.stdout
    with Store(tmp_path / "run" / DATABASE) as store:
        genotypes = [one.genotype for one in store.individuals()]
    edits = {word for genotype in genotypes for word in genotype.split() if word.startswith("<")}
    assert edits == {"<_kernel.cu_27>"}
    # Three configurations keep the constraint, two ways each, with and without the edit, less the
    # reference itself. Chance may overlook one or the other before it gives up.
    assert 3 * 2 * 2 - 4 < len(genotypes) < 3 * 2 * 2

    bnf.write_text(
        "# another grammar now\n" + only(bnf.read_text("utf-8"), "_kernel.cu_31"), "utf-8"
    )
    changed = gi_cuda("resume", "run", cwd=tmp_path)
    assert changed.returncode == 2
    assert "the grammar changed since this run began" in changed.stderr


def test_a_scope_with_one_place_left_allows_that_one_only(target: Path, tmp_path: Path) -> None:
    assert gi_cuda("convert", target, "-o", tmp_path / "g", cwd=tmp_path).returncode == 0
    bnf, scope = tmp_path / "g/kernel.cu.bnf", tmp_path / "g/kernel.cu.scope"
    lines = re.sub(r"^(<[^>]+>:).*$", r"\1", scope.read_text(encoding="utf-8"), flags=re.M)
    lines = lines.replace("<_kernel.cu_25>:", "<_kernel.cu_25>: 22")
    scope.write_text(lines, encoding="utf-8")
    subject = load_subject(target, "host", bnf=bnf, scope=scope)
    donors = {
        (rule.name, donor)
        for rule in subject.grammar.rules
        for donor in subject.grammar.donors(rule.name)
        if "_K" not in donor
    }
    assert donors == {("_kernel.cu_22", "_kernel.cu_25")}
    rng = random.Random(1)
    mutants = [mutate(subject.original, subject.grammar, rng, PAPER) for _ in range(2000)]
    edits = {edit for mutant in mutants if mutant for edit in mutant.edits}
    donated = {e for e in edits if isinstance(e, Replace | Insert) and "_K" not in e.donor}
    assert donated == {
        Replace("_kernel.cu_22", "_kernel.cu_25"),
        Insert("_kernel.cu_22", "_kernel.cu_25"),
    }


def test_the_default_is_our_own_search(tmp_path: Path) -> None:
    helped = re.sub(r"[\s│]+", " ", gi_cuda("evolve", "--help", cwd=tmp_path).stdout)
    assert "default: adaptive" in helped
    assert "adaptive has 128" in helped
    assert "adaptive has 400" in helped
    assert all(f"{name}: {preset.help}" in helped for name, preset in PRESETS.items())
