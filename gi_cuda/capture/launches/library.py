"""Compile the library that CUDA loads into an application, once per machine and toolkit."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import xxhash

from gi_cuda.backends.compile.caching.cache import cached, output_of
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.host.build.library import find_compiler
from gi_cuda.errors import UserError

SOURCE = Path(__file__).parents[1] / "inject" / "inject.cpp"
_INSTALL = "install CUDA's profiling interface: `pip install nvidia-cuda-cupti`, or the toolkit's"


def build_library(cache: Path | None = None) -> Path:
    """Return the path of the library; compile it if it is not in the cache.

    Args:
        cache: cache folder, by default the user's.

    Raises:
        UserError: CUDA's headers or CUPTI are missing, or the library does not compile with them.
    """
    include, library = _cupti()
    headers = _cuda_headers(include)
    compiler = str(find_compiler())

    def compile_library(path: Path) -> None:
        # CUDA loads the library only if it depends on the driver. The linker need not find the
        # driver, so an empty library with the driver's soname stands in for it.
        driver = path.with_name("libcuda.so.1")
        empty = path.with_name("empty.cpp")
        empty.write_text("")
        shared = [compiler, "-shared", "-fPIC", *_own_library(compiler)]
        output_of([*shared, "-Wl,-soname,libcuda.so.1", "-o", str(driver), str(empty)], compiler)
        command = [*shared, "-std=c++17", "-O2", f"-I{include}", f"-I{headers}", str(SOURCE)]
        command += ["-o", str(path), "-Wl,--no-as-needed", str(driver), str(library)]
        command.append(f"-Wl,-rpath,{library.parent}")
        output_of(command, compiler, "capturing needs CUDA 12.4 or later")

    digest = xxhash.xxh3_64()
    for file in sorted(SOURCE.parent.iterdir()):
        digest.update(file.read_bytes())
    for file in (library.resolve(), headers / "cuda.h"):
        digest.update(f"{file} {file.stat().st_mtime_ns}".encode())
    return cached(f"capture-{digest.hexdigest()}.so", compile_library, cache)


def _own_library(compiler: str) -> list[str]:
    """Return compiler options that link the C++ library statically, if a static one exists.

    The application's C++ library may be older or from another vendor.
    """
    name = "libstdc++.a"
    found = output_of([compiler, f"-print-file-name={name}"], compiler).strip()
    if found in ("", name):
        return []
    return ["-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL", "-Wl,-Bsymbolic"]


def header_folders() -> tuple[Path, Path]:
    """Return the folder of CUPTI's headers and the folder of the CUDA driver's header.

    Raises:
        UserError: headers are missing.
    """
    include, _ = _cupti()
    return include, _cuda_headers(include)


def _cupti() -> tuple[Path, Path]:
    """Return the folder of CUPTI's headers and the path of its library."""
    for root in _roots():
        for inner in ("", "extras/CUPTI", "targets/x86_64-linux", "targets/sbsa-linux"):
            header = root / inner / "include" / "cupti.h"
            for folder in ("lib64", "lib"):
                found = sorted((root / inner / folder).glob("libcupti.so*"))
                if found and header.is_file():
                    return header.parent, found[0]
    raise UserError("no CUPTI is found: neither cupti.h nor libcupti.so", hint=_INSTALL)


def _cuda_headers(cupti: Path) -> Path:
    """Return the folder of the CUDA driver's header, ``cuda.h``."""
    for folder in (cupti, *(root / "include" for root in _roots())):
        if (folder / "cuda.h").is_file():
            return folder
    raise UserError("no cuda.h is found", hint="install the CUDA toolkit, or see `gi-cuda doctor`")


def _roots() -> Iterator[Path]:
    """Yield folders in which CUDA toolkits, or CUDA packages of pip, are installed."""
    with suppress(UserError):
        yield find_toolkit().nvcc.resolve().parent.parent
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if folder := os.environ.get(variable):
            yield Path(folder)
    yield Path("/usr/local/cuda")
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(place).glob("cu[0-9]*"), reverse=True)
        yield Path(place) / "cuda_cupti"
        yield Path(place) / "cuda_runtime"
