"""Shards of one batch, compiled stage by stage: see :mod:`gi_cuda.backends.cuda.compile.stages`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import xxhash

from gi_cuda.backends.compile.once import once
from gi_cuda.backends.compile.process import Finished, read_text, run, write_text
from gi_cuda.backends.compile.prune import expanded, identifiers, pruned_by_a_helper
from gi_cuda.backends.compile.redeclared import separated
from gi_cuda.backends.cuda.compile.stages import Stage, Stages, find_stages
from gi_cuda.backends.cuda.ptx.confining import write_confined
from gi_cuda.backends.cuda.ptx.module import ShardPtx, named_by, pieces
from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.variants import Built, Phenotype


@dataclass(frozen=True)
class ShardSetup:
    """What all shards with the same options have in common.

    Attributes:
        stages: the programs.
        front: the prelude, preprocessed.
        macros: definitions of all macros that it leaves behind.
        forward: declarations for the begin of every variant.
    """

    stages: Stages
    front: str
    macros: str
    forward: str = ""

    @cached_property
    def told(self) -> str:
        """What of the prelude decides about code; the preprocessor lists macros in any order."""
        return "\n".join([self.front, self.forward, *sorted(self.macros.splitlines())])

    @cached_property
    def _name(self) -> str:
        digest = xxhash.xxh3_64_hexdigest(self.front.encode("utf-8", "surrogateescape"))
        return f"front-{digest}.ii"

    def place(self, folder: Path) -> Path:
        """Where shards in a folder include the prelude from."""
        return folder.resolve() / self._name

    def put(self, folder: Path) -> None:
        """Write the prelude to where shards in a folder include it from."""
        folder.mkdir(parents=True, exist_ok=True)
        write_text(self.place(folder), self.front)

    def within_reach_of(
        self, names: Iterable[str], opened: frozenset[str] | None = None
    ) -> ShardSetup:
        """This shard with only what variants that say these names can reach of the prelude; see
        :func:`~gi_cuda.backends.compile.prune.pruned`."""
        said = expanded(identifiers(self.forward).union(names), self.macros)
        return replace(self, front=pruned_by_a_helper(self.front, said, opened))

    def preprocess(self, text: str, limit: float) -> Finished:
        """Preprocess what follows the prelude. Only the prelude's macros matter for that."""
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
    """Find the stages and preprocess the prelude; None where nvcc itself has to be asked.

    Args:
        nvcc: its path.
        options: all that decide how a source is compiled.
        front: the prelude.
        limit: seconds of wall time for the preprocessor.
        defined: functions of the source that CUDA has none of.
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
    """The prelude, preprocessed, and the macros that it leaves; most options make no difference."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        source = Path(scratch) / _FRONT
        write_text(source, front)

        def made(stage: Stage, name: str) -> str | None:
            result = Path(scratch) / name
            finished = run(
                stage.command(source, result), limit=limit, environment=dict(environment)
            )
            # Where it was made makes no difference to who reads it.
            text = read_text(result) if finished.ok else None
            return text and text.replace(str(source), str(_FRONT))

        ways = {"front.ii": stage, "macros.ii": stage.and_also("-dM")}
        text, macros = at_once([partial(made, one, name) for name, one in ways.items()])
    return None if text is None or macros is None else (text, macros)


@dataclass(slots=True)
class Twins:
    """Which variants of a batch have the PTX of another one, and need not be assembled.

    Any number of shards may ask at once.

    Attributes:
        shared: whether there are any; if not, each is assembled.
    """

    shared: bool = True
    _owners: dict[tuple[tuple[str, ...], bytes], int] = field(default_factory=dict)
    _of: dict[int, int] = field(default_factory=dict)

    def of(self, ident: int) -> int | None:
        """The variant whose code serves this one too."""
        return self._of.get(ident)

    def enter(self, phenotype: Phenotype, key: bytes) -> bool:
        """Enter a variant's PTX; whether it is another one's."""
        ident, options = phenotype.ident, (*phenotype.options, *sorted(phenotype.lent))
        if not self.shared:
            return False
        # In one step, so that of two that ask at once one is first.
        first = self._owners.setdefault((options, key), ident)
        if first != ident:
            self._of[ident] = first
        return first != ident

    def follow(self, built: Iterator[Built | Twin]) -> Iterator[Built]:
        """What was built; a twin is made of the one that it is a twin of once that is there."""
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
    """A variant that another one's code serves."""

    ident: int
    of: int

    def made_of(self, other: Built) -> Built:
        """What became of the other one, under this one's number."""
        return replace(other, ident=self.ident)


def compile_to_ptx(
    prepared: ShardSetup, text: str, ptx: Path, limit: float, words: Sequence[str] = ()
) -> Finished:
    """Compile what follows the prelude; the prelude must be in the PTX's folder.

    Args:
        words: options of the compiler besides its own.
    """
    source = ptx.with_suffix(".ii")
    write_text(source, f'#include "{prepared.place(ptx.parent)}"\n{text}')
    command = prepared.stages.compile.and_also(*words).command(source, ptx)
    # A compiler that fails leaves its own file behind; so it goes with the shard's.
    environment = {**prepared.stages.environment, "TMPDIR": str(ptx.parent)}
    return run(command, limit=limit, environment=environment)


def code_of(prepared: ShardSetup, text: str, limit: float) -> frozenset[str] | None:
    """The functions and variables of a variant's PTX; None where it does not compile.

    Args:
        text: the variant as it follows the prelude.
    """
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        ptx = Path(scratch) / "shard.ptx"
        prepared.put(ptx.parent)
        made = compile_to_ptx(prepared, text, ptx, limit)
        return pieces(read_text(ptx)) if made.ok else None


def is_same(whole: frozenset[str], part: frozenset[str], ident: int) -> bool:
    """Compare a variant's code with a part of the prelude to that with all of it. Functions and
    variables of headers that only the whole one leaves in the module do not count."""
    return part <= whole and not any(map(named_by(ident).search, whole - part))


@dataclass(frozen=True, slots=True)
class Way:
    """How a text becomes machine code.

    Attributes:
        words: options of the assembler.
        confined: whether the code is made to do no harm.
        translated: options, besides its own, of the compiler to PTX.
    """

    words: tuple[str, ...] = ()
    confined: bool = False
    translated: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """What tells it from others."""
        translated = (f"translated {one}" for one in self.translated)
        return (*self.words, *(["confined"] if self.confined else []), *translated)

    def write(self, path: Path, text: str) -> None:
        """Write what the assembler is given of a module's text."""
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
    """Make a cubin of what is new of a shard's PTX.

    Args:
        text: the PTX, in parts where it can be told what belongs to whom.
        shard: the variants in it; all have the same options.
        twins: of the batch; those found here are entered.
        path: of the cubin, without suffix. There is none where all variants are twins.
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
