"""Compile batches of PTX variants: several variants in one module, assembled by one call of ptxas.

The PTX comes from a source that nvcc compiled as variant 0. So everything that belongs to a variant
has a mangled name in the namespace ``v0``; here this is replaced by each variant's own number.
Everything else comes from headers, is the same in all variants, and is in a module once.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import xxhash

from gi_cuda.backends.compile.caching.identity import digest, of_program, of_tool, without_places
from gi_cuda.backends.compile.caching.single_flight import once
from gi_cuda.backends.compile.process import Finished, read_text, run, write_text
from gi_cuda.backends.compile.shards import first_error
from gi_cuda.backends.compile.source import COMPILE_LIMIT
from gi_cuda.backends.cuda.compile.binary import CudaBinary, binary_of
from gi_cuda.backends.cuda.compile.cubin import read_cubin
from gi_cuda.backends.cuda.compile.nvcc import CONFINED, NvccCompiler
from gi_cuda.backends.cuda.compile.staged import ShardSetup, compile_to_ptx
from gi_cuda.backends.cuda.compile.stages import find_stages
from gi_cuda.backends.cuda.compile.texts import brought_home, pointed_at, shard_text
from gi_cuda.backends.cuda.ptx.changed import changed
from gi_cuda.backends.cuda.ptx.joining import join
from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.variants import (
    Binary,
    BlockSize,
    BuildFailure,
    Built,
    Phenotype,
    Variant,
)
from gi_cuda.errors import UserError

if TYPE_CHECKING:
    from gi_cuda.subject import Subject

_PLACE = re.compile(r"(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}(_\d+_\w+?_)[0-9a-f]{8}(?=\d)")
_DEBUGGING = (
    (re.compile(r"\n\t\.loc\t[^\n]*"), "\n"),
    (re.compile(r"\n\t\.file\t[^\n]*"), "\n"),
    (re.compile(r"//[^\n]*"), ""),
)
"""Debug information and comments, which are removed. Patterns that begin with this much literal
text take a tenth of the time."""
_DEBUG_NAMES = "\t.section\t.debug_str"


@dataclass(frozen=True, slots=True)
class PtxCompiler:
    """ptxas as the compiler of a batch of PTX variants.

    Attributes:
        nvcc: how the source was compiled; its shards, jobs and names are used here too.
        file_name: what messages call the PTX.
        to_ptx: makes PTX of a variant's text for a GPU, where that is something else.
    """

    nvcc: NvccCompiler
    file_name: str
    to_ptx: Callable[[str, str], str] | None = None
    disturbs: ClassVar[bool] = False
    makes: ClassVar[type[Binary]] = CudaBinary

    def identity(self, options: tuple[str, ...]) -> bytes | None:
        """Return the identity of the assembler and its options; the assembler reads nothing but the
        module, so the compiler that made the module does not matter."""
        nvcc = self.nvcc
        told = [*without_places(nvcc.options), "", *without_places(options), ""]
        named = (*nvcc.kernels, "", *nvcc.symbols)
        tools = (of_tool(), type(self).__name__, of_program(nvcc.nvcc), nvcc.architecture)
        return digest([*tools, *nvcc.way.told, *told, *named])

    @property
    def jobs(self) -> int:
        """Number of assemblers at a time."""
        return self.nvcc.jobs

    @property
    def idle(self) -> int:
        """Number of further assemblers that could be started now."""
        return self.nvcc.idle

    def deciding(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """Return all options: any may change outputs."""
        return options

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Read each variant. Its key is that of its text without line numbers, comments and the
        names that go with them."""
        if self.to_ptx is None:
            return {variant.ident: _phenotype(variant) for variant in variants}
        found: list[list[Phenotype | BuildFailure]]
        parts = [variants[k :: self.jobs] for k in range(min(self.jobs, len(variants)))]
        found = at_once([partial(list, map(self._lowered, part)) for part in parts])
        return {one.ident: one for part in found for one in part}

    def _lowered(self, variant: Variant) -> Phenotype | BuildFailure:
        """Make PTX of a variant's text, and read that."""
        assert self.to_ptx is not None
        try:
            text = self.to_ptx(variant.text, self.nvcc.architecture)
        except UserError as error:
            return BuildFailure(variant.ident, error.what)
        return _phenotype(replace(variant, text=text))

    def warm_up(self, reference: Variant) -> None:
        """Do nothing: PTX has no headers."""

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Assemble a batch into cubins below ``folder``."""
        names = pointed_at(self.nvcc.kernels, self.nvcc.symbols)

        def collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
            cubin = path.with_suffix(".cubin")
            content = read_cubin(cubin.read_bytes())
            built = (binary_of(p.ident, cubin, content.get(p.ident), names, p.lent) for p in shard)
            return [self.nvcc.marked(one) for one in built]

        return self.nvcc.in_shards(phenotypes, folder, self._assemble, collect)

    def parts(
        self, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> list[Sequence[Phenotype]]:
        """The kernels that each does not leave to the reference."""
        return [changed(one, reference, self.nvcc.kernels) for one in phenotypes]

    def of_subject(self, subject: Subject) -> NvccCompiler:
        """Return the compiler for another subject, as the source's compiler makes it."""
        return self.nvcc.of_subject(subject)

    def of_sources(self, front: str | None = None) -> NvccCompiler:
        """Return nvcc, which made the PTX."""
        return self.nvcc.of_sources(front)

    def headers(self) -> str | None:
        """Return nvcc's headers."""
        return self.nvcc.headers()

    def apart(self) -> PtxCompiler:
        """Return this compiler: every variant has code of its own anyway."""
        return self

    def rehearsing(self) -> tuple[PtxCompiler, ...]:
        """Return this compiler, made to confine code."""
        ways = (way for way in CONFINED if not way.translated)
        return tuple(replace(self, nvcc=replace(self.nvcc, way=way)) for way in ways)

    def other_locals(self) -> tuple[()]:
        """Return nothing: locals are registers, and unset ones hold arbitrary values."""
        return ()

    def differently(self, options: tuple[str, ...]) -> None:
        """Return None: PTX determines how it rounds."""

    def for_other_devices(self) -> tuple[()]:
        """Return nothing: no other devices are known."""
        return ()

    def examined(self, variant: Variant) -> Examination:
        """Return no findings: ptxas does not warn about unset registers, and PTX is device code."""
        return Examination()

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """Return instructions by class and occupancy, as for sources."""
        return self.nvcc.inspect(binary, blocks)

    def _assemble(self, shard: Sequence[Phenotype], path: Path) -> Finished:
        module = join(shard)
        source, cubin = path.with_suffix(".ptx"), path.with_suffix(".cubin")
        self.nvcc.way.write(source, module.text)
        finished = assemble(self.nvcc, shard[0].options, source, cubin)
        if finished.ok:
            return finished
        said = "".join(module.messages(finished.stderr, self.file_name))
        if said:
            return Finished(finished.status, finished.stdout, said)
        return brought_home(finished, self.file_name)


