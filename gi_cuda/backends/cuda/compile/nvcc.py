"""The CUDA back end's compiler: compiles batches of variants to cubins, one nvcc process per core.

Every variant is in a namespace ``v<ident>`` of its own, so its kernels have distinct mangled names,
which are looked up in the cubin's symbol table. If a kernel's name in the source does not determine
the symbol (a template instance, an overload), a variable is added that points at the kernel, and
the cubin's relocations tell the symbol. Compiling needs no GPU.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import ClassVar

from gi_cuda.backends.compile.process import Finished, read_text, run, write_text
from gi_cuda.backends.compile.pruning.overloads import said_as_functions
from gi_cuda.backends.compile.pruning.prune import identifiers
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.compile.source import COMPILE_LIMIT, PREPROCESS_LIMIT, SourceCompiler
from gi_cuda.backends.cuda.compile.binary import CudaBinary, binary_of
from gi_cuda.backends.cuda.compile.cubin import name_parts, owner, read_cubin
from gi_cuda.backends.cuda.compile.inspection import disassembled, instructions, occupancy
from gi_cuda.backends.cuda.compile.reached import headers_in_reach, identity_of
from gi_cuda.backends.cuda.compile.staged import (
    AS_IT_IS,
    ShardSetup,
    Twin,
    Twins,
    Way,
    assemble,
    compile_to_ptx,
    prepare,
)
from gi_cuda.backends.cuda.compile.texts import brought_home, pointed_at, pointers, shard_text
from gi_cuda.backends.cuda.ptx.module import ShardPtx, join_parts, read_module
from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.variants import (
    Binary,
    BlockSize,
    BuildFailure,
    Built,
    Phenotype,
    Variant,
)
from gi_cuda.spec.launching.kernel_names import identifier

SIZES = Sizes(smallest=4, largest=16, first=1)
"""Sizes of shards. Starting compiler and assembler costs about as much as one variant does. But the
sooner the first shards are done, the sooner their variants can be measured."""

FIRST_SIZES = Sizes(smallest=4, largest=8, first=1, ahead=1 / 3)
"""Sizes of shards for rehearsals, whose code is used once: the device is idle otherwise, and a
shard may hold many variants. Parts of such variants are small and many."""

WORTH = 32
"""Number of variants with the same options from which it pays to find the headers that they
need."""

LARGE = 4_000_000
"""Characters of a preprocessed prelude from which it pays even for the first variant: compiling the
whole prelude takes seconds."""

_ANY_BLOCK = "-maxrregcount=64"
"""Option that limits registers so that blocks of any size can be launched, whatever the launch
bounds."""

CONFINED = (
    Way(("-O1", _ANY_BLOCK), confined=True, translated=("-Ofc=min",)),
    Way(("-O1", _ANY_BLOCK), confined=True),
)
"""Ways to make code for rehearsals, the better one (as a rule) first.

