"""Options of compilers that build files say, and which of them matter here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_DEFINITION = re.compile(r"(?:-D)?([A-Za-z_]\w*)(?:=([\w.+-]*))?")
_STANDARD = re.compile(r"(?:c|gnu)\+\+(\d\d)")
_OLDEST = 17
"""The C++ that nvcc takes without being told; what asks for an older one is compiled as this."""


FAST_MATH = "-use_fast_math"
_OF_NVCC = re.compile(
    r"(?<![\w-])--?(use_fast_math|expt-relaxed-constexpr|(?:expt-)?extended-lambda)\b"
)
_NVCC = {"use_fast_math": FAST_MATH, "expt-relaxed-constexpr": "--expt-relaxed-constexpr"}
_LAMBDA = "--extended-lambda"


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a build file says.

    Attributes:
        option: ``-I``, ``-D``, ``-std``, or ``nvcc``.
        value: the folder, the definition, the standard, or an option of nvcc without a value.
        place: file and line.
    """

    option: str
    value: str
    place: str


def is_toolkit(folder: Path) -> bool:
    """Whether a folder has the headers of CUDA itself, of which each back end has its own."""
    return (folder / "cuda_runtime_api.h").is_file()


def option_said(option: str, value: str, folder: Path, place: str) -> Iterator[Said]:
    """An option, if it matters.

    Args:
        option, value: as the build file has them.
        folder: that paths begin in.
        place: file and line.
    """
    if option in ("-I", "-isystem"):
        found = (folder / value.strip()).resolve()
        if value.strip() and found.is_dir() and not is_toolkit(found):
            yield Said("-I", str(found), place)
    elif option == "-D":
        if _DEFINITION.fullmatch(value):
            yield Said("-D", value, place)
    elif (match := _STANDARD.fullmatch(value)) and _OLDEST < int(match[1]) < 90:
        yield Said("-std", value, place)


def of_nvcc(text: str) -> list[tuple[int, str]]:
    """The options of nvcc in a text without which some sources do not compile, or compute another
    thing: where each stands, and as it is written here."""
    return [(one.start(), _NVCC.get(one[1], _LAMBDA)) for one in _OF_NVCC.finditer(text)]


def text_of(path: Path) -> str:
    """The text of a build file; "" where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def line_at(text: str, at: int) -> int:
    """The number of a line, from 1."""
    return text.count("\n", 0, at) + 1