_stages = once(maxsize=32)(find_stages)


def assemble(compiler: NvccCompiler, options: Sequence[str], source: Path, cubin: Path) -> Finished:
    """Assemble a PTX text as nvcc assembles the PTX of a source.

    Args:
        options: additional options of nvcc.
    """
    words = (f"-arch={compiler.architecture}", *compiler.options, *options)
    if stages := _stages(compiler.nvcc, words):
        command = stages.assemble.and_also(*compiler.way.words).command(source, cubin)
        return run(command, limit=COMPILE_LIMIT, environment=stages.environment)
    words = (*words, *(f"-Xptxas={word}" for word in compiler.way.words))
    command = [compiler.nvcc, *words, "-w", "-cubin", "-o", str(cubin), str(source)]
    return run(command, limit=COMPILE_LIMIT)


def ptx_of(compiler: NvccCompiler, variant: Variant) -> str:
    """Return the PTX that nvcc makes of a variant, with line numbers.

    The variant must have the number 0. Names with internal linkage contain numbers that nvcc
    derives from the source's path. They are set to zero here, so that the same source always gives
    the same text (except for ``.debug_str``, which repeats them).

    Raises:
        UserError: it does not compile.
    """
    phenotype = only(compiler, variant)
    ready = compiler.prepared((*variant.options, "-lineinfo"))
    if ready is not None and ready.forward:
        return _with_forward(compiler, ready, phenotype)
    return _made(compiler, shard_text(compiler.front, [phenotype], compiler.namespaces), variant)


