"""Shards of one batch, compiled stage by stage: see :mod:`gi_cuda.build.stages`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from gi_cuda.build.model import Built, Phenotype
from gi_cuda.build.process import Finished, run
from gi_cuda.build.ptx import read_module
from gi_cuda.build.stages import Stages, find_stages


@dataclass(frozen=True, slots=True)
class Prepared:
    """What all shards with the same options have in common.

    Attributes:
        stages: the programs.
        front: the prelude, preprocessed.
    """

    stages: Stages
    front: str


@lru_cache(maxsize=32)
def prepare(nvcc: str, options: tuple[str, ...], front: str, limit: float) -> Prepared | None:
    """Find the stages and preprocess the prelude; None where nvcc itself has to be asked.

    Args:
        nvcc: its path.
        options: all that decide how a source is compiled.
        front: the prelude.
        limit: seconds of wall time for the preprocessor.
    """
    stages = find_stages(nvcc, options)
    if stages is None:
        return None
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        source, result = Path(scratch) / "front.cu", Path(scratch) / "front.ii"
        source.write_text(front, encoding="utf-8", errors="surrogateescape", newline="")
        command = stages.preprocess.command(source, result)
        if not run(command, limit=limit, environment=stages.environment).ok:
            return None
        text = result.read_text(encoding="utf-8", errors="surrogateescape")
    return Prepared(stages, text)


@dataclass(slots=True)
class Twins:
    """Which variants of a batch have the PTX of another one, and need not be assembled.

    Any number of shards may ask at once.
    """

    _owners: dict[tuple[tuple[str, ...], bytes], int] = field(default_factory=dict)
    _of: dict[int, int] = field(default_factory=dict)

    def of(self, ident: int) -> int | None:
        """The variant whose code serves this one too."""
        return self._of.get(ident)

    def enter(self, ident: int, options: tuple[str, ...], key: bytes) -> bool:
        """Enter a variant's PTX; whether it is another one's."""
        # In one step, so that of two that ask at once one is first.
        first = self._owners.setdefault((options, key), ident)
        if first != ident:
            self._of[ident] = first
        return first != ident

    def follow(self, built: Iterator[Built | Twin]) -> Iterator[Built]:
        """The same with every twin made of the one that it is a twin of, once that is there."""
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


def compile_staged(
    prepared: Prepared,
    text: str,
    shard: Sequence[Phenotype],
    twins: Twins,
    path: Path,
    limit: float,
) -> Finished:
    """Compile a shard to PTX, and what is new of it to a cubin.

    Args:
        text: what follows the prelude.
        shard: the variants in it; all have the same options.
        twins: of the batch; those found here are entered.
        path: of the cubin, without suffix. There is none where all variants are twins.
        limit: seconds of wall time for each stage.
    """
    stages = prepared.stages
    source, ptx, cubin = (path.with_suffix(suffix) for suffix in (".ii", ".ptx", ".cubin"))
    whole = prepared.front + text
    source.write_text(whole, encoding="utf-8", errors="surrogateescape", newline="")
    command = stages.compile.command(source, ptx)
    finished = run(command, limit=limit, environment=stages.environment)
    if not finished.ok:
        return finished
    if module := read_module(ptx.read_text(encoding="utf-8", errors="surrogateescape")):
        options = shard[0].options
        same = {i for i, key in module.keys.items() if twins.enter(i, options, key)}
        if same and len(same) == len(module.parts):
            return finished
        if same:
            new = module.without(same)
            ptx.write_text(new, encoding="utf-8", errors="surrogateescape", newline="")
    command = stages.assemble.command(ptx, cubin)
    return run(command, limit=limit, environment=stages.environment)
