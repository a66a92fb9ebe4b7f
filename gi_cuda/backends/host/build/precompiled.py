"""Precompiled headers: parsing headers takes g++ half of the time of a small shard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import xxhash

from gi_cuda.backends.compile.caching.cache import cache_folder, cached
from gi_cuda.backends.compile.caching.single_flight import once
from gi_cuda.backends.compile.process import run, write_text
from gi_cuda.backends.host.build.library import INCLUDE, NVCC_MACROS, version
from gi_cuda.errors import UserError

_HEADER = "gi_cuda_host.hpp"

_LIMIT = 60.0
"""Seconds of wall time for compiling the headers."""

_KEPT = 64
"""Number of option sets for which precompiled headers are kept; 5 MB each."""

_APART = re.compile(r"-[IDl]|-Wl,|-shared")
"""Options that may differ from those of the precompiled headers: linkers' options; and macros,
since g++ parses the headers itself if they use a macro that differs."""


def headers_first(cxx: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return options, to be put first, with which a compiler finds precompiled headers.

    Empty if the compiler is not g++, or cannot do that. The code is the same. g++ searches
    precompiled headers along with headers, and silently ignores those that do not match its
    options.

    Args:
        cxx: path of the compiler.
        words: its other options.
    """
    deciding = [word for word in words if word in NVCC_MACROS or not _APART.match(word)]
    return _compiled(cxx, tuple(deciding))


@once(maxsize=16)
def _compiled(cxx: str, words: tuple[str, ...]) -> tuple[str, ...]:
    if "clang" in version(cxx):
        return ()

    def compile_headers(folder: Path) -> None:
        folder.mkdir()
        made = folder / f"{_HEADER}.gch"
        command = [cxx, *words, f"-I{INCLUDE}"]
        run([*command, "-x", "c++-header", "-o", made, INCLUDE / _HEADER], limit=_LIMIT)
        asks = folder / "asks.cpp"
        write_text(asks, f'#include "{_HEADER}"\n')
        command = [cxx, *words, "-w", "-Winvalid-pch", "-Werror", f"-I{folder}", f"-I{INCLUDE}"]
        if not run([*command, "-S", "-o", folder / "asks.s", asks], limit=_LIMIT).ok:
            made.unlink(missing_ok=True)
        for one in (asks, asks.with_suffix(".s")):
            one.unlink(missing_ok=True)

    asked = [cxx, "-E", "-x", "c++", *words, f"-I{INCLUDE}", str(INCLUDE / _HEADER)]
    text = run(asked, limit=_LIMIT).stdout
    # g++ identifies a header with `#pragma once` by its whole contents, comments included.
    sources = [path.read_text("utf-8") for path in sorted(INCLUDE.glob("*.hpp"))]
    told = "\0".join([cxx, version(cxx), *words, text, *sources])
    name = xxhash.xxh3_128_hexdigest(told.encode("utf-8", "surrogateescape"))
    try:
        made = cached(name, compile_headers, cache_folder() / "headers", _KEPT)
        return (f"-I{made}",)
    except UserError:
        return ()  # the cache cannot be written
