"""The run database: results are stored once and read back; foreign files are not touched."""

from __future__ import annotations

import math
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.errors import MachineError, UserError
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.generation import Individual, Phases, Tally
from gi_cuda.results.measurement import Sample, Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.store import Store, Tabued, run_file
from gi_cuda.store.migrations import NEWEST

NUMBERS = st.floats(allow_nan=False)
SECONDS = st.floats(0, 1e6)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SAMPLES = st.builds(Sample, TEXT, SECONDS, SECONDS)

EVALUATIONS = st.builds(
    Evaluation,
    built=st.booleans(),
    survival=st.none() | st.sampled_from(Survival),
    penalty=st.none() | NUMBERS,
    verdict=st.none() | st.sampled_from(Verdict),
    ratio=st.none() | NUMBERS,
    low=st.none() | NUMBERS,
    high=st.none() | NUMBERS,
    message=TEXT,
    samples=st.lists(SAMPLES, max_size=5).map(tuple),
    run_seconds=SECONDS,
    verify_seconds=SECONDS,
    code_key=st.none() | st.binary(min_size=16, max_size=16),
    resources=st.dictionaries(st.sampled_from(["registers", "spills"]), st.integers(0, 255)),
).filter(lambda one: not one.built or one.survival is not None)

KEYS = st.binary(min_size=16, max_size=16)


