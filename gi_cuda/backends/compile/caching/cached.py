"""A compiler that reuses its own and other compilers' earlier results from a cache on disk."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import TypeAdapter

from gi_cuda.backends.compile.caching.code_cache import CodeCache, name_of
from gi_cuda.backends.compile.caching.identity import digest, without_markers
from gi_cuda.backends.compile.delegating import DelegatingCompiler
from gi_cuda.backends.compile.shards import new_shard
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler, Phenotype

if TYPE_CHECKING:
    from gi_cuda.subject import Subject

OFTEN = 0.5
"""Seconds of compiling after which results are written to the cache."""

_FORMAT = "2"
"""Version of keys and records. Entries of other versions are not found."""

_LITERAL = re.compile(r'^#[^\n]*|R"(\S{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.M | re.S)
_AT_A_LINE = re.compile(r"[^\n:]+:\d+: ")
_OF_THE_MACHINE = re.compile(
    r"No space left|out of memory|memory exhausted|annot allocate|Killed|Input/output error"
    r"|internal (?:compiler )?error|Permission denied"
)
"""Compilers' messages about errors of the machine, which may not occur another time."""


def keeping(compiler: Compiler, cache: CodeCache | None) -> Compiler:
    """Return a compiler that keeps its results in a cache, if there is one."""
    return compiler if cache is None else CachedCompiler(compiler, cache)


@dataclass(frozen=True, slots=True)
class CachedCompiler(DelegatingCompiler):
    """A compiler whose results are kept in a cache.

    Attributes:
        cache: earlier results; the inner compiler makes the rest.
    """

    cache: CodeCache

    @property
    def disturbs(self) -> bool:
        """Tell whether the inner compiler uses the processor that variants are timed on."""
        return self.inner.disturbs

    @property
    def jobs(self) -> int:
        """The inner compiler's number of processes at a time."""
        return self.inner.jobs

    @property
    def idle(self) -> int:
        """The inner compiler's number of idle processes."""
        return self.inner.idle

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch. Results from the cache come first; new ones are stored as they come."""
        keys = dict(zip((one.ident for one in phenotypes), self.keys(phenotypes), strict=True))
        records = self.cache.records(key for key in keys.values() if key is not None)
        shelf = self._shelf(folder)
        missing = []
        for one in phenotypes:
            record = records.get(keys[one.ident] or b"")
            built = None if record is None else shelf.restored(json.loads(record), one.ident)
            if built is None:
                missing.append(one)
            else:
                yield built
        hits = len(phenotypes) - len(missing)
        if not missing:
            self.cache.keep(hits=hits)
            return
        kept: dict[bytes, bytes] = {}
        written = time.monotonic()
        try:
            for built in self.inner.compile(missing, folder):
                key, fresh = keys[built.ident], shelf.record(built)
                if key is not None and fresh is not None:
                    kept[key] = _packed(fresh)
                if time.monotonic() - written > OFTEN:
                    shelf.write(kept)
                    kept, written = {}, time.monotonic()
                yield built
        finally:
            shelf.write(kept, hits, len(missing))

    def _shelf(self, folder: Path) -> _Shelf:
        makes: Any = self.makes  # to mypy a class is not hashable
        return _Shelf(self.cache, _plain(makes), folder)

    def keys(self, phenotypes: Sequence[Phenotype]) -> list[bytes | None]:
        """Return the cache key of each phenotype of a batch; None if it is not known.

        Headers are read anew for each batch, since they may be changing.
        """
        options = {one.options for one in phenotypes}
        identities = {some: self.identity(some) for some in options}
        return [
            None if (identity := identities[one.options]) is None else _key(one, identity)
            for one in phenotypes
        ]

    def apart(self) -> Compiler:
        """Return a compiler that caches whole batches, see :class:`CachedBatches`."""
        return CachedBatches(self.inner, self.cache)

    def of_subject(self, subject: Subject) -> Compiler:
        """Return the inner compiler for another source, with the same cache."""
        return CachedCompiler(self.inner.of_subject(subject), self.cache)

    def rehearsing(self) -> tuple[Compiler, ...]:
        """Return the inner compiler's rehearsal compilers, with the same cache."""
        return tuple(CachedCompiler(one, self.cache) for one in self.inner.rehearsing())