The first uses nvcc's fast compilation: a schema of variants with many edits takes half the time or
less. (``-O1`` would take a quarter, but yields calls whose functions all check the deadline, and
which leave accesses to their callers' stacks unconfined.) Its code runs up to a quarter longer. The
second shares its PTX with normal code. With ``-O0``, code would run four times as long, which costs
more than it saves.
"""

SLOW = Way(("-O0", _ANY_BLOCK))
"""The way to make code that does the same at another speed."""

TRANSLATED = 256
"""Number of variants of earlier batches whose PTX is kept: normal code may soon be made of it."""

_ASSEMBLED = 2
"""Number of variants that justify one more assembler process."""

_REGISTERS = re.compile(r"--?maxrregcount=")

_UNSET = re.compile(r'"(\w+)" is used before its value is set')

_QUIET = ("-w", "-Xcudafe", "--error_limit=1000000")
"""Options for no warnings, and a message about every faulty variant instead of the first
hundred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NvccCompiler(SourceCompiler):
    """nvcc as the compiler of a batch. Variants with the same PTX may share machine code.

    Attributes:
        nvcc: path of the compiler.
        architecture: architecture to compile for, e.g. ``sm_90``.
        disassembler: path of ``nvdisasm``, if it is installed.
        names: all identifiers that a variant's text may contain before it is preprocessed; empty if
            they are not known.
        way: the way from PTX to machine code.
    """

    nvcc: str
    architecture: str
    sizes: Sizes = SIZES
    disassembler: Path | None = None
    names: frozenset[str] = frozenset()
    way: Way = AS_IT_IS
    disturbs: ClassVar[bool] = False
    makes: ClassVar[type[Binary]] = CudaBinary
    _reached: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    _seen: Counter[str] = field(default_factory=Counter, repr=False, compare=False)
    _translated: dict[tuple[int, bytes], ShardPtx] = field(
        default_factory=dict, repr=False, compare=False
    )

    def _toolchain(self) -> list[str]:
        return [self.nvcc, self.architecture, *_QUIET, *self.way.told]

    def _front(self, options: tuple[str, ...]) -> str | None:
        if ready := self.prepared(options):
            return ready.told
        finished = replace(self, options=(*self.options, *options))._preprocess(self.front)
        return finished.stdout if finished.ok else None

    def _exports(self) -> str:
        return pointers(self.kernels, self.symbols)

    def _preprocessor(self) -> tuple[str, Callable[[str], Finished]]:
        if ready := self.prepared(()):
            return "", partial(ready.preprocess, limit=PREPROCESS_LIMIT)
        return self.front, self._preprocess

    def _builtin(self) -> str:
        words = [str(word) for word in self.command()[1:]]
        ready = prepare(self.nvcc, tuple(words), "", PREPROCESS_LIMIT)
        return ready.front if ready else ""

    def _preprocess(self, text: str) -> Finished:
        with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
            source = Path(scratch) / "batch.cu"
            write_text(source, text)
            return run([*self.command(), "-E", source], limit=PREPROCESS_LIMIT)

    def command(self) -> list[str | Path]:
        """Return nvcc's command line, without the options for a kind of output."""
        return [self.nvcc, f"-arch={self.architecture}", *_QUIET, *self.options]

    def deciding(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """Return all options; for confined code, without the register limit, which it replaces."""
        if not self.way.confined:
            return options
        return tuple(one for one in options if not _REGISTERS.match(one))

    @property
    def rehearses(self) -> bool:
        """Tell whether its code is confined."""
        return self.way.confined

    def rehearsing(self) -> tuple[NvccCompiler, ...]:
        """Return this compiler, made to confine code. It keeps PTX for this one for a while."""
        if not self.prepared(()):
            return ()
        return tuple(replace(self, way=way, sizes=FIRST_SIZES) for way in CONFINED)

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch into cubins below ``folder``."""
        # A batch uses the PTX that is there now, even if it is dropped meanwhile.
        translated = {} if self.way.translated else dict(self._translated)
        names = pointed_at(self.kernels, self.symbols)
        batch = _Batch(self, Twins(self.shares), names, translated)
        if self.way.confined:
            for old in list(self._translated)[:-TRANSLATED]:
                self._translated.pop(old, None)
        known = [one for one in phenotypes if (one.ident, one.key) in translated]
        others = [one for one in phenotypes if (one.ident, one.key) not in translated]
        parts = [self._assembled(batch, known, folder)] if known else []
        parts += [self._compiled(batch, others, folder)] if others else []
        return batch.twins.follow(chain.from_iterable(parts))

    def _assembled(
        self, batch: _Batch, phenotypes: Sequence[Phenotype], folder: Path
    ) -> Iterator[Built | Twin]:
        """Assemble variants whose PTX was kept."""
        folder.mkdir(parents=True, exist_ok=True)
        jobs = max(1, min(self.jobs, len(phenotypes) // _ASSEMBLED))
        prepared = {one.options: self.prepared(one.options) for one in phenotypes}
        compile_shard = partial(batch.assemble, prepared)
        yield from self.in_shards(phenotypes, folder, compile_shard, batch.collect, jobs=jobs)

    def _compiled(
        self, batch: _Batch, phenotypes: Sequence[Phenotype], folder: Path
    ) -> Iterator[Built | Twin]:
        groups: dict[tuple[str, ...], list[Phenotype]] = {}
        for phenotype in phenotypes:
            groups.setdefault(phenotype.options, []).append(phenotype)
        whole = {options: self.prepared(options) for options in groups}
        found = {options: self._within_reach(group) for options, group in groups.items()}
        reached = {options: ready for options, ready in found.items() if ready}
        for ready in (*whole.values(), *reached.values()):
            if ready:
                ready.put(folder)
        used = whole | reached
        yield from self.in_shards(
            phenotypes,
            folder,
            partial(batch.compile, used),
            batch.collect,
            prelude=max((len(ready.front) for ready in used.values() if ready), default=0),
            again=partial(batch.compile, whole) if reached else None,
        )

    def _within_reach(self, group: Sequence[Phenotype]) -> ShardSetup | None:
        """Return a setup with the part of the prelude that variants with the same options need.

        None if it is not known that they have the same code then.
        """
        whole = self.prepared(group[0].options)
        if whole is None or not self.names:
            return None
        # Options that leave the prelude as it is make no difference to what is needed.
        self._seen[whole.told] += len(group)
        if whole.told not in self._reached:
            if self._seen[whole.told] < WORTH and len(whole.front) <= LARGE:
                return None
            found = self.headers_in_reach(whole, group)
            if found is None:
                return None
            self._reached[whole.told] = found
        front = self._reached[whole.told]
        return replace(whole, front=front) if front else None

    def warm_up(self, reference: Variant) -> None:
        """Find the part of the prelude that variants need, and store it in the cache folder."""
        (phenotype,) = self.preprocess([reference]).values()
        whole = self.prepared(reference.options)
        if whole is not None and self.names and isinstance(phenotype, Phenotype):
            self.headers_in_reach(whole, [phenotype])

    def headers_in_reach(self, whole: ShardSetup, group: Sequence[Phenotype]) -> str | None:
        """Return the part of the prelude that variants with the same options need."""
        words = self.nvcc, self.architecture, *self.options, *group[0].options
        named = *self.kernels, "", *self.symbols, "", *self.namespaces
        names = self.names | identifiers(self._exports())
        identity = identity_of(whole, words, named)
        return headers_in_reach(whole, group, names, self.namespaces, identity)

    def other_locals(self) -> tuple[()]:
        """Return nothing: locals are registers, and unset ones hold arbitrary values."""
        return ()

    def differently(self, options: tuple[str, ...]) -> NvccCompiler:
        """Return this compiler without fused multiply-add, assembling without optimization."""
        return replace(self, options=(*self.options, "-fmad=false"), way=SLOW)

    def for_other_devices(self) -> tuple[()]:
        """Return nothing: no other devices are known."""
        return ()

    def examined(self, variant: Variant) -> Examination:
        """Return findings from nvcc's warnings. nvcc itself rejects calls of host code."""
        phenotype = self.preprocess([variant])[variant.ident]
        if isinstance(phenotype, BuildFailure):
            return Examination()
        with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
            source = Path(scratch) / "variant.cu"
            write_text(source, shard_text(self.front, [phenotype], self.namespaces))
            told = [word for word in self.command() if word != "-w"]
            command = [*told, *variant.options, "-ptx", "-o", Path(scratch) / "variant.ptx"]
            warned = run([*command, source], limit=COMPILE_LIMIT).stderr
            return Examination(unset=frozenset(_UNSET.findall(warned)))

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """Return instructions by class, if there is a disassembler, and each kernel's occupancy."""
        assert isinstance(binary, CudaBinary)
        found = {}
        if self.disassembler is not None:
            listing = disassembled(self.disassembler, binary.path, binary.path.stat().st_mtime_ns)
            (ident,) = {owner(name_parts(kernel.symbol)) for kernel in binary.kernels.values()}
            counted = instructions(listing, lambda name: owner(name_parts(name)) == ident)
            found = {f"instructions, {kind}": number for kind, number in counted.items()}
        for name, block in blocks.items():
            kernel = binary.kernels[identifier(name)]
            shared = kernel.shared + block.shared
            share = occupancy(self.architecture, block.threads, kernel.registers, shared)
            if share is not None:
                found[f"occupancy of {name} in percent"] = round(100 * share)
        return found

    def keep(self, shard: Sequence[Phenotype], module: ShardPtx) -> None:
        """Keep the PTX of a shard's variants."""
        for one in shard:
            if one.ident in module.parts:
                self._translated[one.ident, one.key] = module.of(one.ident)

    def marked(self, built: Built) -> Built:
        """Return a result, marked as confined if it is."""
        if isinstance(built, CudaBinary) and self.way.confined:
            return replace(built, confined=True)
        return built

    def prepared(self, options: tuple[str, ...]) -> ShardSetup | None:
        """Return the setup of shards with these options; None if only nvcc can compile them."""
        words = [str(word) for word in self.command()[1:]]
        own = self.defines - said_as_functions(self._builtin(), self.defines)
        return prepare(self.nvcc, (*words, *options), self.front, PREPROCESS_LIMIT, own)

    def compile_whole(self, shard: Sequence[Phenotype], path: Path) -> Finished:
        """Compile a shard with one call of nvcc."""
        source = path.with_suffix(".cu")
        text = shard_text(self.front, shard, self.namespaces)
        write_text(source, text)
        # With -objtemp, intermediate files are beside the shard and are removed with it.
        command = [*self.command(), *shard[0].options, "-objtemp", "-cubin"]
        return run([*command, "-o", path.with_suffix(".cubin"), source], limit=COMPILE_LIMIT)


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch that is being compiled, with the PTX that was kept for its variants."""

    compiler: NvccCompiler
    twins: Twins
    pointed_at: Mapping[str, str]
    translated: Mapping[tuple[int, bytes], ShardPtx]

    def compile(
        self,
        prepared: Mapping[tuple[str, ...], ShardSetup | None],
        shard: Sequence[Phenotype],
        path: Path,
    ) -> Finished:
        compiler, ready = self.compiler, prepared[shard[0].options]
        if ready is not None:
            return self._staged(ready, shard, path)
        if compiler.way.confined:
            return Finished(1, "", "nvcc cannot be called stage by stage with these options")
        finished = compiler.compile_whole(shard, path)
        return finished if finished.ok else brought_home(finished, compiler.file_name)

    def _staged(self, ready: ShardSetup, shard: Sequence[Phenotype], path: Path) -> Finished:
        ptx = path.with_suffix(".ptx")
        text = shard_text("", shard, self.compiler.namespaces, ready.forward)
        way = self.compiler.way
        finished = compile_to_ptx(ready, text, ptx, COMPILE_LIMIT, way.translated)
        if not finished.ok:
            return brought_home(finished, self.compiler.file_name)
        module = read_module(read_text(ptx))
        if module is not None and way.confined and not way.translated:
            self.compiler.keep(shard, module)
        return self._assemble(ready, shard, module or read_text(ptx), path)

    def _assemble(
        self, ready: ShardSetup, shard: Sequence[Phenotype], text: str | ShardPtx, path: Path
    ) -> Finished:
        way, stages = self.compiler.way, ready.stages
        finished = assemble(stages, way, text, shard, self.twins, path, COMPILE_LIMIT)
        return finished if finished.ok else brought_home(finished, self.compiler.file_name)

    def assemble(
        self,
        prepared: Mapping[tuple[str, ...], ShardSetup | None],
        shard: Sequence[Phenotype],
        path: Path,
    ) -> Finished:
        """Assemble variants whose PTX was kept."""
        ready = prepared[shard[0].options]
        assert ready is not None, "it translated them"
        module = join_parts([self.translated[one.ident, one.key] for one in shard])
        return self._assemble(ready, shard, module, path)

    def collect(self, shard: Sequence[Phenotype], path: Path) -> list[Built | Twin]:
        cubin = path.with_suffix(".cubin")
        content = read_cubin(cubin.read_bytes()) if cubin.exists() else {}
        found: list[Built | Twin] = []
        for one in shard:
            other, own = self.twins.of(one.ident), content.get(one.ident)
            if other is None:
                built = binary_of(one.ident, cubin, own, self.pointed_at, one.lent)
                found.append(self.compiler.marked(built))
            else:
                found.append(Twin(one.ident, other))
        return found
