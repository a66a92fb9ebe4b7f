"""Compile shards of a batch, each by nvcc's own stages as separate processes.

A shard is one text of several variants; each shard goes through all stages by itself (see
:mod:`gi_cuda.backends.cuda.compile.stages`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import xxhash

from gi_cuda.backends.compile.caching.single_flight import once
from gi_cuda.backends.compile.process import Finished, read_text, run, write_text
from gi_cuda.backends.compile.pruning.prune import expanded, identifiers, pruned_by_a_helper
from gi_cuda.backends.compile.pruning.redeclared import separated
from gi_cuda.backends.cuda.compile.stages import Stage, Stages, find_stages
from gi_cuda.backends.cuda.ptx.confining import write_confined
from gi_cuda.backends.cuda.ptx.module import ShardPtx, named_by, pieces
from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.variants import Built, Phenotype


@dataclass(frozen=True)
class ShardSetup:
    """The data that all shards with the same options share.

    Attributes:
        stages: the programs.
        front: the preprocessed prelude.
        macros: definitions of all macros that the prelude leaves.
        forward: declarations for the begin of every variant.
    """

    stages: Stages
    front: str
    macros: str
    forward: str = ""

    @cached_property
    def told(self) -> str:
        """Text that identifies the prelude, with macros sorted, since their order varies."""
        return "\n".join([self.front, self.forward, *sorted(self.macros.splitlines())])

    @cached_property
    def _name(self) -> str:
        digest = xxhash.xxh3_64_hexdigest(self.front.encode("utf-8", "surrogateescape"))
        return f"front-{digest}.ii"

    def place(self, folder: Path) -> Path:
        """Return the path from which shards in a folder include the prelude."""
        return folder.resolve() / self._name

    def put(self, folder: Path) -> None:
        """Write the prelude to the path from which shards in a folder include it."""
        folder.mkdir(parents=True, exist_ok=True)
        write_text(self.place(folder), self.front)

    def within_reach_of(
        self, names: Iterable[str], opened: frozenset[str] | None = None
    ) -> ShardSetup:
        """Return this setup with only the part of the prelude that variants with these names need.

        See :func:`~gi_cuda.backends.compile.pruning.prune.pruned`.
        """
        said = expanded(identifiers(self.forward).union(names), self.macros)
        return replace(self, front=pruned_by_a_helper(self.front, said, opened))

    def preprocess(self, text: str, limit: float) -> Finished:
        """Preprocess the text after the prelude. Of the prelude, only macros matter for that."""
        stage = self.stages.preprocess.without("-include")
        with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
            macros, source, result = (Path(scratch) / name for name in ("front", "b.cu", "b.ii"))
            write_text(macros, self.macros)
            write_text(source, text)
            command = stage.and_also("-imacros", str(macros)).command(source, result)
            finished = run(command, limit=limit, environment=self.stages.environment)
            return Finished(finished.status, read_text(result), finished.stderr)


@once(maxsize=32)
def prepare(
    nvcc: str,
    options: tuple[str, ...],
    front: str,
    limit: float,
    defined: frozenset[str] = frozenset(),
) -> ShardSetup | None:
    """Find the stages and preprocess the prelude; None if only nvcc itself can compile.

    Args:
        nvcc: its path.
        options: all options that affect the code of a source.
        front: the prelude.
        limit: seconds of wall time for the preprocessor.
        defined: functions of the source, without those that CUDA has as well.
    """
    stages = find_stages(nvcc, options)
    if stages is None:
        return None
    environment = tuple(sorted(stages.environment.items()))
    stage = stages.preprocess.placed(_FRONT, _RESULT).at_any_level()
    found = _preprocessed(stage, environment, front, limit)
    if found is None:
        return None
    text, macros = found
    headers, forward = separated(text, defined)
    return ShardSetup(stages, headers, macros, forward)


_FRONT, _RESULT = Path("front.cu"), Path("front.ii")


@once(maxsize=8)
def _preprocessed(
    stage: Stage, environment: tuple[tuple[str, str], ...], front: str, limit: float
) -> tuple[str, str] | None:
    """Return the preprocessed prelude and its macros; cached, as few options change them."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        source = Path(scratch) / _FRONT
        write_text(source, front)

        def made(stage: Stage, name: str) -> str | None:
            result = Path(scratch) / name
            finished = run(
                stage.command(source, result), limit=limit, environment=dict(environment)
            )
            # The result must not depend on the scratch folder.
            text = read_text(result) if finished.ok else None
            return text and text.replace(str(source), str(_FRONT))

        ways = {"front.ii": stage, "macros.ii": stage.and_also("-dM")}
        text, macros = at_once([partial(made, one, name) for name, one in ways.items()])
    return None if text is None or macros is None else (text, macros)


