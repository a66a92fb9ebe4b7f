"""The SQLite file of a run database: opening, transactions, and facts about the run."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter

from gi_cuda.errors import UserError, no_run
from gi_cuda.store.complaints import complaints, reason
from gi_cuda.store.migrations import NEWEST, migrate

T = TypeVar("T")

_BUSY = 30.0
"""Seconds to wait for another process that writes, e.g. because it migrates the database."""

_WAITS = 1.0
"""Timeout of one SQLite call, in seconds; signals are handled only between two calls."""


class RunFile:
    """The file of a run database, and the facts about the run that it holds.

    A file of an earlier format is migrated when it is opened.

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

    def __enter__(self) -> Self:
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

    # -- facts about the run -----------------------------------------------------------------

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