def source_ptx(compiler: NvccCompiler, variant: Variant) -> str:
    """Return the PTX that nvcc makes of a source on its own, not as a variant in a namespace.

    The variant must have the number 0.

    Raises:
        UserError: it does not compile.
    """
    phenotype = only(compiler, variant)
    return _made(compiler, f"{compiler.front}{phenotype.text}\n", variant, compiler.file_name)


def only(compiler: NvccCompiler, variant: Variant) -> Phenotype:
    """Preprocess a variant with the number 0.

    Raises:
        UserError: it cannot be.
    """
    assert variant.ident == 0
    phenotype = compiler.preprocess([variant])[0]
    if isinstance(phenotype, BuildFailure):
        raise does_not_compile(phenotype.message)
    return phenotype


def _with_forward(compiler: NvccCompiler, ready: ShardSetup, phenotype: Phenotype) -> str:
    """Return the PTX of a variant into which declarations of headers are moved."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        ptx = Path(scratch) / "shard.ptx"
        ready.put(ptx.parent)
        text = shard_text("", [phenotype], compiler.namespaces, ready.forward)
        finished = compile_to_ptx(ready, text, ptx, COMPILE_LIMIT)
        if not finished.ok:
            raise does_not_compile(first_error(finished))
        return _without_places(read_text(ptx), Path.cwd(), scratch)


def _without_places(made: str, here: Path, scratch: str) -> str:
    made = _PLACE.sub(r"\g<1>00000000\g<2>00000000", made)
    return made.replace(f'"{here}/v0/', '"v0/').replace(f"{scratch}/", "")


def _made(compiler: NvccCompiler, text: str, variant: Variant, name: str = "shard.cu") -> str:
    """Return nvcc's output for a text with a variant's options, without paths in it."""
    words = [str(word) for word in compiler.command()]
    return _made_once((*words, *variant.options, "-lineinfo", "-ptx"), text, name, Path.cwd())


@lru_cache(maxsize=8)
def _made_once(command: tuple[str, ...], text: str, name: str, here: Path) -> str:
    """Compile once; cached, since a command may read a target several times.

    Raises:
        UserError: it does not compile.
    """
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        source, ptx = Path(scratch) / name, Path(scratch) / "shard.ptx"
        write_text(source, text)
        finished = run([*command, "-o", ptx, source], limit=COMPILE_LIMIT)
        if not finished.ok:
            raise does_not_compile(first_error(finished))
        return _without_places(read_text(ptx), here, scratch)


def check_assembles(compiler: NvccCompiler, ptx: str, options: Sequence[str]) -> str:
    """Assemble a module on its own. Return the error message, "" if there is none."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        source = Path(scratch) / "module.ptx"
        write_text(source, ptx)
        finished = assemble(compiler, options, source, source.with_suffix(".cubin"))
    return "" if finished.ok else first_error(finished)


def does_not_compile(message: str) -> UserError:
    """Return the error for a source that does not compile."""
    return UserError(
        f"the source does not compile: {message}",
        hint="see [build] in target.toml (include, define, standard, options)",
    )


def _phenotype(variant: Variant) -> Phenotype:
    text = variant.text
    for pattern, line in _DEBUGGING:
        text = pattern.sub(line, text)  # lines stay where they are, for messages
    # Behind the code there are names with what nvcc made of a place; no module takes them over.
    code = text.partition(_DEBUG_NAMES)[0]
    key = xxhash.xxh3_128_digest(code.encode("utf-8", "surrogateescape"))
    return Phenotype(variant.ident, text, variant.options, key)
