"""Batches of PTX variants: several of them in one module, assembled with one call of ptxas.

The PTX comes from a source that nvcc compiled as variant 0, so all that is a variant's own has a
mangled name in the namespace ``v0``; here every variant gets its own number there instead. What is
not in that namespace comes from headers, is the same in all, and stands in a module once.
"""

from __future__ import annotations

import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import xxhash

from gi_cuda.build.cubin import name_parts, owner, read_cubin
from gi_cuda.build.model import Binary, Block, BuildFailure, Built, Phenotype, Variant
from gi_cuda.build.nvcc import (
    COMPILE_LIMIT,
    NvccCompiler,
    binary_of,
    brought_home,
    pointed_at,
    shard_text,
)
from gi_cuda.build.process import Finished, run
from gi_cuda.build.ptx import BEGIN, end_of, named_by
from gi_cuda.build.shards import build, first_error
from gi_cuda.build.stages import find_stages
from gi_cuda.errors import UserError

_OURS = re.compile(r"(N(?:\d+(?:_INTERNAL_|_GLOBAL__N_)\w*?)?)2v0(?=[\dA-Z])")
_PLACE = re.compile(r"(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}(_\d+_\w+?_)[0-9a-f]{8}(?=\d)")
_DEBUGGING = re.compile(r"//[^\n]*|^[ \t]*\.(?:loc|file)\b[^\n]*", re.M)
_SPACE = re.compile(r"\s+")
_HEAD = re.compile(r"^[ \t]*\.(?:version|target|address_size)\b[^\n]*", re.M)
_MESSAGE = re.compile(
    r"^ptxas [^\n]*?, line (?P<line>\d+); (?:fatal|error)\s*:\s*(?P<said>[^\n]*)", re.M
)


@dataclass(frozen=True, slots=True)
class PtxCompiler:
    """ptxas as the compiler of a batch of PTX variants.

    Attributes:
        nvcc: how the source was compiled; its shards, jobs and names are used here too.
        file_name: what messages call the PTX.
    """

    nvcc: NvccCompiler
    file_name: str
    disturbs: ClassVar[bool] = False

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Give each variant names of its own. Its key is that of its text without line numbers,
        comments and white space."""
        return {variant.ident: _phenotype(variant) for variant in variants}

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Assemble a batch into cubins below ``folder``."""
        names = pointed_at(self.nvcc.kernels, self.nvcc.symbols)

        def collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
            cubin = path.with_suffix(".cubin")
            content = read_cubin(cubin.read_bytes())
            return [binary_of(p.ident, cubin, content.get(p.ident), names) for p in shard]

        return build(
            phenotypes, folder, self._assemble, collect, jobs=self.nvcc.jobs, sizes=self.nvcc.sizes
        )

    def inspect(self, binary: Binary, blocks: Mapping[str, Block]) -> dict[str, int]:
        """Instructions by class and occupancy, as of what nvcc makes of a source."""
        return self.nvcc.inspect(binary, blocks)

    def _assemble(self, shard: Sequence[Phenotype], path: Path) -> Finished:
        module = join(shard)
        source, cubin = path.with_suffix(".ptx"), path.with_suffix(".cubin")
        source.write_text(module.text, encoding="utf-8", errors="surrogateescape", newline="")
        words = (f"-arch={self.nvcc.architecture}", *self.nvcc.options, *shard[0].options)
        if stages := _stages(self.nvcc.nvcc, words):
            command = stages.assemble.command(source, cubin)
            finished = run(command, limit=COMPILE_LIMIT, environment=stages.environment)
        else:
            command = [self.nvcc.nvcc, *words, "-w", "-cubin", "-o", str(cubin), str(source)]
            finished = run(command, limit=COMPILE_LIMIT)
        if finished.ok:
            return finished
        said = "".join(module.messages(finished.stderr, self.file_name))
        if said:
            return Finished(finished.status, finished.stdout, said)
        return brought_home(finished, self.file_name)


_stages = lru_cache(maxsize=32)(find_stages)


