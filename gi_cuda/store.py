"""The run database: one SQLite file, one writer, and all that is needed to resume.

Every finished evaluation is committed as it arrives, so a process killed at any moment loses
nothing that was finished, and what was finished is never evaluated again.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from gi_cuda.errors import UserError
from gi_cuda.results.evaluation import Evaluation, Outcome, mean_and_deviation
from gi_cuda.results.generation import Generation, Individual, Phases, Tally
from gi_cuda.results.measurement import Sample, Survival
from gi_cuda.results.verdict import Verdict

T = TypeVar("T")

SCHEMA_VERSION = 1

_RANK = "COALESCE(high, ratio), individual"
"""The order of faster individuals, the best first (see :attr:`Evaluation.sure_ratio`)."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tabu (kind TEXT NOT NULL, key BLOB NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
CREATE TABLE generation (
    number INTEGER PRIMARY KEY,
    finished INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL, genotype_duplicates INTEGER NOT NULL,
    phenotype_duplicates INTEGER NOT NULL,
    search REAL NOT NULL DEFAULT 0, preprocess REAL NOT NULL DEFAULT 0,
    compile REAL NOT NULL DEFAULT 0, run REAL NOT NULL DEFAULT 0,
    verify REAL NOT NULL DEFAULT 0, wall REAL NOT NULL DEFAULT 0
);
CREATE TABLE individual (
    id INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL REFERENCES generation (number),
    genotype TEXT NOT NULL, genotype_key BLOB NOT NULL UNIQUE, phenotype_key BLOB UNIQUE,
    origin TEXT NOT NULL, parents TEXT NOT NULL
);
CREATE INDEX individual_generation ON individual (generation);
CREATE TABLE evaluation (
    individual INTEGER PRIMARY KEY REFERENCES individual (id),
    outcome TEXT NOT NULL, built INTEGER NOT NULL, survival TEXT, penalty REAL, verdict TEXT,
    ratio REAL, low REAL, high REAL, mean REAL, deviation REAL, message TEXT NOT NULL,
    samples TEXT NOT NULL, run_seconds REAL NOT NULL, verify_seconds REAL NOT NULL,
    code_key BLOB, resources TEXT NOT NULL
);
"""


class Store:
    """A run's database.

    Args:
        path: the SQLite file.
        create: make a new one; the file must not exist.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if not create and not path.is_file():
            raise UserError("no run is stored here", where=str(path.parent))
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            if create:
                self._create()
            self._check(path)
            # Not before it is known to be ours: this writes to the file.
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            self._db.close()
            raise

    def _create(self) -> None:
        with self._transaction():
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            self._put("schema", SCHEMA_VERSION)

    def _check(self, path: Path) -> None:
        try:
            found = self.get("schema")
        except sqlite3.DatabaseError as error:
            raise UserError(
                f"not a run database: {error}", where=str(path), hint="name the run's folder"
            ) from None
        if found != SCHEMA_VERSION:
            raise UserError(
                f"the run database has format {found}, this version reads {SCHEMA_VERSION}",
                where=str(path),
                hint="start a new run, or use the version that made it",
            )

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

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
        """A fact about the run."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else default

    def load(self, key: str, kind: type[T]) -> T | None:
        """A fact stored as ``asdict`` gave it, as the dataclass it was; None if absent."""
        stored = self.get(key)
        return None if stored is None else TypeAdapter(kind).validate_python(stored)

    # -- generations -------------------------------------------------------------------------

    def add_generation(
        self, number: int, tally: Tally, individuals: Sequence[Individual], tabu: Tabued
    ) -> None:
        """Store a bred generation and the tabu keys that breeding it added, all or nothing."""
        with self._transaction():
            self._db.execute(
                "INSERT INTO generation (number, created, genotype_duplicates,"
                " phenotype_duplicates) VALUES (?, ?, ?, ?)",
                (number, tally.created, tally.genotype_duplicates, tally.phenotype_duplicates),
            )
            self._db.executemany(
                "INSERT INTO individual VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        one.ident,
                        one.generation,
                        one.genotype,
                        one.genotype_key,
                        one.phenotype_key,
                        one.origin,
                        json.dumps(one.parents),
                    )
                    for one in individuals
                ],
            )
            rows = [("genotype", k) for k in tabu.genotypes]
            rows += [("phenotype", k) for k in tabu.phenotypes]
            self._db.executemany("INSERT OR IGNORE INTO tabu VALUES (?, ?)", rows)

    def add_phases(self, number: int, phases: Phases, *, finished: bool) -> None:
        """Add times to a generation's and say whether all of it is evaluated."""
        names = [field.name for field in fields(Phases)]
        sets = ", ".join(f"{name} = {name} + ?" for name in names)
        with self._transaction():
            self._db.execute(
                f"UPDATE generation SET {sets}, finished = ? WHERE number = ?",
                (*asdict(phases).values(), int(finished), number),
            )

    def generations(self) -> list[Generation]:
        """All generations, in order."""
        outcomes: dict[int, Counter[Outcome]] = {}
        for number, word, count in self._db.execute(
            "SELECT generation, outcome, COUNT(*) FROM individual JOIN evaluation"
            " ON individual = id GROUP BY generation, outcome"
        ):
            outcomes.setdefault(number, Counter())[Outcome(word)] = count
        rows = self._db.execute("SELECT * FROM generation ORDER BY number").fetchall()
        return [
            Generation(
                row[0],
                bool(row[1]),
                Tally(*row[2:5]),
                Phases(*row[5:11]),
                outcomes.get(row[0], Counter()),
            )
            for row in rows
        ]

    def tabu(self) -> Tabued:
        """All tabu keys."""
        rows = self._db.execute("SELECT kind, key FROM tabu").fetchall()
        return Tabued(
            frozenset(key for kind, key in rows if kind == "genotype"),
            frozenset(key for kind, key in rows if kind == "phenotype"),
        )

    # -- individuals and evaluations ---------------------------------------------------------

    def add_evaluation(self, ident: int, evaluation: Evaluation) -> None:
        """Store one finished evaluation; a second one of the same individual is an error."""
        mean, deviation = mean_and_deviation(evaluation.samples)
        samples = [[s.case, s.variant, s.reference] for s in evaluation.samples]
        with self._transaction():
            self._db.execute(
                f"INSERT INTO evaluation VALUES ({', '.join('?' * 17)})",
                (
                    ident,
                    evaluation.outcome,
                    int(evaluation.built),
                    evaluation.survival,
                    evaluation.penalty,
                    evaluation.verdict,
                    evaluation.ratio,
                    evaluation.low,
                    evaluation.high,
                    mean,
                    deviation,
                    _printable(evaluation.message),
                    json.dumps(samples),
                    evaluation.run_seconds,
                    evaluation.verify_seconds,
                    evaluation.code_key,
                    json.dumps(dict(evaluation.resources)),
                ),
            )

    def individuals(self, generation: int | None = None) -> list[Individual]:
        """The individuals of one generation, or of all, in order."""
        where = "" if generation is None else "WHERE generation = ?"
        rows = self._db.execute(
            f"SELECT * FROM individual {where} ORDER BY id",
            () if generation is None else (generation,),
        )
        return [_individual(row) for row in rows]

    def next_ident(self) -> int:
        """The number of the next new individual; 0 is the reference."""
        (last,) = self._db.execute("SELECT MAX(id) FROM individual").fetchone()
        return (last or 0) + 1

    def individual(self, ident: int) -> Individual | None:
        """One individual by its number."""
        row = self._db.execute("SELECT * FROM individual WHERE id = ?", (ident,)).fetchone()
        return _individual(row) if row else None

    def pending(self, generation: int) -> list[Individual]:
        """The individuals of a generation that have no evaluation yet."""
        rows = self._db.execute(
            "SELECT individual.* FROM individual LEFT JOIN evaluation ON individual = id"
            " WHERE generation = ? AND individual IS NULL ORDER BY id",
            (generation,),
        )
        return [_individual(row) for row in rows]

    def evaluations(self, generation: int | None = None) -> dict[int, Evaluation]:
        """Evaluations by individual, of one generation or of all."""
        where = "" if generation is None else "WHERE generation = ?"
        rows = self._db.execute(
            f"SELECT evaluation.* FROM evaluation JOIN individual ON individual = id {where}",
            () if generation is None else (generation,),
        )
        return {row[0]: _evaluation(row) for row in rows}

    def codes(self) -> dict[bytes, tuple[int, Evaluation]]:
        """The first individual measured with each machine code, and its record, by code key."""
        rows = self._db.execute(
            "SELECT * FROM evaluation WHERE code_key IS NOT NULL ORDER BY individual DESC"
        )
        return {row[15]: (row[0], _evaluation(row)) for row in rows}

    def best_ratio(self, generation: int) -> float | None:
        """The ratio of the best among a generation's faster individuals."""
        row = self._db.execute(
            "SELECT ratio FROM evaluation JOIN individual ON individual = id"
            f" WHERE generation = ? AND verdict = 'faster' ORDER BY {_RANK} LIMIT 1",
            (generation,),
        ).fetchone()
        return None if row is None else float(row[0])

    def best(
        self, count: int, verdict: Verdict = Verdict.FASTER
    ) -> list[tuple[Individual, Evaluation]]:
        """The individuals of a verdict that are surely the fastest, best first."""
        rows = self._db.execute(
            "SELECT individual.*, evaluation.* FROM individual JOIN evaluation ON individual = id"
            f" WHERE verdict = ? ORDER BY {_RANK} LIMIT ?",
            (verdict, count),
        )
        return [(_individual(row[:7]), _evaluation(row[7:])) for row in rows]


@dataclass(frozen=True, slots=True)
class Tabued:
    """Tabu keys of both kinds."""

    genotypes: frozenset[bytes] = frozenset()
    phenotypes: frozenset[bytes] = frozenset()


def _printable(text: str) -> str:
    """The text without what no encoding can hold: bytes that compilers quoted from sources."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _individual(row: Sequence[Any]) -> Individual:
    ident, generation, genotype, genotype_key, phenotype_key, origin, parents = row
    return Individual(
        ident,
        generation,
        genotype,
        genotype_key,
        phenotype_key,
        origin,
        tuple(json.loads(parents)),
    )


def _evaluation(row: Sequence[Any]) -> Evaluation:
    return Evaluation(
        built=bool(row[2]),
        survival=Survival(row[3]) if row[3] else None,
        penalty=row[4],
        verdict=Verdict(row[5]) if row[5] else None,
        ratio=row[6],
        low=row[7],
        high=row[8],
        message=row[11],
        samples=tuple(Sample(*sample) for sample in json.loads(row[12])),
        run_seconds=row[13],
        verify_seconds=row[14],
        code_key=row[15],
        resources=json.loads(row[16]),
    )
