"""Database formats: the first schema, and the migration from each format to the next.

A new database goes through all migrations too, so it equals an upgraded old one. To store one more
fact of each evaluation, give :class:`~gi_cuda.results.evaluation.Evaluation` a field that has a
default, and append a step here: ``(6, "ALTER TABLE evaluation ADD COLUMN energy REAL")``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from sqlite3 import Connection
from typing import TypeAlias

from gi_cuda.results.verdict import Verdict, is_selectable, rank

_FIRST = """
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
Step: TypeAlias = str | Callable[[Connection], None]
"""A migration: SQL statements separated by semicolons, or a function that executes statements."""


def _add_rank(db: Connection) -> None:
    """Add columns for selection, so that no SQL query has to decide which variant is faster."""
    db.execute("ALTER TABLE evaluation ADD COLUMN selectable INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE evaluation ADD COLUMN rank REAL")
    _rank(db)


def _rank(db: Connection) -> None:
    """Fill the selection columns.

    Call it again in a later migration that changes the rules of selection.
    """
    rows = db.execute("SELECT individual, verdict, ratio, high FROM evaluation").fetchall()
    db.executemany(
        "UPDATE evaluation SET selectable = ?, rank = ? WHERE individual = ?",
        [
            (is_selectable(verdict and Verdict(verdict)), rank(ratio, high), ident)
            for ident, verdict, ratio, high in rows
        ],
    )


def _name_schedules(db: Connection) -> None:
    """Replace the old flag "right when threads run backwards" by the named schedule
    ``reversed``.
    """
    for (text,) in db.execute("SELECT value FROM meta WHERE key = 'baseline'").fetchall():
        baseline = json.loads(text)
        if baseline.pop("backwards", False):
            baseline["schedules"] = {"reversed": []}
        db.execute("UPDATE meta SET value = ? WHERE key = 'baseline'", (json.dumps(baseline),))


_COHORTS = """
ALTER TABLE generation ADD COLUMN cohorts INTEGER NOT NULL DEFAULT 1;
ALTER TABLE evaluation ADD COLUMN cohorts INTEGER NOT NULL DEFAULT 0;
UPDATE evaluation SET cohorts = (SELECT generation + 1 FROM individual WHERE id = individual);
CREATE INDEX evaluation_cohorts ON evaluation (cohorts)
"""
"""In older formats each generation is one cohort: all of it was evaluated before the next one."""

MIGRATIONS: Sequence[tuple[int, Step]] = (
    *((1, _FIRST), (2, _add_rank), (3, _name_schedules)),
    (4, _COHORTS),
    (5, "ALTER TABLE evaluation ADD COLUMN stored_at REAL"),
)
"""Formats in order, each with the migration from the format before; format 1 starts from an empty
database."""

NEWEST = MIGRATIONS[-1][0]
"""The format that this version reads and writes."""


def migrate(db: Connection, found: int) -> None:
    """Migrate a database to the newest format, within the current transaction.

    Args:
        found: the format of the database; 0 if the database is empty.
    """
    for number, step in MIGRATIONS:
        if number <= found:
            continue
        if callable(step):
            step(db)
        else:
            for statement in step.split(";"):
                db.execute(statement)