@dataclass(slots=True)
class Twins:
    """Variants of a batch with the PTX of an earlier one, which need not be assembled.

    Any number of threads may use this at once.

    Attributes:
        shared: whether variants may share code; if not, each is assembled.
    """

    shared: bool = True
    _owners: dict[tuple[tuple[str, ...], bytes], int] = field(default_factory=dict)
    _of: dict[int, int] = field(default_factory=dict)

    def of(self, ident: int) -> int | None:
        """Return the variant whose code this one shares, if any."""
        return self._of.get(ident)

    def enter(self, phenotype: Phenotype, key: bytes) -> bool:
        """Register a variant's PTX. Return whether an earlier variant has the same."""
        ident, options = phenotype.ident, (*phenotype.options, *sorted(phenotype.lent))
        if not self.shared:
            return False
        # setdefault is atomic, so of two concurrent calls one is first.
        first = self._owners.setdefault((options, key), ident)
        if first != ident:
            self._of[ident] = first
        return first != ident

    def follow(self, built: Iterator[Built | Twin]) -> Iterator[Built]:
        """Yield results; the result of a twin follows as soon as that of its original is there."""
        done: dict[int, Built] = {}
        waiting: dict[int, list[Twin]] = {}
        for one in built:
            if isinstance(one, Twin):
                if one.of in done:
                    yield one.made_of(done[one.of])
                else:
                    waiting.setdefault(one.of, []).append(one)
                continue
            done[one.ident] = one
            yield one
            for twin in waiting.pop(one.ident, ()):
                yield twin.made_of(one)


@dataclass(frozen=True, slots=True)
class Twin:
    """A variant that shares the code of another one.

    Attributes:
        of: number of the other variant.
    """

    ident: int
    of: int

    def made_of(self, other: Built) -> Built:
        """Return the other variant's result under this one's number."""
        return replace(other, ident=self.ident)


def compile_to_ptx(
    prepared: ShardSetup, text: str, ptx: Path, limit: float, words: Sequence[str] = ()
) -> Finished:
    """Compile the text after the prelude; the prelude must be in the PTX's folder.

    Args:
        words: additional options for the compiler.
    """
    source = ptx.with_suffix(".ii")
    write_text(source, f'#include "{prepared.place(ptx.parent)}"\n{text}')
    command = prepared.stages.compile.and_also(*words).command(source, ptx)
    # A failing compiler leaves a temporary file, which is removed with the shard's folder.
    environment = {**prepared.stages.environment, "TMPDIR": str(ptx.parent)}
    return run(command, limit=limit, environment=environment)


def code_of(prepared: ShardSetup, text: str, limit: float) -> frozenset[str] | None:
    """Return the functions and variables of a variant's PTX; None if it does not compile.

    Args:
        text: the variant's text after the prelude.
    """
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        ptx = Path(scratch) / "shard.ptx"
        prepared.put(ptx.parent)
        made = compile_to_ptx(prepared, text, ptx, limit)
        return pieces(read_text(ptx)) if made.ok else None


def is_same(whole: frozenset[str], part: frozenset[str], ident: int) -> bool:
    """Tell whether a variant's code with a part of the prelude is the same as with all of it.

    Functions and variables of headers that are only in the code with all of it do not count.
    """
    return part <= whole and not any(map(named_by(ident).search, whole - part))


@dataclass(frozen=True, slots=True)
class Way:
    """Options for making machine code.

    Attributes:
        words: options for the assembler.
        confined: whether the code is confined.
        translated: additional options for the compiler to PTX.
    """

    words: tuple[str, ...] = ()
    confined: bool = False
    translated: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """Texts that identify the way."""
        translated = (f"translated {one}" for one in self.translated)
        return (*self.words, *(["confined"] if self.confined else []), *translated)

    def write(self, path: Path, text: str) -> None:
        """Write a module's text for the assembler."""
        (write_confined if self.confined else write_text)(path, text)


AS_IT_IS = Way()


def assemble(
    stages: Stages,
    way: Way,
    text: str | ShardPtx,
    shard: Sequence[Phenotype],
    twins: Twins,
    path: Path,
    limit: float,
) -> Finished:
    """Make a cubin of the new variants in a shard's PTX.

    Args:
        text: the PTX; in parts if it is known which variant each function belongs to.
        shard: the variants in it; all have the same options.
        twins: the batch's twins; those that are found here are added.
        path: path of the cubin, without suffix. No cubin is made if all variants are twins.
        limit: seconds of wall time.
    """
    if isinstance(text, ShardPtx):
        keys = [(one, text.keys[one.ident]) for one in shard if one.ident in text.keys]
        same = {one.ident for one, key in keys if twins.enter(one, key)}
        if same and len(same) == len(text.parts):
            return Finished(0, "", "")
        text = text.without(same)
    ptx, cubin = (path.with_suffix(suffix) for suffix in (".ptx", ".cubin"))
    way.write(ptx, text)
    command = stages.assemble.and_also(*way.words).command(ptx, cubin)
    return run(command, limit=limit, environment=stages.environment)
