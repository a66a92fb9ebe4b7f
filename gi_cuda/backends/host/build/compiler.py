"""The host back end's compiler: compiles batches of variants to shared libraries for the CPU."""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import ClassVar

from gi_cuda.backends.compile.borrowed_kernels import lender
from gi_cuda.backends.compile.caching.single_flight import once
from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.compile.preprocess import batch_text
from gi_cuda.backends.compile.process import Finished, read_text, run, write_text
from gi_cuda.backends.compile.pruning.namespaces import declared, joined
from gi_cuda.backends.compile.pruning.overloads import outside, seen
from gi_cuda.backends.compile.pruning.prune import identifiers
from gi_cuda.backends.compile.pruning.redeclared import Separated
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.compile.source import COMPILE_LIMIT, PREPROCESS_LIMIT, SourceCompiler
from gi_cuda.backends.host.build.common import NOT_INLINED, mark_common
from gi_cuda.backends.host.build.examine import OPTIONS as EXAMINED
from gi_cuda.backends.host.build.examine import emulator_words, examination, poisoned
from gi_cuda.backends.host.build.headers import own_headers
from gi_cuda.backends.host.build.library import (
    INCLUDE,
    NVCC_MACROS,
    OTHER_DEVICES,
    ZEROED_LOCALS,
    compile_options,
    poisons_locals,
    with_large_locals,
)
from gi_cuda.backends.host.build.linkage import linkage, undefined_in
from gi_cuda.backends.host.build.objects import OPTIONS, code_keys, functions_in
from gi_cuda.backends.host.build.preamble import preamble, preamble_with
from gi_cuda.backends.host.build.precompiled import headers_first
from gi_cuda.backends.host.build.prepare import (
    export_references,
    mark_unrolls,
    prepare,
    references,
    variant_text,
)
from gi_cuda.backends.host.build.static_shared import with_guards
from gi_cuda.backends.job_threads import both
from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.variants import (
    Binary,
    BlockSize,
    BuildFailure,
    Built,
    Phenotype,
    Variant,
    code_key,
)

_MESSAGES = ("-fno-diagnostics-show-caret", "-fmax-errors=0")

_PROCESSOR = re.compile(r" (-m\S+|--param[ =]\S+|-target-\S+ \S+|-tune-cpu \S+)")
"""Options for the processor in the command line of the compiler proper."""

_PROCESSORS = ("-march", "-mcpu", "-mfma")

_SAID = "".join(
    f"#undef {word}\n#define {word}{parameters} {word}{arguments}\n"
    for word, parameters, arguments in (
        ("__global__", "", ""),
        ("__device__", "", ""),
        ("__host__", "", ""),
        ("__constant__", "", ""),
        ("__launch_bounds__", "(...)", "(__VA_ARGS__)"),
    )
)
"""Macros that keep words for where code runs, and for launch bounds, in preprocessed text."""

_LIBRARIES = ("-nodefaultlibs", "-lm", "-lc")
"""Libraries that shards are linked with. The libraries of C++ and of the compiler are loaded
before, with the runtime library; reading their names takes a linker longer than all else of a
shard."""

