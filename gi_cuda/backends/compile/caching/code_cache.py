"""Compiled code of all runs of a user, cached on disk.

One database holds two kinds of entries: files that compilers made, by the hash of their contents,
and records, by a hash of what they were made of. One file serves the records of all variants in it.
Both are verified when they are read; damaged entries count as missing.

Errors of the cache never end a command: a cache that cannot be read or written is not used.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import diskcache
import xxhash

from gi_cuda.backends.compile.caching.cache import cache_folder
from gi_cuda.errors import UserError

SIZE_VARIABLE = "GI_CUDA_CACHE_SIZE"
SIZE = "2G"

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_PATIENCE = 20.0
"""Seconds for which a process waits while others write."""

_SHORTLY = 0.005
"""Seconds between two attempts in situations where SQLite does not wait."""

_RECORD, _FILE, _HITS, _MISSES = b"r", b"f", b"hits", b"misses"
"""First letters of keys, and two whole keys, which begin with other letters."""
_CHECK = 16
"""Bytes of the hash in front of a record."""

_LEVEL = 1
"""Compression level. Machine code shrinks to a quarter; higher levels gain little."""

_NONE: Final[Mapping[bytes, bytes]] = MappingProxyType({})

_FAULTS: Final = (OSError, sqlite3.Error, diskcache.Timeout, ValueError)


class _Bytes(diskcache.Disk):  # type: ignore[misc]
    """Storage for bytes and numbers only; objects of other kinds are never unpickled."""

    def get(self, key: Any, raw: bool) -> Any:
        return super().get(key, raw) if raw else b""

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        plain = mode in (diskcache.core.MODE_RAW, diskcache.core.MODE_BINARY)
        return super().fetch(mode, filename, value, read) if plain else None


@dataclass(frozen=True, slots=True)
class Usage:
    """The contents of a cache.

    Attributes:
        entries: number of records, of variants or of whole batches (see :class:`CachedBatches`).
        files: number of files with code.
        size: bytes on disk.
        limit: bytes above which the least recently used entries are removed.
        hits, misses: numbers of variants that were found in it, and not found, since it was
            emptied.
    """

    entries: int
    files: int
    size: int
    limit: int
    hits: int
    misses: int


def code_folder() -> Path:
    """Return the folder of the cache."""
    return cache_folder() / "code"


def size_limit() -> int:
    """Return the most bytes that the cache may take: ``GI_CUDA_CACHE_SIZE``, by default 2 GiB.

    Raises:
        UserError: the variable holds no size.
    """
    return size_of(os.environ.get(SIZE_VARIABLE) or SIZE, SIZE_VARIABLE)


def size_of(said: str, where: str) -> int:
    """Parse a number of bytes such as ``500M``.

    Args:
        said: the text.
        where: source of the text, for messages.

    Raises:
        UserError: it is no size.
    """
    match = re.fullmatch(r"(\d+)([KMG]?)", said.strip(), re.I)
    if match is None:
        raise UserError(f"{said!r} is no size", where=where, hint="say bytes, or e.g. 500M or 4G")
    return int(match[1]) * _UNITS[match[2].upper()]


@dataclass(eq=False, slots=True)
class CodeCache:
    """A cache of compiled code. Any number of processes and threads may use it at once.

    Attributes:
        folder: its folder; made by the first write.
        limit: the most bytes that it may take.
        complain: called once, with a message, if the cache cannot be used. It is empty from then
            on.
    """

    folder: Path
    limit: int
    complain: Callable[[str], None]
    _opened: Any = field(default=None, repr=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _broken: bool = False

    @contextmanager
    def _using(self, *, writing: bool = True) -> Iterator[Any]:
        """Open the database, in a transaction if ``writing``.

        Getting an entry is writing: it updates the time of use.

        Raises:
            _Unusable: there is none, now or any more.
        """
        if self._broken:
            raise _Unusable
        try:
            with self._opening:
                if self._opened is None:
                    self._opened = diskcache.Cache(
                        str(self.folder),
                        timeout=_PATIENCE,
                        disk=_Bytes,
                        size_limit=self.limit,
                        eviction_policy="least-recently-used",
                    )
            with ExitStack() as transaction:
                if writing:
                    _begin(self._opened, transaction)
                yield self._opened
        except _FAULTS as error:
            self._broken = True
            said = str(error) or type(error).__name__
            self.complain(f"the cache of compiled code cannot be used: {said} ({self.folder})")
            raise _Unusable from error

    def records(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the records of the given keys that are in the cache."""
        found: dict[bytes, bytes] = {}
        try:
            with self._using(writing=False) as database:  # in most cases, none is there
                there = [key for key in keys if _RECORD + key in database]
            if not there:
                return found
            with self._using() as database:
                for key in there:
                    stored = database.get(_RECORD + key)
                    if isinstance(stored, bytes) and stored[:_CHECK] == name_of(stored[_CHECK:]):
                        found[key] = stored[_CHECK:]
        except _Unusable:
            return {}
        return found

    def keep(
        self,
        records: Mapping[bytes, bytes] = _NONE,
        files: Mapping[bytes, bytes] = _NONE,
        hits: int = 0,
        misses: int = 0,
    ) -> None:
        """Store records by their keys and files by their names, and count hits and misses.

        A call is one transaction, which takes milliseconds however much it stores.
        """
        packed = {name: zlib.compress(data, _LEVEL) for name, data in files.items()}
        try:
            with self._using() as database:
                for name, data in packed.items():
                    database.set(_FILE + name, data)
                for key, record in records.items():
                    database.set(_RECORD + key, name_of(record) + record)
                for name, more in ((_HITS, hits), (_MISSES, misses)):
                    if more:
                        database.set(name, _number(database.get(name)) + more)
        except _Unusable:
            return

    def file(self, name: bytes) -> bytes | None:
        """Return the contents of a file; None if it is missing or damaged."""
        try:
            with self._using() as database:
                stored = database.get(_FILE + name)
            data = zlib.decompress(stored) if isinstance(stored, bytes) else None
        except (_Unusable, zlib.error):
            return None
        return data if data is not None and name_of(data) == name else None

    def usage(self) -> Usage:
        """Return the contents in numbers; zeros if the cache cannot be used."""
        try:
            with self._using() as database:
                kinds = [key[:1] for key in database.iterkeys()]
                hits, misses = (_number(database.get(name)) for name in (_HITS, _MISSES))
                entries, files = kinds.count(_RECORD), kinds.count(_FILE)
                return Usage(entries, files, database.volume(), self.limit, hits, misses)
        except _Unusable:
            return Usage(0, 0, 0, self.limit, 0, 0)

    def clear(self) -> None:
        """Empty the cache, even if it is damaged or in use.

        Raises:
            OSError: it cannot be written.
        """
        if not self.folder.exists():
            return
        try:
            with diskcache.Cache(str(self.folder), timeout=_PATIENCE, disk=_Bytes) as database:
                database.clear()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    database.check(fix=True)  # removes files of processes that were killed
        except (sqlite3.Error, diskcache.Timeout, ValueError):
            shutil.rmtree(self.folder)


def open_cache(complain: Callable[[str], None]) -> CodeCache | None:
    """Return the user's cache; None if its size limit is 0.

    Raises:
        UserError: the size limit cannot be parsed.
    """
    limit = size_limit()
    return CodeCache(code_folder(), limit, complain) if limit else None


def _begin(database: Any, transaction: ExitStack) -> None:
    """Begin a transaction as soon as no other process writes.

    SQLite itself waits for other writers, but not for a process that creates or checks the
    database: then it reports at once that the database is locked.

    Raises:
        diskcache.Timeout: others wrote all the time.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            transaction.enter_context(database.transact())
        except diskcache.Timeout:
            if time.monotonic() > until:
                raise
            time.sleep(_SHORTLY)
        else:
            return


class _Unusable(Exception):
    """The cache cannot be used any more in this process."""


def name_of(data: bytes) -> bytes:
    """Return the hash by which a cache finds a file and detects damage."""
    return xxhash.xxh3_128_digest(data)


def _number(stored: object) -> int:
    return stored if isinstance(stored, int) else 0