class CachedBatches(CachedCompiler):
    """A compiler that gives each variant its own address, and equal batches the same addresses.

    The address of a variant depends on the rest of its batch. So batches are cached whole, in
    order.
    """

    __slots__ = ()

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Take a whole batch from the cache, or compile all of it."""
        keys = self.keys(phenotypes)
        known = [key for key in keys if key is not None]
        whole = digest(["apart", *known]) if len(known) == len(keys) else None
        shelf = self._shelf(folder)
        if whole is not None and (found := self._found(whole, phenotypes, shelf)):
            self.cache.keep(hits=len(found))
            yield from found
            return
        records: dict[int, Record | None] = {}
        for built in self.inner.apart().compile(phenotypes, folder):
            records[built.ident] = shelf.record(built)
            yield built
        if whole is not None and None not in records.values():
            whole_batch = {whole: _packed([records[one.ident] for one in phenotypes])}
            shelf.write(whole_batch, misses=len(phenotypes))

    def apart(self) -> Compiler:
        """Return this compiler."""
        return self

    def _found(
        self, whole: bytes, phenotypes: Sequence[Phenotype], shelf: _Shelf
    ) -> list[Built] | None:
        """Return the cached results of a batch; None unless all of them are there."""
        stored = self.cache.records([whole]).get(whole)
        if stored is None:
            return None
        records = json.loads(stored)
        idents = [one.ident for one in phenotypes]
        found = [shelf.restored(one, i) for one, i in zip(records, idents, strict=True)]
        built = [one for one in found if one is not None]
        return built if len(built) == len(found) else None


@lru_cache
def _plain(kind: Any) -> TypeAdapter[Binary]:
    """Return a converter from a class of binaries to plain data, which takes milliseconds."""
    return TypeAdapter(kind)


Record: TypeAlias = dict[str, Any]
"""A binary or failure as plain data."""


@dataclass(slots=True)
class _Shelf:
    """Converts between cache entries and files in one batch's folder.

    Attributes:
        cache: the cache.
        kind: converter for the binaries' class.
        folder: folder of the batch. A file with several variants is there once.
    """

    cache: CodeCache
    kind: TypeAdapter[Binary]
    folder: Path
    _files: dict[bytes, bytes] = field(default_factory=dict)
    _kept: dict[Path, str] = field(default_factory=dict)
    _placed: dict[str, Path | None] = field(default_factory=dict)

    def record(self, built: Built) -> Record | None:
        """Return the record of a variant; its file is stored by the next :meth:`write`.

        None if the result may differ another time, so that it is not kept.
        """
        if isinstance(built, BuildFailure):
            its_own = _AT_A_LINE.match(built.message) and not _OF_THE_MACHINE.search(built.message)
            return {"ident": built.ident, "failure": built.message} if its_own else None
        if built.path not in self._kept:
            data = built.path.read_bytes()
            name = name_of(data)
            self._files[name] = data
            self._kept[built.path] = name.hex()
        plain = replace(built, path=Path(built.path.suffix), code_key=None, kernel_keys={})
        key = built.code_key
        return {
            "file": self._kept[built.path],
            "code_key": None if key is None else key.hex(),
            "kernel_keys": {name: one.hex() for name, one in built.kernel_keys.items()},
            "binary": self.kind.dump_python(plain, mode="json"),
        }

    def write(self, records: Mapping[bytes, bytes], hits: int = 0, misses: int = 0) -> None:
        """Store packed records by their keys, and files that are not stored yet.

        Args:
            hits, misses: numbers of variants that were found in the cache, and not found.
        """
        if records or self._files or hits or misses:
            self.cache.keep(records, self._files, hits, misses)
            self._files.clear()

    def restored(self, record: Record, ident: int) -> Built | None:
        """Return the binary or failure of a record, for a variant of another number.

        None if its file is gone.
        """
        if "failure" in record:
            own = re.compile(rf"\bv{record['ident']}\b")
            return BuildFailure(ident, own.sub(f"v{ident}", record["failure"]))
        binary, key = self.kind.validate_python(record["binary"]), record["code_key"]
        path = self._place(record["file"], str(binary.path))
        if path is None:
            return None
        before = binary.ident if binary.compiled_as is None else binary.compiled_as
        return replace(
            binary,
            ident=ident,
            path=path,
            code_key=None if key is None else bytes.fromhex(key),
            kernel_keys={n: bytes.fromhex(one) for n, one in record["kernel_keys"].items()},
            compiled_as=before,
        )

    def _place(self, name: str, suffix: str) -> Path | None:
        """Return the path of a file in the batch's folder; None if it is gone from the cache."""
        if name not in self._placed:
            data = self.cache.file(bytes.fromhex(name))
            path = None if data is None else new_shard(self.folder).with_suffix(suffix)
            if path is not None and data is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            self._placed[name] = path
        return self._placed[name]


def _key(phenotype: Phenotype, identity: bytes) -> bytes:
    # A phenotype's own key ignores differences in white space, even in literals.
    same = phenotype.text.replace(f'"v{phenotype.ident}/', '"')
    said = [match[0] for match in _LITERAL.finditer(same) if match[0][0] != "#"]
    # The key alone does not tell which text remains after lent kernels were removed.
    lent = [" ".join(without_markers(same).split())] if phenotype.lent else []
    return digest([_FORMAT, identity, phenotype.key, *lent, *said])


def _packed(record: object) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()
