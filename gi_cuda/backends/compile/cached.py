"""A compiler that does nothing twice: what it or another compiled before comes from a cache."""

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

from gi_cuda.backends.compile.around import AroundCompiler
from gi_cuda.backends.compile.code_cache import CodeCache, name_of
from gi_cuda.backends.compile.identity import digest, without_markers
from gi_cuda.backends.compile.shards import new_shard
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler, Phenotype

if TYPE_CHECKING:
    from gi_cuda.subject import Subject

OFTEN = 0.5
"""Seconds of compiling after which what was made is put into the cache."""

_FORMAT = "2"
"""Of keys and records; those of another one are not understood."""

_LITERAL = re.compile(r'^#[^\n]*|R"(\S{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.M | re.S)
_AT_A_LINE = re.compile(r"[^\n:]+:\d+: ")
_OF_THE_MACHINE = re.compile(
    r"No space left|out of memory|memory exhausted|annot allocate|Killed|Input/output error"
    r"|internal (?:compiler )?error|Permission denied"
)
"""What is said by compilers that could do it another time."""


def keeping(compiler: Compiler, cache: CodeCache | None) -> Compiler:
    """A compiler that keeps its work in a cache, if there is one."""
    return compiler if cache is None else CachedCompiler(compiler, cache)


@dataclass(frozen=True, slots=True)
class CachedCompiler(AroundCompiler):
    """A compiler whose work is kept.

    Attributes:
        cache: what is there already; the rest the compiler makes.
    """

    cache: CodeCache

    @property
    def disturbs(self) -> bool:
        """As the compiler does."""
        return self.inner.disturbs

    @property
    def jobs(self) -> int:
        """As many as the compiler's."""
        return self.inner.jobs

    @property
    def idle(self) -> int:
        """As many as the compiler's."""
        return self.inner.idle

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch; what is in the cache comes first, the rest is kept as it comes."""
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
        """For each phenotype of a batch what decides its code; None where that is not known.

        Headers are read anew for each batch: somebody may be writing them.
        """
        options = {one.options for one in phenotypes}
        identities = {some: self.identity(some) for some in options}
        return [
            None if (identity := identities[one.options]) is None else _key(one, identity)
            for one in phenotypes
        ]

    def apart(self) -> Compiler:
        """Equal variants have machine code of their own; the same batch has the same again."""
        return CachedBatches(self.inner, self.cache)

    def of_subject(self, subject: Subject) -> Compiler:
        """The compiler's for another source, whose work is kept as well."""
        return CachedCompiler(self.inner.of_subject(subject), self.cache)

    def rehearsing(self) -> tuple[Compiler, ...]:
        """The compiler's, whose work is kept as well."""
        return tuple(CachedCompiler(one, self.cache) for one in self.inner.rehearsing())


class CachedBatches(CachedCompiler):
    """A compiler that gives each variant a place of its own, and the same batch the same places.

    Where a variant lies depends on its company, so batches are kept whole, in the order they had.
    """

    __slots__ = ()

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """All of a batch comes from the cache, or all of it is compiled."""
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
        """This one."""
        return self

    def _found(
        self, whole: bytes, phenotypes: Sequence[Phenotype], shelf: _Shelf
    ) -> list[Built] | None:
        """What became of a batch; None where not all of it is there."""
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
    """Between binaries of a kind and plain data; to work it out takes some milliseconds."""
    return TypeAdapter(kind)


Record: TypeAlias = dict[str, Any]
"""What became of a variant, as plain data."""


@dataclass(slots=True)
class _Shelf:
    """Between the cache and one batch's folder.

    Attributes:
        kind: of binaries.
        folder: of the batch; a file that serves several of its variants is there once.
    """

    cache: CodeCache
    kind: TypeAdapter[Binary]
    folder: Path
    _files: dict[bytes, bytes] = field(default_factory=dict)
    _kept: dict[Path, str] = field(default_factory=dict)
    _placed: dict[str, Path | None] = field(default_factory=dict)

    def record(self, built: Built) -> Record | None:
        """Return the record of a variant, whose file is kept by the next :meth:`write`; None where
        another time it may be otherwise."""
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
        """Put packed records into the cache by their keys, and the files that are not there yet,
        with how many variants it had and had not."""
        if records or self._files or hits or misses:
            self.cache.keep(records, self._files, hits, misses)
            self._files.clear()

    def restored(self, record: Record, ident: int) -> Built | None:
        """What became of a variant, under another number; None where its file is gone."""
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
        """Where a file is now."""
        if name not in self._placed:
            data = self.cache.file(bytes.fromhex(name))
            path = None if data is None else new_shard(self.folder).with_suffix(suffix)
            if path is not None and data is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            self._placed[name] = path
        return self._placed[name]


def _key(phenotype: Phenotype, identity: bytes) -> bytes:
    # To a phenotype's own key all white space is one, in literals as well.
    same = phenotype.text.replace(f'"v{phenotype.ident}/', '"')
    said = [match[0] for match in _LITERAL.finditer(same) if match[0][0] != "#"]
    # What is left out of a text, its key does not tell.
    lent = [" ".join(without_markers(same).split())] if phenotype.lent else []
    return digest([_FORMAT, identity, phenotype.key, *lent, *said])


def _packed(record: object) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()
