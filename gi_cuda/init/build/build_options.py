"""Compiler options found in build files, reduced to those that targets need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_DEFINITION = re.compile(r"(?:-D)?([A-Za-z_]\w*)(?:=([\w.+-]*))?")
_STANDARD = re.compile(r"(?:c|gnu)\+\+(\d\d)")
_OLDEST = 17
"""The C++ standard that nvcc uses by default; older ones are raised to it."""


FAST_MATH = "-use_fast_math"
_OF_NVCC = re.compile(
    r"(?<![\w-])--?(use_fast_math|expt-relaxed-constexpr|(?:expt-)?extended-lambda)\b"
)
_NVCC = {"use_fast_math": FAST_MATH, "expt-relaxed-constexpr": "--expt-relaxed-constexpr"}
_LAMBDA = "--extended-lambda"


@dataclass(frozen=True, slots=True)
class Said:
    """An option in a build file.

    Attributes:
        option: ``-I``, ``-D``, ``-std``, or ``nvcc``.
        value: the folder, the definition, the standard, or an option of nvcc without a value.
        place: file and line.
    """

    option: str
    value: str
    place: str


def is_toolkit(folder: Path) -> bool:
    """Tell whether a folder has the headers of CUDA; each back end brings its own copy of these."""
    return (folder / "cuda_runtime_api.h").is_file()


def is_newer_standard(value: str) -> bool:
    """Tell whether a C++ standard is newer than nvcc's default: ``c++20``, not ``c++98``."""
    match = _STANDARD.fullmatch(value)
    return match is not None and _OLDEST < int(match[1]) < 90


def option_said(option: str, value: str, folder: Path, place: str) -> Iterator[Said]:
    """Yield an option, if targets need it.

    Args:
        option, value: as in the build file.
        folder: the folder that relative paths start from.
        place: file and line.
    """
    if option in ("-I", "-isystem"):
        found = (folder / value.strip()).resolve()
        if value.strip() and found.is_dir() and not is_toolkit(found):
            yield Said("-I", str(found), place)
    elif option == "-D":
        if _DEFINITION.fullmatch(value):
            yield Said("-D", value, place)
    elif is_newer_standard(value):
        yield Said("-std", value, place)


def of_nvcc(text: str) -> list[tuple[int, str]]:
    """Return the nvcc options in a text that change whether sources compile or what they compute.

    Returns:
        The offset of each option in the text, and its canonical spelling.
    """
    return [(one.start(), _NVCC.get(one[1], _LAMBDA)) for one in _OF_NVCC.finditer(text)]


def text_of(path: Path) -> str:
    """Return the text of a build file; "" if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def line_at(text: str, at: int) -> int:
    """Return the line number, from 1, of an offset in a text."""
    return text.count("\n", 0, at) + 1
