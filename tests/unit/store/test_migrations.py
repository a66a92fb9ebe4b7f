"""Databases of earlier formats open, keep their contents, and are updated once."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

import gi_cuda.store.migrations
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.baseline import Baseline
from gi_cuda.results.evaluation import Outcome
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.stored import Plan, stored_baseline, stored_plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.store import Store
from gi_cuda.store.migrations import MIGRATIONS, NEWEST, migrate

DUMP = Path(__file__).parents[2] / "sources" / "run_format_1.sql"


def make_old(folder: Path) -> Path:
    """A database of format 1 in a folder."""
    path = folder / "run.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(DUMP.read_text(encoding="utf-8"))
        db.execute("PRAGMA journal_mode = WAL")
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return make_old(tmp_path)


def rows(path: Path, query: str) -> list[sqlite3.Row]:
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return db.execute(query).fetchall()


def columns(path: Path, table: str) -> set[tuple[object, ...]]:
    """Names, types and whether they may be null."""
    return {
        (row["name"], row["type"], row["notnull"])
        for row in rows(path, f"PRAGMA table_info({table})")
    }


def test_what_was_stored_is_read(old: Path) -> None:
    stored = {row["individual"]: row for row in rows(old, "SELECT * FROM evaluation")}
    with Store(old) as store:
        evaluations = store.evaluations()
        assert list(evaluations) == list(stored) == [1, 2, 5, 8, 9, 17, 64, 67, 71]
        for ident, evaluation in evaluations.items():
            row = stored[ident]
            for name in ("penalty", "ratio", "low", "high", "message", "run_seconds", "code_key"):
                assert getattr(evaluation, name) == row[name]
            assert str(evaluation.outcome) == row["outcome"]
        sample = evaluations[2].samples[0]
        assert (sample.case, sample.variant, sample.reference) == (
            "lambda",
            0.000895219,
            0.000943811,
        )
        assert store.codes() == {
            row["code_key"]: (ident, evaluations[ident]) for ident, row in stored.items()
        }
        assert [one.ident for one, _ in store.best(9)] == [64, 2]
        assert [one.ident for one, _ in store.best(9, Verdict.UNCERTAIN)] == [71, 9]
        assert [store.best_ratio(number) for number in (0, 1)] == [
            stored[2]["ratio"],
            stored[64]["ratio"],
        ]
        first, second = store.generations()
        assert (first.finished, second.finished) == (True, False)
        assert first.tally.created == 62
        assert first.phases.search == 9.81323410000000118103e-02
        assert second.outcomes == Counter([Outcome.FASTER, Outcome.WRONG, Outcome.UNCERTAIN])
        assert [one.ident for one in store.pending(1)] == [76]
        assert store.individuals(1)[0].parents == (2,)
        assert len(store.tabu().genotypes) == len(store.tabu().phenotypes) == 3


def test_a_baseline_and_a_plan_of_before_they_said_more_are_read(old: Path) -> None:
    with Store(old) as store:
        baseline = stored_baseline(store)
        assert isinstance(baseline, Baseline)
        assert baseline.loops == {4: 16, 5: 200}
        assert isinstance(baseline.copies, tuple)
        assert baseline.verdict in Verdict
        assert (baseline.schedules, baseline.unwritten) == ({}, {})
        plan = stored_plan(store)
        assert isinstance(plan, Plan)
        assert (plan.preset, plan.seed) == ("barracuda", 1)
        assert plan.settings == SETTINGS.having(60, 4)


def test_an_old_database_becomes_what_a_new_one_is(old: Path, tmp_path: Path) -> None:
    with Store(tmp_path / "new.db", create=True):
        pass
    with Store(old) as store:
        assert store.get("schema") == NEWEST
    for table in ("meta", "tabu", "generation", "individual", "evaluation"):
        assert columns(old, table) == columns(tmp_path / "new.db", table)


def test_what_came_when_is_known_of_a_search_that_had_no_cohorts(old: Path) -> None:
    with Store(old) as store:
        assert [one.cohorts for one in store.generations()] == [1, 1]
        for number in (0, 1):
            members = [(one.ident, evaluation) for one, evaluation in store.came(number + 1)]
            assert members == sorted(store.evaluations(number).items())
        assert store.came(0) == store.came(3) == []
        assert set(store.stored_at().values()) == {None}


def test_it_goes_on_where_it_was(old: Path) -> None:
    with Store(old) as store:
        (fastest, evaluation), *_ = store.best(1)
        store.add_evaluation(76, evaluation)
    with Store(old) as store:
        assert store.evaluations()[76] == store.evaluations()[fastest.ident]
        assert [one.ident for one, _ in store.best(2)] == [fastest.ident, 76]


def open_at_once(path: Path, barrier: Barrier, answers: Queue[list[int]]) -> None:
    barrier.wait()
    with Store(path) as store:
        answers.put([one.ident for one, _ in store.best(9)])


def test_processes_that_open_it_at_once_bring_it_up_to_date_once(old: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(4), context.Queue()
    processes = [
        context.Process(target=open_at_once, args=(old, barrier, answers)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    assert [answers.get(timeout=60) for _ in processes] == [[64, 2]] * 4
    for process in processes:
        process.join()
    assert columns(old, "evaluation") >= {("rank", "REAL", 0)}


def test_a_step_that_fails_leaves_it_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = columns(old, "evaluation")
    broken = (
        *gi_cuda.store.migrations.MIGRATIONS,
        (NEWEST + 1, "ALTER TABLE elsewhere ADD COLUMN x"),
    )
    monkeypatch.setattr(gi_cuda.store.migrations, "MIGRATIONS", broken)
    with pytest.raises(sqlite3.OperationalError, match="no such table: elsewhere"):
        Store(old)
    assert columns(old, "evaluation") == before


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, who may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody can reach."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.parametrize("folder_too", [True, False])
def test_one_that_cannot_be_written_is_a_clear_error(place: Path, folder_too: bool) -> None:
    path = make_old(place)
    before = path.read_bytes()
    path.chmod(0o444)
    place.chmod(0o555 if folder_too else 0o777)
    with nobody(), pytest.raises(UserError, match="cannot be written") as caught:
        Store(path)
    assert caught.value.where == str(path)
    assert caught.value.hint is not None
    assert "copy" in caught.value.hint
    assert path.read_bytes() == before


def test_a_reference_that_was_right_backwards_is_so_under_that_schedule() -> None:
    for backwards, schedules in ((True, {"reversed": []}), (False, None)):
        db = sqlite3.connect(":memory:")
        migrate(db, 0)
        text = json.dumps({"backwards": backwards, "floor": 0.01})
        db.execute("INSERT INTO meta VALUES ('baseline', ?)", (text,))
        name_schedules = dict(MIGRATIONS)[3]
        assert callable(name_schedules)
        name_schedules(db)
        ((found,),) = db.execute("SELECT value FROM meta WHERE key = 'baseline'").fetchall()
        assert json.loads(found).get("schedules") == schedules
