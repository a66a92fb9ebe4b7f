"""Read compiler options from the Makefiles of a folder.

The files are parsed as text, taking their conditions into account. Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gi_cuda.init.build.build_options import Said, line_at, of_nvcc, option_said, text_of
from gi_cuda.init.build.build_variables import expanded
from gi_cuda.init.build.make_conditions import counting

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile", "*.mk", "*.mak")
_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[:?+]{0,2}=[ \t]*(.*)$", re.M)
_OPTION = re.compile(
    r"""(?<![\w-])(?:-I|-isystem|-D|--?std=)\s*
        (?:"[^"\n]*"|'[^'\n]*'|(?:\$\([\w.-]+\)|[^\s"';|&)])+)""",
    re.VERBOSE,
)
_CONTINUED = "\v"
"""White space in the place of a line end that a backslash continues."""
_PARTS = re.compile(r"(-I|-isystem|-D|--?std=)\s*[\"']?([^\"']*)")


def of_makefiles(folder: Path) -> Iterator[Said]:
    """Yield the options in the Makefiles of a folder."""
    files = sorted({file for name in _MAKEFILES for file in folder.glob(name) if file.is_file()})
    texts = {file: _joined(_without_comments(text_of(file))) for file in files}
    here = {"CURDIR": str(folder), "PWD": str(folder)}
    texts = {file: counting(text) for file, text in texts.items()}
    variables = _assigned(texts.values(), here)
    for file, text in texts.items():
        for at, option in of_nvcc(text):
            yield Said("nvcc", option, f"{file}:{_line_at(text, at)}")
        for match in _OPTION.finditer(text):
            part = _PARTS.match(match[0])
            value = None if part is None else expanded(part[2], variables)
            # A quoted macro value is not parsed; skip the macro instead of defining it as empty.
            cut = match[0].endswith("=") and text[match.end() :].startswith(("'", '"'))
            if part is not None and value is not None and not cut:
                place = f"{file}:{_line_at(text, match.start())}"
                yield from option_said(part[1], value, folder, place)


def _assigned(texts: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return the first value of each variable, and the known variables."""
    variables = dict(known)
    for text in texts:
        for name, value in _ASSIGNED.findall(text):
            variables.setdefault(name, value.strip())
    return variables


def _joined(text: str) -> str:
    """Join continued lines."""
    return re.sub(r"\\\r?\n", f" {_CONTINUED}", text)


def _line_at(text: str, at: int) -> int:
    """Return the line number, from 1, of an offset in a text with joined lines."""
    return line_at(text, at) + text.count(_CONTINUED, 0, at)


def _without_comments(text: str) -> str:
    return re.sub(r"(?m)(?<!\\)#.*$", "", text)
