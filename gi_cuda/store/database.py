"""The run database: one SQLite file with one writer. It holds everything that resuming needs.

Each finished evaluation is committed as soon as it arrives. A process that is killed at any moment
therefore loses no finished evaluation, and no finished evaluation is repeated.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.generation import Generation, Individual, Phases, Tally
from gi_cuda.results.verdict import Verdict
from gi_cuda.store.columns import Columns
from gi_cuda.store.run_file import RunFile

_EVALUATIONS = Columns(Evaluation, ("outcome", "mean", "deviation", "selectable", "rank"))
_INDIVIDUALS = Columns(Individual, renamed={"ident": "id"})
_PHASES, _TALLIES = Columns(Phases), Columns(Tally)

_PENDING = "FROM individual LEFT JOIN evaluation ON individual = id WHERE individual IS NULL"
"""SQL: the individuals that have no evaluation."""


class Store(RunFile):
    """A run's database: its facts, generations, individuals and evaluations."""

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
