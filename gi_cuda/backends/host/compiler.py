"""The host back end's compiler: batches of variants to shared libraries for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gi_cuda.backends.compile.namespaces import declared, joined
from gi_cuda.backends.compile.process import Finished, run, write_text
from gi_cuda.backends.compile.shards import Sizes, build
from gi_cuda.backends.compile.source import COMPILE_LIMIT, PREPROCESS_LIMIT, SourceCompiler
from gi_cuda.backends.host.common import mark_common
from gi_cuda.backends.host.library import INCLUDE, compile_options
from gi_cuda.backends.host.objects import OPTIONS, code_keys
from gi_cuda.backends.host.prepare import (
    export_references,
    mark_unrolls,
    prepare,
    references,
    variant_text,
)
from gi_cuda.backends.protocol.variants import Binary, BlockSize, Built, Phenotype, code_key

_MESSAGES = ("-fno-diagnostics-show-caret", "-fmax-errors=0")

SIZES = Sizes(smallest=16, largest=32)
"""Of shards; in each of them the compiler reads all headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCompiler(SourceCompiler):
    """g++ or clang++ as the compiler of a batch. What variants of a shard may share are functions
    (see :mod:`gi_cuda.backends.host.common`).

    Attributes:
        cxx: path of the compiler.
    """

    cxx: str
    sizes: Sizes = SIZES
    disturbs: ClassVar[bool] = True

    def _exports(self) -> str:
        return references(self.kernels, self.symbols)

    def _preprocessor(self) -> tuple[str, Callable[[str], Finished]]:
        command = [self.cxx, "-E", "-x", "c++", *self.options, f"-I{INCLUDE}", "-"]

        def preprocess(text: str) -> Finished:
            return run(command, limit=PREPROCESS_LIMIT, stdin=mark_unrolls(text))

        return self.front, preprocess

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch into shared libraries below ``folder``."""
        return build(
            phenotypes, folder, self._compile_shard, _collect, jobs=self.jobs, sizes=self.sizes
        )

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """Nothing that would mean anything on a device."""
        return {}

    def _compile_shard(self, shard: Sequence[Phenotype], path: Path) -> Finished:
        source = path.with_suffix(".cpp")
        text = shard_text(self, shard)
        write_text(source, text)
        made, library = path.with_suffix(".o"), path.with_suffix(".so")
        command = [self.cxx, *compile_options(self.cxx), *OPTIONS, *_MESSAGES, f"-I{INCLUDE}"]
        command += [*self.options, *shard[0].options]
        finished = run([*command, "-c", "-o", made, source], limit=COMPILE_LIMIT)
        if not finished.ok:
            return finished
        return run([*command, "-o", library, made], limit=COMPILE_LIMIT)


def shard_text(compiler: HostCompiler, shard: Sequence[Phenotype]) -> str:
    """The C++ text of a shard: every variant in a namespace of its own after the common prelude."""
    parts = ['#include "gi_cuda_host.hpp"\n', compiler.front, declared(compiler.namespaces)]
    seen = joined(compiler.namespaces)
    for phenotype in shard:
        name = f"v{phenotype.ident}"
        text = prepare(phenotype.text)
        parts += [
            variant_text(name, f"{seen}\n{mark_common(text) if compiler.shares else text}"),
            export_references(name, compiler.kernels, compiler.symbols, phenotype.lent),
        ]
    return "".join(parts)


def _collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
    made, library = path.with_suffix(".o"), path.with_suffix(".so")
    keys = code_keys(made.read_bytes())
    made.unlink()
    return [_binary(one, library, keys.get(one.ident, {})) for one in shard]


def _binary(phenotype: Phenotype, library: Path, keys: Mapping[str, bytes]) -> Binary:
    key = code_key(keys) if keys else None
    return Binary(phenotype.ident, library, key, {}, keys, phenotype.lent)
