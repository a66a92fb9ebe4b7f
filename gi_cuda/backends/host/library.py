"""Compilers, their options for shards, and the runtime library, built once per machine."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import xxhash

from gi_cuda.backends.compile.cache import cached, output_of
from gi_cuda.backends.compile.once import once
from gi_cuda.backends.compile.process import run
from gi_cuda.errors import UserError

HERE = Path(__file__).parent

INCLUDE = HERE / "include"
"""Where ``gi_cuda_host.hpp`` is."""

NVCC_MACROS = (
    "-D__CUDACC__=1",
    "-D__NVCC__=1",
    "-D__CUDACC_VER_MAJOR__=13",
    "-D__CUDACC_VER_MINOR__=0",
    "-D__CUDACC_VER_BUILD__=0",
    "-DCUDART_VERSION=13000",
    "-DCUDA_VERSION=13000",
    "-D__CUDA_ARCH__=800",
    "-DGI_HOST=1",
)
"""What sources may ask about: as nvcc has it for device code of compute capability 8.0, and
``GI_HOST``, which tells that it is not nvcc."""

OTHER_DEVICES = tuple(
    (
        *("-D__CUDA_ARCH__=" + architecture, "-D__CUDACC_VER_MAJOR__=" + major),
        *("-D__CUDACC_VER_MINOR__=" + minor, "-D__CUDACC_VER_BUILD__=" + build),
        *(f"-D{name}_VERSION={int(major) * 1000 + int(minor) * 10}" for name in ("CUDART", "CUDA")),
    )
    for architecture, major, minor, build in (
        ("750", "12", "8", "93"),
        ("900", "13", "0", "88"),
        ("1200", "13", "1", "80"),
    )
)
"""The same as other versions have it, for the oldest and the newest devices that these know and one
between."""

_COMMON_OPTIONS = (
    "-std=c++17",
    "-fPIC",
    "-shared",
    "-w",
    "-fno-exceptions",
    "-fno-rtti",
    # Hidden names keep shards apart, and let them go when they are closed.
    "-fvisibility=hidden",
    # Where a variant's code comes to lie must not depend on what else is in its batch.
    "-falign-functions=64",
    # What the device defines, and edits provoke, must not be undefined here.
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-finite-loops",
    "-fno-delete-null-pointer-checks",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-stack-protector",
    # A thread of a device does not vectorise, and nothing here unwinds a stack.
    "-fno-tree-vectorize",
    "-fno-asynchronous-unwind-tables",
)

COMPILE_OPTIONS = (
    *_COMMON_OPTIONS,
    # Nor must the code itself: of functions that variants have in common only those are merged that
    # are marked (see `common`), and there is no budget of inlining that they share.
    "-fipa-icf-functions",
    "-fno-ipa-icf-variables",
    "--param=inline-unit-growth=1000000",
    "--param=ipa-cp-unit-growth=1000000",
)
"""Options of g++ for shards of kernels; ``-O1`` or ``-O2`` and the include path come on top."""

_POISONED_LOCALS = "-ftrivial-auto-var-init=pattern"
"""Locals that nothing sets hold neither zeros nor what an earlier thread left in their place, but
0xFE in every byte. Of what is set the compiler makes the same code."""

ZEROED_LOCALS = "-ftrivial-auto-var-init=zero"
"""They hold zeros, whatever other options say."""

_POISON = re.compile(
    r"(?<![\w.])-?(?:16843010|4278124286|72340172838076674|18374403900871474942)\b"
    r"|(?:\t\.byte\t-2\n){4,}"
    r"|\tmovl\t\$254, %esi\n(?=(?:[^\n]*\n){0,3}?\tcall\tmemset)"
)
"""The poison as g++ writes it: as a number of 4 or 8 bytes, byte by byte, and for ``memset``."""

_LIBRARY_OPTIONS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-shared",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
    # Answers are judged by sums that are rounded as numpy's are.
    "-ffp-contract=off",
)


def find_compiler() -> str:
    """Path of the C++ compiler: ``$CXX``, else ``g++``, else ``clang++``.

    Raises:
        UserError: there is none.
    """
    wanted = os.environ.get("CXX")
    for name in (wanted,) if wanted else ("g++", "clang++"):
        if found := shutil.which(name):
            return str(Path(found).absolute())  # it may be run in another folder
    raise UserError(
        f"no C++ compiler: {wanted} is not there" if wanted else "no C++ compiler found",
        where="CXX" if wanted else None,
        hint="install one that knows C++17, e.g. `apt install g++`, or name it in CXX",
    )


def compile_options(compiler: str) -> tuple[str, ...]:
    """:data:`COMPILE_OPTIONS` as this compiler knows them, clang++ does not know all of g++'s; with
    poison in locals that nothing sets, if it can do that."""
    options = _COMMON_OPTIONS if "clang" in version(compiler) else COMPILE_OPTIONS
    return (*options, _POISONED_LOCALS) if poisons_locals(compiler) else options


@once(maxsize=None)
def poisons_locals(compiler: str) -> bool:
    """Whether a compiler knows how to poison locals: g++ does since version 12."""
    command = [compiler, _POISONED_LOCALS, "-x", "c++", "-fsyntax-only", "-"]
    return run(command, limit=20.0, stdin="").ok


def with_large_locals(assembly: str) -> str:
    """Assembly of g++ with 0x7F in each byte of the poison: as a float 3.4e38, where the poison is
    -1.7e38. Locals of one or two bytes keep the poison."""
    return _POISON.sub(_enlarged, assembly)


def _enlarged(poison: re.Match[str]) -> str:
    said = poison[0]
    if said.startswith("\t"):
        return said.replace("-2\n", "127\n").replace("$254", "$127")
    return str(0x7F7F7F7F if len(said) < 12 else 0x7F7F7F7F7F7F7F7F)


def build_library(compiler: str | None = None, folder: Path | None = None) -> Path:
    """Path of the runtime library, compiled if the cache does not have it.

    The name holds the hash of the sources, the options and the compiler's version.

    Args:
        compiler: see :func:`find_compiler`.
        folder: where it is kept, by default the user's cache folder.

    Raises:
        UserError: there is no compiler, it fails, or the cache cannot be written.
    """
    cxx = compiler or find_compiler()

    def compile_library(library: Path) -> None:
        sources = [str(path) for path in _sources() if path.suffix == ".cpp"]
        output_of([cxx, *_LIBRARY_OPTIONS, *sources, "-o", str(library)], "the compiler")
        if not library.is_file():
            raise UserError(
                f"the C++ compiler makes nothing: {cxx}",
                where="CXX" if os.environ.get("CXX") else None,
                hint="name one that knows C++17 in CXX, e.g. CXX=g++",
            )

    return cached(f"host-{_key(cxx)}.so", compile_library, folder)


def _sources() -> list[Path]:
    shared = HERE.parent / "protocol" / "agreement.hpp"
    return [INCLUDE / "gi_runtime.hpp", shared, *sorted((HERE / "src").iterdir())]


@once(maxsize=None)
def _key(compiler: str) -> str:
    digest = xxhash.xxh3_128()
    digest.update(" ".join([compiler, *_LIBRARY_OPTIONS]).encode())
    digest.update(version(compiler).encode())
    for path in _sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()


@once(maxsize=None)
def version(compiler: str) -> str:
    """What a compiler says that it is."""
    return output_of([compiler, "--version"], "the compiler")
