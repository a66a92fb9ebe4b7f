"""Names that device code may use: of CUDA, of C and C++, and of the host runtime's headers.

A kernel on the host runs in an ordinary process, which has ``getenv`` and ``fopen``. No device has
these functions, so code that calls them is no device code.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from gi_cuda.backends.host.build.library import INCLUDE, NVCC_MACROS

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_OWN: Final = re.compile(r"\b(?:gi|GI)_\w+")

_MATHEMATICS: Final = ("gi_math.hpp", "gi_special.hpp")
"""Headers that declare CUDA's mathematical functions."""

_RUNTIME: Final = "gi_runtime.hpp"
_FOR_HOST: Final = "// For the host."
"""Comment in the runtime's header; functions after it are not for kernels."""

_LANGUAGE: Final = re.compile(
    # CUDA documents these for device code; compilers make the others of them, or of plain loops.
    r"[mc]alloc|free|v?printf|puts|putchar|mem(?:cpy|move|set|cmp)|bcmp|strlen|rawmemchr"
    r"|__assert_fail|__cxa_pure_virtual|_GLOBAL_OFFSET_TABLE_"
    r"|_Z(?:n[wa]|d[la])\w+"  # operators new and delete
    r"|_ZSt\d+__throw_\w+"
    r"|__[a-z]+?(?:[hsdtxqo][fic]){1,2}\d?"  # arithmetic in software, e.g. __popcountdi2
    r"|c(?:abs|arg|exp|log|log10|pow|proj|sqrt|a?(?:sin|cos|tan)h?)[fl]?"  # of complex numbers
)


def is_device_name(symbol: str) -> bool:
    """Tell whether device code may use a symbol, given as object files name it."""
    if _LANGUAGE.fullmatch(symbol) or symbol in _runtime_names():
        return True
    return not _mathematics().isdisjoint((symbol, symbol.removesuffix("f")))


@cache
def _mathematics() -> frozenset[str]:
    return frozenset(_WORD.findall("".join(map(_code, _MATHEMATICS))))


@cache
def _runtime_names() -> frozenset[str]:
    """Return names of the runtime that its headers use in kernels."""
    _, _, host = _text(_RUNTIME).partition(_FOR_HOST)
    return emulator_names() - frozenset(_OWN.findall(host.partition("#pragma")[0]))


@cache
def emulator_names() -> frozenset[str]:
    """Return names that only the host runtime's headers define: CUDA sources do not use them."""
    files = [path for path in INCLUDE.rglob("*") if path.is_file()]
    texts = [path.read_text(encoding="utf-8") for path in files]
    texts += [option.removeprefix("-D") for option in NVCC_MACROS]
    return frozenset(_OWN.findall(" ".join([*texts, *(path.stem for path in files)])))


def _text(header: str) -> str:
    return (INCLUDE / header).read_text(encoding="utf-8")


def _code(header: str) -> str:
    return _COMMENT.sub(" ", _text(header))
