"""The host back end's compiler: batches of variants to shared libraries for the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from gi_cuda.backends.compile.namespaces import declared, joined
from gi_cuda.backends.compile.phenotypes import EXPORTS, phenotypes
from gi_cuda.backends.compile.process import Finished, run
from gi_cuda.backends.compile.shards import Sizes, build
from gi_cuda.backends.host import (
    INCLUDE,
    compile_options,
    export_references,
    mark_common,
    mark_unrolls,
    prepare,
    references,
    variant_text,
)
from gi_cuda.backends.host.objects import OPTIONS, code_keys
from gi_cuda.backends.protocol.variants import (
    Binary,
    BlockSize,
    BuildFailure,
    Built,
    Phenotype,
    Variant,
)

PREPROCESS_LIMIT = 120.0
"""Seconds of wall time one preprocessor process may take."""

COMPILE_LIMIT = 300.0
"""Seconds of wall time one shard may take to compile; a shard over it is halved."""

_MESSAGES = ("-fno-diagnostics-show-caret", "-fmax-errors=0")

SIZES = Sizes(smallest=16, largest=32)
"""Of shards; in each of them the compiler reads all headers."""


@dataclass(frozen=True, slots=True)
class HostCompiler:
    """g++ or clang++ as the compiler of a batch.

    Attributes:
        cxx: path of the compiler.
        file_name: the source's name, for line markers.
        front: the batch's prelude (see :func:`gi_cuda.backends.compile.preprocess.prelude`).
        kernels: the kernels each variant exports, as C++ names them (``blur<float, 3>``).
        options: options that all variants share: language standard, optimisation, -I, -D.
        jobs: compiler processes at a time.
        sizes: of shards.
        symbols: variables each variant exports.
        namespaces: those that the source opens (see :mod:`gi_cuda.backends.compile.namespaces`).
        shares: whether variants of a shard may share functions (see
            :mod:`gi_cuda.backends.host.common`).
    """

    cxx: str
    file_name: str
    front: str
    kernels: tuple[str, ...]
    options: tuple[str, ...]
    jobs: int
    sizes: Sizes = SIZES
    symbols: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    shares: bool = True
    disturbs: ClassVar[bool] = True

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess a batch with one process, without the variants whose directives fail."""
        # Within the variant, so that a kernel's name may use its macros and types.
        exported = references(self.kernels, self.symbols)
        exporting = [
            replace(v, text=f'{v.text}\n#line 1 "v{v.ident}/{EXPORTS}"\n{exported}')
            for v in variants
        ]
        return phenotypes(exporting, self.front, self.file_name, self._preprocess, self.jobs)

    def _preprocess(self, text: str) -> Finished:
        command = [self.cxx, "-E", "-x", "c++", *self.options, f"-I{INCLUDE}", "-"]
        return run(command, limit=PREPROCESS_LIMIT, stdin=mark_unrolls(text))

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch into shared libraries below ``folder``."""
        return build(
            phenotypes, folder, self._compile_shard, _collect, jobs=self.jobs, sizes=self.sizes
        )

    def apart(self) -> HostCompiler:
        """The same, compiling every function of every variant."""
        return replace(self, shares=False)

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """Nothing that would mean anything on a device."""
        return {}

    def _compile_shard(self, shard: Sequence[Phenotype], path: Path) -> Finished:
        source = path.with_suffix(".cpp")
        text = shard_text(self, shard)
        source.write_text(text, encoding="utf-8", errors="surrogateescape")
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
            export_references(name, compiler.kernels, compiler.symbols),
        ]
    return "".join(parts)


def _collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
    made, library = path.with_suffix(".o"), path.with_suffix(".so")
    keys = code_keys(made.read_bytes())
    made.unlink()
    return [Binary(one.ident, library, keys.get(one.ident)) for one in shard]