def ptx_of(compiler: NvccCompiler, variant: Variant) -> str:
    """The PTX that nvcc makes of a variant, with line numbers.

    The variant must have the number 0. Names with internal linkage hold numbers that nvcc derives
    from the source's place; here they are zero, so that the same source always gives the same text
    (but for ``.debug_str``, which repeats them).

    Raises:
        UserError: it does not compile.
    """
    assert variant.ident == 0
    phenotype = compiler.preprocess([variant])[0]
    if isinstance(phenotype, BuildFailure):
        raise _does_not_compile(phenotype.message)
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        source, ptx = Path(scratch) / "shard.cu", Path(scratch) / "shard.ptx"
        text = shard_text(compiler.front, [phenotype], compiler.namespaces)
        source.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        command = [*compiler.command(), *variant.options, "-lineinfo", "-ptx"]
        finished = run([*command, "-o", ptx, source], limit=COMPILE_LIMIT)
        if not finished.ok:
            raise _does_not_compile(first_error(finished))
        made = ptx.read_text(encoding="utf-8", errors="surrogateescape")
    made = _PLACE.sub(r"\g<1>00000000\g<2>00000000", made)
    return made.replace(f'"{Path.cwd()}/v0/', '"v0/').replace(f"{scratch}/", "")


def _does_not_compile(message: str) -> UserError:
    return UserError(
        f"the source does not compile: {message}",
        hint="see [build] in target.toml (include, define, standard, options)",
    )


def kernels_in(ptx: str, names: Sequence[str]) -> tuple[str, ...]:
    """The symbols of a variant's kernels in its PTX: those of the names given.

    Args:
        ptx: made by :func:`ptx_of`.
        names: as a target gives them. Without any, or where one is more than an identifier, all
            kernels are meant.
    """
    entries = re.findall(r"\.entry\s+([\w$]+)", ptx)
    ours = [symbol for symbol in entries if owner(name_parts(symbol)) == 0]
    found = {symbol: name for symbol in ours if (name := name_parts(symbol)[-1]) in names}
    return tuple(found if names and set(found.values()) == set(names) else ours)


def own_functions(ptx: str) -> frozenset[str]:
    """The symbols of a variant's functions in its PTX, without those of headers."""
    names = re.findall(r"\.func\s+(?:\([^()]*\)\s*)?([\w$]+)", ptx)
    return frozenset(name for name in names if _OURS.search(name))


def _phenotype(variant: Variant) -> Phenotype:
    text = _DEBUGGING.sub("", variant.text)
    key = xxhash.xxh3_128_digest(_SPACE.sub(" ", text).encode("utf-8", "surrogateescape"))
    own = f"v{variant.ident}"
    return Phenotype(variant.ident, _OURS.sub(rf"\g<1>{len(own)}{own}", text), variant.options, key)


class _Piece(NamedTuple):
    """A stretch of a variant's text in a module: its owner, and its first lines there and here."""

    ident: int
    line: int
    own_line: int


@dataclass(frozen=True, slots=True)
class Module:
    """Several variants as one PTX text.

    Attributes:
        text: the module.
        pieces: in order, what its lines belong to.
    """

    text: str
    pieces: tuple[_Piece, ...]

    def messages(self, stderr: str, file_name: str) -> Iterator[str]:
        """ptxas's messages as messages about variants' texts."""
        lines = [piece.line for piece in self.pieces]
        for found in _MESSAGE.finditer(stderr):
            line = int(found["line"])
            at = bisect_right(lines, line) - 1
            if at >= 0:
                piece = self.pieces[at]
                here = line - piece.line + piece.own_line
                yield f"v{piece.ident}/{file_name}({here}): error: {found['said']}\n"


def join(shard: Sequence[Phenotype]) -> Module:
    """Put variants into one module."""
    first = shard[0].text
    texts = ["".join(f"{line}\n" for line in _HEAD.findall(first))]
    texts += [f"{text}\n" for text, ours, _ in _parts(first, shard[0].ident) if not ours]
    line = 1 + sum(text.count("\n") for text in texts)
    pieces = []
    for phenotype in shard:
        for text, ours, at in _parts(phenotype.text, phenotype.ident):
            if ours:
                pieces.append(_Piece(phenotype.ident, line, at))
                texts.append(f"{text}\n")
                line += text.count("\n") + 1
    return Module("".join(texts), tuple(pieces))


def _parts(text: str, ident: int) -> Iterator[tuple[str, bool, int]]:
    """The functions and variables of a module: text, whether it is the variant's, first line."""
    named = named_by(ident)
    at = line = 0
    while begin := BEGIN.search(text, at):
        line += text.count("\n", at, begin.start())
        end = end_of(text, begin)
        part = text[begin.start() : end]
        yield part, named.search(part) is not None, line + 1
        line += text.count("\n", begin.start(), end)
        at = end
