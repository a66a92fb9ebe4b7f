"""The LLVM-IR of a CUDA source: a clang that is there, and how it is called.

clang reads CUDA with headers of its own. The package ``ziglang`` brings a clang without them, and
``clangd`` has them. Of CUDA 13 they include two files that it no longer has.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from gi_cuda.backends.compile.process import read_text, run, write_text
from gi_cuda.backends.compile.pruning.left_out import stand_ins
from gi_cuda.backends.compile.shards import first_error
from gi_cuda.backends.compile.source import COMPILE_LIMIT
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.compile.stages import find_stages
from gi_cuda.backends.cuda.compile.texts import shard_text
from gi_cuda.backends.cuda.llvm.lowering import lowered
from gi_cuda.backends.cuda.ptx.batch import does_not_compile, only
from gi_cuda.backends.cuda.toolkit import header_folders
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.llvm.syntax import INSTALL, binding

OLDEST = 18
"""The oldest clang that compiles for the GPUs and headers of today."""

_LIMIT = 20.0
"""Seconds of wall time that ``clang --version`` may take."""

_GONE = ("texture_fetch_functions.h", "curand_mtgp32_kernel.h")
"""Headers that clang includes and CUDA 13 no longer has."""

_ALWAYS = (
    *("-x", "cuda", "--cuda-device-only", "--no-cuda-version-check", "-Wno-unknown-cuda-version"),
    *("-w", "-O1", "-Xclang", "-disable-llvm-passes", "-Xclang", "-disable-lifetime-markers"),
    *("-Xclang", "-fcuda-short-ptr", "-mllvm", "-nvptx-short-ptr"),
    *("-gline-tables-only", "-fdebug-compilation-dir=.", "-S", "-emit-llvm"),
)
"""Options for IR before optimisation that still has the types of accesses for the optimiser."""

_TAKEN = re.compile(r"-(?:std=|[IDU]).*|-include|--?isystem")
_APPROXIMATE = ("-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals", "-fapprox-func")
_MEANT = {
    "use_fast_math": _APPROXIMATE,
    "ftz=true": _APPROXIMATE[:1],
    "prec-div=false": _APPROXIMATE[2:],
    "prec-sqrt=false": _APPROXIMATE[2:],
    "fmad=false": ("-ffp-contract=off",),
}
"""Options of clang that stand for options of nvcc."""

_ORDERED = re.compile(r" seq_cst seq_cst\b")
_STATIC = re.compile(
    r"^(@(?!_ZZ)\S+ = )(?:dso_local )?internal (addrspace\([14]\) )((?:global|constant) .*"
    r"\b(?:zeroinitializer|undef)\b)",
    re.M,
)


@dataclass(frozen=True, slots=True)
class Clang:
    """A clang that can be used: how its command line begins, and the version of its LLVM."""

    words: tuple[str, ...]
    version: int


@cache
def find_clang() -> Clang:
    """Return the first clang on PATH whose IR llvmlite reads, else the one of the extra.

    Raises:
        UserError: there is none, or no llvmlite.
    """
    newest = int(binding().llvm_version_info[0])
    seen = []
    for words in _candidates(newest):
        said = re.search(r"clang version (\d+)", run([*words, "--version"], limit=_LIMIT).stdout)
        if said and OLDEST <= int(said[1]) <= newest:
            return Clang(words, int(said[1]))
        seen += [f"{words[0]} is {said[1]}"] if said else []
    raise UserError(
        f"LLVM-IR needs a clang from version {OLDEST} to {newest}"
        + (f"; {', '.join(seen)}" if seen else ""),
        hint=f"install one: {INSTALL}, or apt install clang-{OLDEST + 1}",
    )


def _candidates(newest: int) -> Iterator[tuple[str, ...]]:
    names = ["clang", *(f"clang-{number}" for number in range(newest, OLDEST - 1, -1))]
    yield from ((found,) for name in names if (found := shutil.which(name)))
    zig, headers = _package("ziglang", "zig"), _package("clangd", "data/lib/clang/*")
    if zig and headers:
        yield str(zig), "clang", "--target=x86_64-unknown-linux-gnu", f"-resource-dir={headers}"


def _package(name: str, pattern: str) -> Path | None:
    """Return the first file of a package that matches a pattern."""
    spec = importlib.util.find_spec(name)
    folders = spec.submodule_search_locations if spec else None
    return next((one for f in folders or () for one in sorted(Path(f).glob(pattern))), None)


def ir_of(compiler: NvccCompiler, variant: Variant) -> str:
    """Return the IR that clang makes of a variant, with local variables in registers.

    Args:
        variant: with the number 0.

    Raises:
        UserError: there is no clang, or the source does not compile.
    """
    phenotype = only(compiler, variant)
    text = shard_text(compiler.front, [phenotype], compiler.namespaces)
    return _made(compiler.nvcc, _words(compiler, variant), compiler.architecture, text)


def source_ir(compiler: NvccCompiler, variant: Variant) -> str:
    """Return the IR of the source on its own, not as a variant in a namespace."""
    text = f"{compiler.front}{only(compiler, variant).text}\n"
    return _made(compiler.nvcc, _words(compiler, variant), compiler.architecture, text)


def _words(compiler: NvccCompiler, variant: Variant) -> tuple[str, ...]:
    return tuple(clang_options((*compiler.options, *variant.options)))


def clang_options(options: Iterable[str]) -> Iterator[str]:
    """Translate nvcc's options: only those that decide what is read and how numbers are rounded."""
    taking = False
    for option in options:
        if taking or _TAKEN.fullmatch(option):
            yield option
        yield from _MEANT.get(option.lstrip("-"), ())
        taking = not taking and option in ("-include", "-isystem")


@lru_cache(maxsize=8)
def _made(nvcc: str, told: tuple[str, ...], architecture: str, text: str) -> str:
    clang = find_clang()
    stages = find_stages(nvcc, (f"-arch={architecture}",))
    toolkit = stages.environment.get("TOP") if stages else None
    root = Path(toolkit) if toolkit else Path(nvcc).resolve().parents[1]
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        source, made = Path(scratch) / "shard.cu", Path(scratch) / "shard.ll"
        write_text(source, text)
        words = [*clang.words, *_ALWAYS, f"--cuda-gpu-arch={architecture}", f"--cuda-path={root}"]
        words += told
        for folder in (*(header_folders() or ()), stand_ins(_GONE)):
            words += ["-idirafter", str(folder)]
        finished = run([*words, "-o", made, source], limit=COMPILE_LIMIT)
        if not finished.ok:
            raise does_not_compile(f"clang: {first_error(finished)}")
        found = read_text(made).replace(f"{scratch}/", "")
    # CUDA's atomic functions order nothing else (Programming Guide, "Atomic Functions").
    found = _ORDERED.sub(' syncscope("device") monotonic monotonic', found)
    # The host may write to a static variable by its name.
    found = _STATIC.sub(r"\1\2externally_initialized \3", found)
    return lowered(found, architecture, "simplified")
