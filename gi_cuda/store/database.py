"""The run database: one SQLite file with one writer. It holds everything that resuming needs.

Each finished evaluation is committed as soon as it arrives. A process that is killed at any moment
therefore loses no finished evaluation, and no finished evaluation is repeated.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from gi_cuda.errors import UserError, no_run
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.generation import Generation, Individual, Phases, Tally
from gi_cuda.results.verdict import Verdict
from gi_cuda.store.columns import Columns
from gi_cuda.store.complaints import complaints, reason
from gi_cuda.store.migrations import NEWEST, migrate

T = TypeVar("T")

_EVALUATIONS = Columns(Evaluation, ("outcome", "mean", "deviation", "selectable", "rank"))
_INDIVIDUALS = Columns(Individual, renamed={"ident": "id"})
_PHASES, _TALLIES = Columns(Phases), Columns(Tally)

_BUSY = 30.0
"""Seconds to wait for another process that writes, e.g. because it migrates the database."""

_WAITS = 1.0
"""Timeout of one SQLite call, in seconds; signals are handled only between two calls."""

_PENDING = "FROM individual LEFT JOIN evaluation ON individual = id WHERE individual IS NULL"
"""SQL: the individuals that have no evaluation."""


class Store:
    """A run's database. A database of an earlier format is migrated when it is opened.

    Args:
        path: the SQLite file.
        create: make a new one; the file must not exist.

    Raises:
        UserError: the file is not a run database, has a later format, or cannot be written. Methods
            that write raise it too, if the file was removed or has become read-only.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if not create and not path.is_file():
            raise no_run(path.parent)
        self._path = path
        self._file: os.stat_result | None = None
        with complaints(path):
            self._db = sqlite3.connect(path, timeout=_WAITS, isolation_level=None)
            try:
                self._open(path, create=create)
                self._file = os.stat(path) if path.exists() else None  # None: in memory
            except BaseException:
                self._db.close()
                raise

    def _open(self, path: Path, *, create: bool) -> None:
        self._db.row_factory = sqlite3.Row
        if create or self._format(path) < NEWEST:
            with self._transaction():
                # Another process may have migrated the database in the meantime.
                migrate(self._db, 0 if create else self._format(path))
                self._put("schema", NEWEST)
        # This writes to the file, so it comes after the check that the file is a run database.
        self._patiently("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")

    def _format(self, path: Path) -> int:
        try:
            found = self.get("schema")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname not in ("SQLITE_ERROR", "SQLITE_NOTADB", "SQLITE_CORRUPT"):
                raise
            raise UserError(
                f"not a run database: {error}", where=str(path), hint="name the run's folder"
            ) from None
        if not isinstance(found, int) or not 1 <= found <= NEWEST:
            raise UserError(
                f"the run database has format {found}, this version reads {NEWEST}",
                where=str(path),
                hint="start a new run, or use the version that made it",
            )
        return found

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_there(self) -> None:
        """Check that the database file is still the one that was opened.

        Raises:
            UserError: the file was removed or replaced since it was opened.
        """
        if self._file is None:
            return
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(os.stat(self._path), self._file):
                return
        raise UserError(
            "the run was removed, or another one put in its place, while it was being worked on",
            where=str(self._path.parent),
            hint="what was found since then is lost; begin anew, or name another folder with --run",
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.check_there()
        with complaints(self._path):
            self._patiently("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # some errors end the transaction by themselves
                    self._db.execute("ROLLBACK")
                raise

    def _patiently(self, statement: str) -> None:
        """Execute a statement and retry for up to 30 s while another process locks the database.

        Signals are handled between the attempts.
        """
        deadline = time.monotonic() + _BUSY
        while True:
            try:
                self._db.execute(statement)
            except sqlite3.OperationalError as error:
                if reason(error) not in ("BUSY", "LOCKED") or time.monotonic() > deadline:
                    raise
            else:
                return

    # -- what the run is ---------------------------------------------------------------------

    def _put(self, key: str, value: object) -> None:
        self._db.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, json.dumps(value)),
        )

    def put(self, **values: object) -> None:
        """Store facts about the run (JSON values) in one transaction."""
        with self._transaction():
            for key, value in values.items():
                self._put(key, value)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a fact about the run, or the default if it was not stored."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return json.loads(row["value"]) if row else default

    def has(self, key: str) -> bool:
        """Tell whether a fact was stored, even if its value is None."""
        return self._db.execute("SELECT 1 FROM meta WHERE key = ?", (key,)).fetchone() is not None

    def load(self, key: str, kind: type[T]) -> T | None:
        """Return a fact that was stored with ``asdict`` as its dataclass; None if it is absent."""
        return None if self.get(key) is None else self.require(key, kind)

    def require(self, key: str, kind: type[T]) -> T:
        """Return a fact that every run has as its dataclass."""
        return TypeAdapter(kind).validate_python(self.get(key))

    # -- generations -------------------------------------------------------------------------

    def add_generation(
        self, number: int, tally: Tally, individuals: Sequence[Individual], tabu: Tabued
    ) -> None:
        """Store a generation, or one more cohort of it, with the tabu keys that it added.

        All of it is stored in one transaction.
        """
        adds = ", ".join(
            f"{name} = {name} + excluded.{name}" for name in (*_TALLIES.names, "cohorts")
        )
        with self._transaction():
            row = {"number": number, **_TALLIES.row(tally), "cohorts": 1}
            self._insert("generation", [row], f" ON CONFLICT (number) DO UPDATE SET {adds}")
            self._insert("individual", map(_INDIVIDUALS.row, individuals))
            self._forbid(tabu)

    def _forbid(self, tabu: Tabued) -> None:
        rows = [("genotype", k) for k in tabu.genotypes]
        rows += [("phenotype", k) for k in tabu.phenotypes]
        self._db.executemany("INSERT OR IGNORE INTO tabu VALUES (?, ?)", rows)

    def add_phases(self, number: int, phases: Phases, *, finished: bool) -> None:
        """Add phase times to a generation and say whether all of its individuals are evaluated.

        Earlier generations are marked as finished too, as soon as none of their individuals is
        pending.
        """
        sets = ", ".join(f"{name} = {name} + :{name}" for name in _PHASES.names)
        with self._transaction():
            self._db.execute(
                f"UPDATE generation SET {sets}, finished = :finished WHERE number = :number",
                {**_PHASES.row(phases), "finished": finished, "number": number},
            )
            self._db.execute(
                "UPDATE generation SET finished = 1 WHERE number < ? AND NOT finished"
                f" AND NOT EXISTS (SELECT 1 {_PENDING} AND generation = number)",
                (number,),
            )

    def generations(self) -> list[Generation]:
        """Return all generations, in order."""
        outcomes: dict[int, Counter[Outcome]] = {}
        for number, word, count in self._db.execute(
            "SELECT generation, outcome, COUNT(*) FROM individual JOIN evaluation"
            " ON individual = id GROUP BY generation, outcome"
        ):
            outcomes.setdefault(number, Counter())[Outcome(word)] = count
        rows = self._db.execute("SELECT * FROM generation ORDER BY number").fetchall()
        return [
            Generation(
                row["number"],
                bool(row["finished"]),
                _TALLIES.read(row),
                _PHASES.read(row),
                outcomes.get(row["number"], Counter()),
                row["cohorts"],
            )
            for row in rows
        ]

    def tabu(self) -> Tabued:
        """Return all tabu keys."""
        rows = self._db.execute("SELECT kind, key FROM tabu").fetchall()
        return Tabued(
            frozenset(key for kind, key in rows if kind == "genotype"),
            frozenset(key for kind, key in rows if kind == "phenotype"),
        )

    # -- individuals and evaluations ---------------------------------------------------------

    def add_evaluation(self, ident: int, evaluation: Evaluation) -> None:
        """Store a finished evaluation, with the number of cohorts that had been bred before it
        arrived.

        A second evaluation of the same individual is an error.
        """
        with self._transaction():
            self._evaluated(ident, evaluation)

    def add_evaluated(self, one: Individual, evaluation: Evaluation, tabu: Tabued) -> None:
        """Store an individual that was bred outside a cohort, with its evaluation and tabu keys.

        All of it is stored in one transaction.
        """
        with self._transaction():
            self._insert("individual", [_INDIVIDUALS.row(one)])
            self._forbid(tabu)
            self._evaluated(one.ident, evaluation)

    def _evaluated(self, ident: int, evaluation: Evaluation) -> None:
        (cohorts,) = self._db.execute("SELECT SUM(cohorts) FROM generation").fetchone()
        row = {"individual": ident, **_EVALUATIONS.row(evaluation), "cohorts": cohorts}
        self._insert("evaluation", [row | {"stored_at": time.time()}])

    def _insert(
        self, table: str, rows: Iterable[Mapping[str, object]], otherwise: str = ""
    ) -> None:
        for row in rows:
            values = ", ".join(f":{column}" for column in row)
            columns = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"
            self._db.execute(columns + otherwise, row)

    def individuals(self, generation: int | None = None) -> list[Individual]:
        """Return the individuals of one generation, or of all generations, in order."""
        where = "" if generation is None else "WHERE generation = ?"
        rows = self._db.execute(
            f"SELECT * FROM individual {where} ORDER BY id",
            () if generation is None else (generation,),
        )
        return [_INDIVIDUALS.read(row) for row in rows]

    def next_ident(self) -> int:
        """Return the number for the next new individual; 0 is the reference."""
        (last,) = self._db.execute("SELECT MAX(id) FROM individual").fetchone()
        return (last or 0) + 1

    def individual(self, ident: int) -> Individual | None:
        """Return the individual with a number; None if there is none."""
        row = self._db.execute("SELECT * FROM individual WHERE id = ?", (ident,)).fetchone()
        return _INDIVIDUALS.read(row) if row else None

    def individual_like(self, genotype: bytes, phenotype: bytes | None) -> int | None:
        """Return the number of an individual with this genotype key or this phenotype key.

        None if there is no such individual.
        """
        row = self._db.execute(
            "SELECT id FROM individual WHERE genotype_key = ? OR phenotype_key = ?",
            (genotype, phenotype),
        ).fetchone()
        return row and int(row["id"])

    def pending(self, generation: int | None = None) -> list[Individual]:
        """Return the individuals of one generation, or of all, that have no evaluation yet."""
        where = "" if generation is None else "AND generation = ?"
        rows = self._db.execute(
            f"SELECT individual.* {_PENDING} {where} ORDER BY id",
            () if generation is None else (generation,),
        )
        return [_INDIVIDUALS.read(row) for row in rows]

    def came(self, cohorts: int) -> list[tuple[Individual, Evaluation]]:
        """Return the individuals whose evaluations arrived when ``cohorts`` cohorts had been bred.

        The individuals are in the order of their numbers.
        """
        rows = self._db.execute(
            "SELECT individual.*, evaluation.* FROM individual JOIN evaluation ON individual = id"
            " WHERE cohorts = ? ORDER BY id",
            (cohorts,),
        )
        return [(_INDIVIDUALS.read(row), _EVALUATIONS.read(row)) for row in rows]

    def evaluations(self, generation: int | None = None) -> dict[int, Evaluation]:
        """Return the evaluations of one generation, or of all, by individual."""
        where = "" if generation is None else "WHERE generation = ?"
        rows = self._db.execute(
            f"SELECT evaluation.* FROM evaluation JOIN individual ON individual = id {where}",
            () if generation is None else (generation,),
        )
        return {row["individual"]: _EVALUATIONS.read(row) for row in rows}

    def stored_at(self) -> dict[int, float | None]:
        """Return the time at which each evaluation was stored, in seconds since 1970, by
        individual.

        None for evaluations of an older format, which has no times.
        """
        return dict(self._db.execute("SELECT individual, stored_at FROM evaluation").fetchall())

    def codes(self) -> dict[bytes, tuple[int, Evaluation]]:
        """Return the first individual with each machine code, and its evaluation, by code key."""
        rows = self._db.execute(
            "SELECT * FROM evaluation WHERE code_key IS NOT NULL ORDER BY individual DESC"
        )
        return {row["code_key"]: (row["individual"], _EVALUATIONS.read(row)) for row in rows}

    def best_ratio(self, generation: int) -> float | None:
        """Return the ratio of the best selectable individual of a generation; None if there is
        none.
        """
        row = self._db.execute(
            "SELECT ratio FROM evaluation JOIN individual ON individual = id"
            " WHERE generation = ? AND selectable ORDER BY rank, individual LIMIT 1",
            (generation,),
        ).fetchone()
        return row and float(row["ratio"])

    def reached(self, cohorts: int) -> tuple[int, float | None]:
        """Return the progress of a search until cohort number ``cohorts + 1`` was bred.

        Returns:
            The number of evaluations that had arrived before that, and the smallest rank of the
                selectable
            ones; None for the rank if none is selectable.
        """
        count, rank = self._db.execute(
            "SELECT COUNT(*), MIN(rank) FILTER (WHERE selectable) FROM evaluation"
            " WHERE cohorts <= ?",
            (cohorts,),
        ).fetchone()
        return count, None if rank is None else float(rank)

    def best(
        self, count: int, verdict: Verdict | None = None
    ) -> list[tuple[Individual, Evaluation]]:
        """Return the best selectable individuals, or the best with a given verdict, best first."""
        which = "selectable" if verdict is None else "verdict = :verdict"
        rows = self._db.execute(
            "SELECT individual.*, evaluation.* FROM individual JOIN evaluation ON individual = id"
            f" WHERE {which} ORDER BY rank, individual LIMIT :count",
            {"verdict": verdict, "count": count},
        )
        return [(_INDIVIDUALS.read(row), _EVALUATIONS.read(row)) for row in rows]

    def leaders(self, count: int) -> list[tuple[Individual, Evaluation]]:
        """Return the best selectable individual of each configuration, best first."""
        values = "RTRIM(SUBSTR(genotype, 1, INSTR(genotype || '<', '<') - 1))"
        rows = self._db.execute(
            "SELECT * FROM (SELECT individual.*, evaluation.*, ROW_NUMBER() OVER"
            f" (PARTITION BY {values} ORDER BY rank, individual) AS place"
            " FROM individual JOIN evaluation ON individual = id WHERE selectable)"
            " WHERE place = 1 ORDER BY rank, individual LIMIT ?",
            (count,),
        )
        return [(_INDIVIDUALS.read(row), _EVALUATIONS.read(row)) for row in rows]


@dataclass(frozen=True, slots=True)
class Tabued:
    """The tabu keys of genotypes and of phenotypes."""

    genotypes: frozenset[bytes] = frozenset()
    phenotypes: frozenset[bytes] = frozenset()