SIZES = Sizes(smallest=16, largest=32)
"""Sizes of shards; in each shard the compiler reads all headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCompiler(SourceCompiler):
    """g++ or clang++ as the compiler of a batch.

    Variants of a shard may share functions (see :mod:`gi_cuda.backends.host.build.common`).

    Attributes:
        cxx: path of the compiler.
        last: options that override those of a target.
        large_locals: whether unset locals hold large positive values. Its results are never cached.
    """

    cxx: str
    last: tuple[str, ...] = ()
    large_locals: bool = False
    sizes: Sizes = SIZES
    disturbs: ClassVar[bool] = True
    makes: ClassVar[type[Binary]] = Binary

    def _toolchain(self) -> list[str]:
        return [self.cxx, *compile_options(self.cxx), *OPTIONS, *NVCC_MACROS, *self.last]

    def _front(self, options: tuple[str, ...]) -> str | None:
        program, *words = self._toolchain()
        # With macros: the predefined ones tell what the compiler compiles for.
        command = [program, "-v", "-E", "-dD", "-x", "c++", *words, f"-I{INCLUDE}"]
        text = shard_text(self, [])
        finished = run([*command, *self.options, *options, "-"], limit=PREPROCESS_LIMIT, stdin=text)
        if not finished.ok:
            return None
        # For the meaning of -march=native.
        called = [line for line in finished.stderr.splitlines() if " -E " in line]
        processor = [word for line in called for word in _PROCESSOR.findall(line)]
        return "\n".join([finished.stdout, *processor])

    def _exports(self) -> str:
        return references(self.kernels, self.symbols)

    def _meaning(self, text: str) -> str:
        # Differences that matter to a device's compiler only are removed.
        return prepare(text)

    def _preprocessor(self) -> tuple[str, Callable[[str], Finished]]:
        command = [self.cxx, "-E", "-x", "c++", *NVCC_MACROS, *self.options, f"-I{INCLUDE}", "-"]

        def preprocess(text: str) -> Finished:
            return run(command, limit=PREPROCESS_LIMIT, stdin=mark_unrolls(text))

        return f"{self.front}{_SAID}", preprocess

    def _builtin(self) -> str:
        return _language(self.cxx)

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch into shared libraries below ``folder``."""
        return self.in_shards(phenotypes, folder, self._compile_shard, _collect)

    def parts(
        self, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> list[Sequence[Phenotype]]:
        """Split each phenotype, without borrowed kernels, into parts by kernels.

        Functions that other kernels call too are inlined only where they are in the reference, even
        if a part calls them only once.
        """
        found = lender(reference, self.kernels, self.symbols)
        if found is None:
            return [()] * len(phenotypes)
        called = _out_of_line(self, reference)
        return [found.parts(one, NOT_INLINED, called) for one in phenotypes]

    def rehearsing(self) -> tuple[HostCompiler]:
        """Return this compiler: a worker's death costs a fork only, compiling is saved."""
        return (self,)

    def other_locals(self) -> tuple[HostCompiler, ...]:
        """Return this compiler with zeros, and with large values, in unset locals.

        Empty if it cannot poison locals. Optimization is off, since an optimizer may take a local
        for set if it is set on one path.
        """
        if not poisons_locals(self.cxx):
            return ()
        large = replace(self, last=("-O0",), large_locals=True)
        return replace(self, last=("-O0", ZEROED_LOCALS)), large

    def differently(self, options: tuple[str, ...]) -> HostCompiler | None:
        """Return this compiler without fusing products and sums.

        None if it never fuses them, as for x86 without an option such as ``-march=native``.
        """
        named = any(one.startswith(_PROCESSORS) for one in (*self.options, *options))
        if platform.machine() in ("x86_64", "AMD64") and not named:
            return None
        return replace(self, last=(*self.last, "-ffp-contract=off"))

    def warm_up(self, reference: Variant) -> None:
        """Do nothing: headers are compiled once for all sources."""

    def for_other_devices(self) -> tuple[HostCompiler, ...]:
        """Return this compiler with macros of other CUDA versions and devices."""
        return tuple(replace(self, options=(*self.options, *one)) for one in OTHER_DEVICES)

    def examined(self, variant: Variant) -> Examination:
        """Compile a variant alone and return findings."""
        looks = partial(self._examined, variant), partial(self._emulator_words, variant)
        found, words = both(*looks)
        return replace(found, foreign=found.foreign | words) if found else Examination()

    def _examined(self, variant: Variant) -> Examination | None:
        """Return findings about a variant's code; None if it does not compile."""
        phenotype = self.preprocess([variant])[variant.ident]
        if isinstance(phenotype, BuildFailure):
            return None
        with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
            source, assembly = Path(scratch) / "alone.cpp", Path(scratch) / "alone.s"
            write_text(source, shard_text(self, [phenotype]))

            def compiled(level: str, output: str | Path) -> str:
                warned = replace(self, last=(level, *EXAMINED))
                told = [word for word in warned._command(variant.options) if word != "-w"]
                return run([*told, "-S", "-o", output, source], limit=COMPILE_LIMIT).stderr

            looks = partial(compiled, "-O0", os.devnull), partial(compiled, "-O2", assembly)
            plain, optimized = both(*looks)
            made = assembly.with_suffix(".o")
            run([self.cxx, "-c", "-o", made, assembly], limit=COMPILE_LIMIT)
            if not made.is_file():
                return None
            elf = Elf(made.read_bytes())
            reached = linkage(elf)[variant.ident]
            return examination(plain, optimized, read_text(assembly), elf, reached)

    def _emulator_words(self, variant: Variant) -> frozenset[str]:
        """Return names of the emulator that a variant's text contains, or makes by macros."""
        alone = replace(variant, text=poisoned(variant.text))
        front, preprocess = self._preprocessor()
        text = batch_text(front, [alone], self.file_name, dict(self.in_place))
        return emulator_words(variant.text, preprocess(text).stderr)

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """Return nothing: numbers about host code mean nothing for a device."""
        return {}

    def _compile_shard(self, shard: Sequence[Phenotype], path: Path) -> Finished:
        finished = self.compile_object(shard, path)
        made = path.with_suffix(".o")
        if not finished.ok or not made.is_file():
            return finished
        words = self._command(shard[0].options)
        # A name that is undefined in one variant would keep the whole library from being loaded.
        # A sanitizer's names are defined in its own library.
        known = any(str(word).startswith("-fsanitize=address") for word in words)
        if not known and (errors := undefined_in(shard, Elf(made.read_bytes()), self.file_name)):
            return replace(finished, status=1, stderr=errors)
        command = [*words, "-o", path.with_suffix(".so")]
        return run([*command, made, *_LIBRARIES], limit=COMPILE_LIMIT)

    def compile_object(self, shard: Sequence[Phenotype], path: Path) -> Finished:
        """Compile a shard to an object file."""
        source, assembly = path.with_suffix(".cpp"), path.with_suffix(".s")
        write_text(source, shard_text(self, shard))
        program, *words = map(str, self._command(shard[0].options))
        words = [*headers_first(program, words), *words]
        command = [program, *words, "-S", "-o", str(assembly), str(source)]
        finished = run(command, limit=COMPILE_LIMIT)
        if not finished.ok or not assembly.exists():  # e.g. with the option -fsyntax-only
            return finished
        made_of = read_text(assembly)
        if self.large_locals:
            made_of = with_large_locals(made_of)
        write_text(assembly, with_guards(made_of))
        made = path.with_suffix(".o")
        assembled = run([self.cxx, "-c", "-o", made, assembly], limit=COMPILE_LIMIT)
        assembly.unlink()
        return finished if assembled.ok else assembled

    def _command(self, options: Sequence[str]) -> list[str | Path]:
        command: list[str | Path] = [*self._toolchain(), *_MESSAGES, f"-I{INCLUDE}"]
        return [*command, *self.options, *options, *self.last]


def shard_text(compiler: HostCompiler, shard: Sequence[Phenotype]) -> str:
    """Return the C++ text of a shard: the prelude, then every variant in a namespace of its own."""
    overloads = chain.from_iterable(one.overloads for one in shard)
    headers, forward = _headers(compiler, shard)
    parts = [headers, declared(compiler.namespaces), outside(overloads)]
    joint = joined(compiler.namespaces)
    for phenotype in shard:
        name = f"v{phenotype.ident}"
        text = prepare(phenotype.text)
        begin = f"{joint}{seen(phenotype.overloads)}{forward}"
        parts += [
            variant_text(name, f"{begin}\n{mark_common(text) if compiler.shares else text}"),
            export_references(name, compiler.kernels, compiler.symbols, phenotype.lent),
        ]
    return "".join(parts)


def _headers(compiler: HostCompiler, shard: Sequence[Phenotype]) -> Separated:
    """Return the prelude; only the part that the shard needs, if that is known."""
    texts = [phenotype.text for phenotype in shard]
    headers = None
    if compiler.reach is not None and shard:
        options = (*NVCC_MACROS, *compiler.options, *shard[0].options)
        headers = own_headers(compiler.cxx, options, f"{_SAID}{compiler.front}", compiler.defines)
    if compiler.reach is None or headers is None:
        return Separated(preamble(compiler.front, texts))
    said = frozenset[str]().union(*map(identifiers, (*texts, *compiler.namespaces)))
    forward = headers.forward_of(said & compiler.defines)
    needed = headers.within_reach_of(compiler.reach.roots | said | identifiers(forward))
    return Separated(preamble_with(f"{needed}\n", texts), forward)


@once(maxsize=4)
def _language(cxx: str) -> str:
    """Return the text that every source includes implicitly; "" if it cannot be preprocessed."""
    command = [cxx, "-E", "-P", "-x", "c++", "-std=c++17", f"-I{INCLUDE}", "-"]
    asked = '#include "gi_cuda_host.hpp"\n#include "gi_textures.hpp"\n'
    return run(command, limit=PREPROCESS_LIMIT, stdin=asked).stdout


@once(maxsize=4)
def _out_of_line(compiler: HostCompiler, reference: Phenotype) -> frozenset[str]:
    """Return names of functions that the compiler does not inline at every call in the reference.

    Empty if the reference does not compile.
    """
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        path = Path(scratch) / "reference"
        if not compiler.compile_object([reference], path).ok:
            return frozenset()
        return functions_in(path.with_suffix(".o").read_bytes())


def _collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
    made, library = path.with_suffix(".o"), path.with_suffix(".so")
    keys = code_keys(Elf(made.read_bytes()))
    made.unlink()
    return [_binary(one, library, keys.get(one.ident, {})) for one in shard]


def _binary(phenotype: Phenotype, library: Path, keys: Mapping[str, bytes]) -> Binary:
    key = code_key(keys) if keys else None
    return Binary(phenotype.ident, library, key, {}, keys, phenotype.lent)
