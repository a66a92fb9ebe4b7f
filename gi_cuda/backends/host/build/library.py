"""Find the C++ compiler, its options for shards, and build the runtime library once per machine."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import xxhash

from gi_cuda.backends.compile.caching.cache import cached, output_of
from gi_cuda.backends.compile.caching.single_flight import once
from gi_cuda.backends.compile.process import run
from gi_cuda.errors import UserError

HERE = Path(__file__).parents[1]

INCLUDE = HERE / "include"
"""Folder of ``gi_cuda_host.hpp``."""

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
"""Macros as nvcc defines them for device code of compute capability 8.0, and ``GI_HOST``, which
tells sources that the compiler is not nvcc."""

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
"""The same macros for other CUDA versions: for the oldest and the newest device, and one in
between."""

_COMMON_OPTIONS = (
    "-std=c++17",
    "-fPIC",
    "-shared",
    "-w",
    "-fno-exceptions",
    "-fno-rtti",
    # Hidden names keep shards apart, and allow unloading them.
    "-fvisibility=hidden",
    # The alignment of a variant's code must not depend on the rest of its batch.
    "-falign-functions=64",
    # Behaviour that a device defines, and that edits provoke, must not be undefined here.
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-finite-loops",
    "-fno-delete-null-pointer-checks",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-stack-protector",
    # Threads of a device are not vectorised, and nothing here unwinds a stack.
    "-fno-tree-vectorize",
    "-fno-asynchronous-unwind-tables",
)

COMPILE_OPTIONS = (
    *_COMMON_OPTIONS,
    # The code itself must not depend on the batch either: only marked functions are merged (see
    # `common`), and variants share no budget for inlining.
    "-fipa-icf-functions",
    "-fno-ipa-icf-variables",
    "--param=inline-unit-growth=1000000",
    "--param=ipa-cp-unit-growth=1000000",
)
"""Options of g++ for shards of kernels, to which ``-O1`` or ``-O2`` and the include path are
added."""

_POISONED_LOCALS = "-ftrivial-auto-var-init=pattern"
"""Option that fills unset locals with 0xFE bytes, instead of zeros or an earlier thread's values.
The code for locals that are set stays the same."""

ZEROED_LOCALS = "-ftrivial-auto-var-init=zero"
"""Option that fills unset locals with zeros; it overrides the other one."""

_POISON = re.compile(
    r"(?<![\w.])-?(?:16843010|4278124286|72340172838076674|18374403900871474942)\b"
    r"|(?:\t\.byte\t-2\n){4,}"
    r"|\tmovl\t\$254, %esi\n(?=(?:[^\n]*\n){0,3}?\tcall\tmemset)"
)
"""The poison in g++'s assembly: as a number of 4 or 8 bytes, byte by byte, and for ``memset``."""

_LIBRARY_OPTIONS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-shared",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
    # Outputs are judged by sums that have to be rounded as numpy's are.
    "-ffp-contract=off",
)


def find_compiler() -> str:
    """Return the path of the C++ compiler: ``$CXX``, else ``g++``, else ``clang++``.

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
    """Return the members of :data:`COMPILE_OPTIONS` that a compiler knows.

    They include poison for unset locals if the compiler supports that.
    """
    options = _COMMON_OPTIONS if "clang" in version(compiler) else COMPILE_OPTIONS
    return (*options, _POISONED_LOCALS) if poisons_locals(compiler) else options


@once(maxsize=None)
def poisons_locals(compiler: str) -> bool:
    """Tell whether a compiler can poison locals: g++ can since version 12."""
    command = [compiler, _POISONED_LOCALS, "-x", "c++", "-fsyntax-only", "-"]
    return run(command, limit=20.0, stdin="").ok


def with_large_locals(assembly: str) -> str:
    """Replace the poison in g++'s assembly by 0x7F bytes: 3.4e38 as a float instead of -1.7e38.

    Locals of one or two bytes keep the poison.
    """
    return _POISON.sub(_enlarged, assembly)


def _enlarged(poison: re.Match[str]) -> str:
    said = poison[0]
    if said.startswith("\t"):
        return said.replace("-2\n", "127\n").replace("$254", "$127")
    return str(0x7F7F7F7F if len(said) < 12 else 0x7F7F7F7F7F7F7F7F)


def build_library(compiler: str | None = None, folder: Path | None = None) -> Path:
    """Return the path of the runtime library. Compile it if the cache does not have it.

    Its name contains a hash of the sources, the options and the compiler's version.

    Args:
        compiler: see :func:`find_compiler`.
        folder: folder for the library, by default the user's cache folder.

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
    """Return the version output of a compiler."""
    return output_of([compiler, "--version"], "the compiler")