@st.composite
def offsprings(draw: st.DrawFn) -> list[list[Individual]]:
    """Generations of individuals, numbered from 1, with keys of their own."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    keys = draw(st.lists(KEYS, min_size=sum(sizes), max_size=sum(sizes), unique=True))
    ident = 0
    result = []
    for number, size in enumerate(sizes):
        offspring = []
        for _ in range(size):
            phenotype = draw(st.sampled_from([None, keys[ident][::-1] + b"p"]))
            parents = tuple(draw(st.lists(st.integers(1, 99), max_size=2)))
            origin = draw(st.sampled_from(["random", "mutation", "crossover"]))
            text = draw(TEXT)
            key = keys[ident]
            ident += 1
            offspring.append(Individual(ident, number, text, key, phenotype, origin, parents))
        result.append(offspring)
    return result


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(Path(":memory:"), create=True) as opened:
        yield opened


def one(ident: int, generation: int = 0) -> Individual:
    return Individual(ident, generation, f"X={ident}", bytes([ident]), None, "random", ())


FASTER = Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, 0.5, 0.4, 0.6)


@settings(max_examples=50)
@given(offsprings())
def test_individuals_come_back_as_they_were(offspring: list[list[Individual]]) -> None:
    with Store(Path(":memory:"), create=True) as store:
        assert store.next_ident() == 1
        for number, generation in enumerate(offspring):
            store.add_generation(number, Tally(), generation, Tabued())
            assert store.individuals(number) == store.pending(number) == generation
        everyone = [individual for generation in offspring for individual in generation]
        assert store.individuals() == everyone
        assert store.next_ident() == len(everyone) + 1
        assert all(store.individual(each.ident) == each for each in everyone)
        assert store.individual(len(everyone) + 1) is None


@settings(max_examples=50)
@given(st.lists(EVALUATIONS, max_size=6), st.data())
def test_evaluations_come_back_as_they_were(found: list[Evaluation], data: st.DataObject) -> None:
    with Store(Path(":memory:"), create=True) as store:
        members = [one(ident) for ident in range(1, len(found) + 2)]
        store.add_generation(0, Tally(), members, Tabued())
        expected = dict(enumerate(found, start=1))
        for ident in data.draw(st.permutations(list(expected))):
            store.add_evaluation(ident, expected[ident])
        assert store.evaluations() == store.evaluations(0) == expected
        assert store.evaluations(1) == {}
        assert store.pending(0) == members[len(found) :]
        (generation,) = store.generations()
        assert generation.outcomes == Counter(evaluation.outcome for evaluation in found)


@given(st.integers(0, 99), st.text())
def test_messages_may_hold_anything_that_a_compiler_says(ident: int, message: str) -> None:
    """Also bytes that are not UTF-8, which come as surrogates and cannot be stored as such."""
    with Store(Path(":memory:"), create=True) as store:
        store.add_generation(0, Tally(), [one(ident)], Tabued())
        store.add_evaluation(ident, Evaluation(built=False, message=message + "\udcff"))
        kept = "".join("?" if "\ud800" <= letter <= "\udfff" else letter for letter in message)
        assert store.evaluations()[ident].message == kept + "?"


def test_an_individual_is_evaluated_once(store: Store) -> None:
    store.add_generation(0, Tally(), [one(1)], Tabued())
    store.add_evaluation(1, FASTER)
    with pytest.raises(sqlite3.IntegrityError):
        store.add_evaluation(1, Evaluation(built=False))
    assert store.evaluations() == {1: FASTER}


@pytest.mark.parametrize("field", ["ident", "genotype key", "phenotype key"])
def test_a_generation_with_anything_known_is_refused_whole(store: Store, field: str) -> None:
    known = Individual(1, 0, "a", b"a", b"A", "random", ())
    store.add_generation(0, Tally(), [known], Tabued(frozenset([b"a"]), frozenset([b"A"])))
    twin = {
        "ident": Individual(1, 1, "b", b"b", b"B", "random", ()),
        "genotype key": Individual(2, 1, "b", b"a", b"B", "random", ()),
        "phenotype key": Individual(2, 1, "b", b"b", b"A", "random", ()),
    }[field]
    fine = Individual(3, 1, "c", b"c", b"C", "random", ())
    with pytest.raises(sqlite3.IntegrityError):
        store.add_generation(1, Tally(), [fine, twin], Tabued(frozenset([b"c"])))
    assert store.individuals() == [known]
    assert [generation.number for generation in store.generations()] == [0]
    assert store.tabu() == Tabued(frozenset([b"a"]), frozenset([b"A"]))


@settings(max_examples=50)
@given(st.lists(st.tuples(st.frozensets(KEYS), st.frozensets(KEYS)), max_size=4))
def test_tabu_keys_only_ever_grow(batches: list[tuple[frozenset[bytes], frozenset[bytes]]]) -> None:
    with Store(Path(":memory:"), create=True) as store:
        genotypes: frozenset[bytes] = frozenset()
        phenotypes: frozenset[bytes] = frozenset()
        for number, (some, others) in enumerate(batches):
            store.add_generation(number, Tally(), [], Tabued(some, others))
            genotypes, phenotypes = genotypes | some, phenotypes | others
            assert store.tabu() == Tabued(genotypes, phenotypes)


def test_times_add_up_over_interruptions(store: Store) -> None:
    store.add_generation(0, Tally(5, 2, 1), [one(1)], Tabued())
    store.add_phases(0, Phases(1.0, 2.0, 3.0, 4.0, 5.0, 15.0), finished=False)
    (generation,) = store.generations()
    assert not generation.finished
    store.add_phases(0, Phases(0.5, wall=0.5), finished=True)
    (generation,) = store.generations()
    assert generation.finished
    assert generation.tally == Tally(5, 2, 1)
    assert generation.phases == Phases(1.5, 2.0, 3.0, 4.0, 5.0, 15.5)


def test_evaluations_say_when_they_were_stored(store: Store) -> None:
    store.add_generation(0, Tally(), [one(1), one(2)], Tabued())
    before = time.time()
    store.add_evaluation(2, FASTER)
    (at,) = store.stored_at().values()
    assert store.stored_at().keys() == {2}
    assert at is not None
    assert before <= at <= time.time()


def test_a_generation_is_bred_in_cohorts_and_what_came_between_them_is_known(store: Store) -> None:
    store.add_generation(0, Tally(3, 1, 0), [one(1), one(2)], Tabued())
    store.add_evaluation(2, FASTER)
    store.add_generation(0, Tally(4, 0, 2), [one(3), one(4)], Tabued())
    store.add_evaluation(4, FASTER)
    store.add_generation(1, Tally(1), [one(5, 1)], Tabued())
    store.add_evaluation(1, FASTER)
    assert [(one.cohorts, one.tally) for one in store.generations()] == [
        (2, Tally(7, 1, 2)),
        (1, Tally(1)),
    ]
    found = [[one.ident for one, _ in store.came(cohorts)] for cohorts in range(5)]
    assert found == [[], [2], [4], [1], []]
    assert [store.reached(cohorts) for cohorts in range(4)] == [
        (0, None),
        *((count, FASTER.rank) for count in (1, 2, 3)),
    ]
    assert [one.ident for one in store.pending()] == [3, 5]
    store.add_phases(1, Phases(), finished=False)
    assert not any(one.finished for one in store.generations())
    store.add_evaluation(3, FASTER)
    store.add_phases(1, Phases(), finished=False)
    assert [one.finished for one in store.generations()] == [True, False]


def test_the_best_are_faster_and_best_first(store: Store) -> None:
    ratios = {1: 0.9, 2: 0.5, 3: 0.5, 4: 0.1, 5: 0.7}
    store.add_generation(0, Tally(), [one(i) for i in (1, 2, 3)], Tabued())
    store.add_generation(1, Tally(), [one(i, 1) for i in (4, 5)], Tabued())
    for ident, ratio in ratios.items():
        verdict = Verdict.UNCERTAIN if ident == 4 else Verdict.FASTER
        store.add_evaluation(ident, Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio))
    assert [individual.ident for individual, _ in store.best(9)] == [2, 3, 5, 1]
    assert [individual.ident for individual, _ in store.best(2)] == [2, 3]
    assert [individual.ident for individual, _ in store.best(2, Verdict.UNCERTAIN)] == [4]
    assert store.best_ratio(0) == 0.5
    assert store.best_ratio(1) == 0.7
    assert store.best_ratio(2) is None


def test_the_best_of_each_configuration(store: Store) -> None:
    genotypes = ["A=1 <_a>", "A=1", "<_a> <_b>", "", "A=1 B=2 <_b>", "A=1 <_b>"]
    some = [replace(one(at), genotype=text) for at, text in enumerate(genotypes, 1)]
    store.add_generation(0, Tally(), some, Tabued())
    for ident, ratio in enumerate([0.6, 0.7, 0.8, 0.4, 0.9, 0.5], 1):
        verdict = Verdict.UNCERTAIN if ident == 4 else Verdict.FASTER
        store.add_evaluation(ident, Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio))
    assert [individual.ident for individual, _ in store.leaders(9)] == [6, 3, 5]
    assert [individual.ident for individual, _ in store.leaders(1)] == [6]


def test_a_lucky_median_is_not_the_best(store: Store) -> None:
    store.add_generation(0, Tally(), [one(1), one(2)], Tabued())
    for ident, (ratio, low, high) in {1: (0.5, 0.4, 0.95), 2: (0.7, 0.69, 0.71)}.items():
        faster = Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, ratio, low, high)
        store.add_evaluation(ident, faster)
    assert [individual.ident for individual, _ in store.best(9)] == [2, 1]
    assert store.best_ratio(0) == 0.7


@given(st.dictionaries(TEXT, st.none() | st.integers() | TEXT | st.lists(NUMBERS), max_size=4))
def test_facts_come_back(facts: dict[str, object]) -> None:
    with Store(Path(":memory:"), create=True) as store:
        store.put(**facts)
        for name, value in facts.items():
            assert store.get(name) == value
        assert store.get("nothing like it", math.pi) == math.pi
        store.put(**dict.fromkeys(facts, "new"))
        assert all(store.get(name) == "new" for name in facts)


@settings(max_examples=20)
@given(offspring=offsprings())
def test_everything_survives_closing(
    offspring: list[list[Individual]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("store") / "run.db"
    with Store(path, create=True) as store:
        for number, generation in enumerate(offspring):
            store.add_generation(number, Tally(number), generation, Tabued(frozenset([b"x"])))
        store.add_evaluation(1, FASTER)
        store.put(plan={"seed": 1})
        before = (store.individuals(), store.evaluations(), store.generations(), store.tabu())
    with Store(path) as store:
        assert (
            store.individuals(),
            store.evaluations(),
            store.generations(),
            store.tabu(),
        ) == before
        assert store.get("plan") == {"seed": 1}


# -- files that are none ---------------------------------------------------------------------------


def test_no_file_is_no_run_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run is stored here") as caught:
        Store(tmp_path / "run" / "run.db")
    assert caught.value.where == str(tmp_path / "run")
    with pytest.raises(UserError, match="no run is stored here"):
        Store(tmp_path / "run.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "plain text\n" * 1000])
def test_a_file_that_is_no_database_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="not a run database") as caught:
        Store(path)
    assert caught.value.where == str(path)
    assert path.read_text(encoding="utf-8") == text


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(UserError, match="not a run database"):
        Store(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_format_of_another_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with Store(path, create=True) as store:
        store.put(schema=NEWEST + 1)
    with pytest.raises(UserError, match=f"format {NEWEST + 1}, this .* reads {NEWEST}\n") as caught:
        Store(path)
    assert caught.value.hint is not None
    assert "new run" in caught.value.hint


# -- outcomes --------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(EVALUATIONS)
def test_one_word_says_what_became_of_an_individual(evaluation: Evaluation) -> None:
    outcome = evaluation.outcome
    assert (outcome is Outcome.NOT_BUILT) == (not evaluation.built)
    if evaluation.built and evaluation.survival is Survival.NORMAL:
        word = Outcome.WRONG if evaluation.verdict is None else Outcome(str(evaluation.verdict))
        assert outcome is word
    assert evaluation.selectable == (evaluation.verdict is Verdict.FASTER)


def test_a_database_that_another_keeps_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "_BUSY", 0.0)
    monkeypatch.setattr(run_file, "_WAITS", 0.0)
    with Store(tmp_path / "run.db", create=True) as store:
        with closing(sqlite3.connect(tmp_path / "run.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(MachineError, match="keeps the run database busy"):
                store.put(seen=1)
        store.put(seen=2)
        assert store.get("seen") == 2


def test_a_database_that_is_full_holds_what_it_held_and_goes_on(tmp_path: Path) -> None:
    with Store(tmp_path / "run.db", create=True) as store:
        store.put(seen=1)
        store._db.execute("PRAGMA max_page_count = 1")  # as many as it has
        with pytest.raises(MachineError, match="the disk is full"):
            store.put(seen=2, more="x" * 100_000)
        assert store.get("seen") == 1
        store._db.execute("PRAGMA max_page_count = 100000")
        store.put(seen=3)
        assert store.get("seen") == 3


@pytest.mark.parametrize("again", [True, False], ids=["replaced", "removed"])
def test_what_is_written_to_a_file_that_is_gone_is_not_taken_for_kept(
    again: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    with Store(folder / "run.db", create=True) as store:
        folder.rename(tmp_path / "away")
        if again:
            folder.mkdir()
            Store(folder / "run.db", create=True).close()
        with pytest.raises(UserError, match="the run was removed"):
            store.put(seen=1)
