"""Find the source file that defines a kernel of a program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gi_cuda.capture.mangling import KernelName
from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.declarations.file import kernels, read_cuda_file
from gi_cuda.init.build.repository import repository_of

_WORD = re.compile(r"\w+|\*")
_COMPILED = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c"})


def find_files(name: KernelName, folder: Path, program: Path | None) -> list[Path]:
    """Find the files of a folder's repository that define a kernel, the most likely file first.

    Files in the folder come before others, then compiled files before headers, then files with the
    program's name.

    Raises:
        UserError: no file defines the kernel.
    """
    found = list(_defining(name, repository_of(folder / "any").sources(folder)))
    if not found:
        raise UserError(
            f"no source that defines {name.plain} is found here",
            where=str(folder),
            hint="say which file it is in: --source FILE",
        )
    own = "" if program is None else program.stem
    return sorted(
        found,
        key=lambda path: (
            not path.is_relative_to(folder),
            path.suffix not in _COMPILED,
            path.stem != own,
        ),
    )


def launched_from(name: KernelName, header: Path) -> Path | None:
    """Return the file that includes a header and launches the kernel that the header defines.

    With this file, launches can be changed as well. The result is None unless exactly one file
    launches the kernel.
    """
    included = re.compile(
        rf'^[ \t]*#[ \t]*include[ \t]*["<][^">]*{re.escape(header.name)}[">]', re.M
    )
    own = re.escape(name.plain.rpartition("::")[2])
    launch = re.compile(rf"\b{own}\s*(?:<[^;{{}}]*?>\s*)?<<<")
    found = []
    for path in repository_of(header).sources(header.parent):
        text = path.read_text(encoding="utf-8", errors="replace")
        if launch.search(text):
            found.append((path, included.search(text) is not None))
    if len(found) != 1:
        return None
    ((path, includes),) = found
    return path if includes and path.suffix in _COMPILED else None


def defined_as(name: KernelName, source: Path, shown: Sequence[str]) -> str:
    """Return a kernel's name in the notation that the reader of CUDA sources uses.

    Args:
        name: the kernel.
        source: the source file.
        shown: names of the kernels that the source defines.

    Raises:
        UserError: the source does not define the kernel.
    """
    meant = [one for one in shown if one.partition("(")[0].partition("<")[0] == name.plain]
    if len(meant) > 1:
        spaces = re.compile(r"\s+")
        types = spaces.sub("", name.whole.partition("(")[2])
        meant = [one for one in meant if spaces.sub("", one.partition("(")[2]) == types] or meant[
            :1
        ]
    if not meant:
        others = ", ".join(shown) or "none"
        raise UserError(
            f"the kernel {name.plain} of the program is not in this source",
            where=str(source),
            hint=f"its kernels: {others}; name the file that has it: --source FILE",
        )
    return meant[0]


def check_age(name: KernelName, source: Path, program: Path | None) -> None:
    """Check that a source was not changed after the program was built from it.

    Raises:
        UserError: it was changed.
    """
    if program is None or name.mangled.encode() not in program.read_bytes():
        return  # the kernel is in a library
    if source.stat().st_mtime > program.stat().st_mtime:
        raise UserError(
            f"it was changed after {program.name} was built",
            where=str(source),
            hint=f"build the program again; if the change is no matter, `touch {program}`",
        )


def _defining(name: KernelName, files: Sequence[Path]) -> Iterator[Path]:
    own = name.plain.rpartition("::")[2]
    pattern = re.compile(rf"__global__[^;{{}}]*\b{re.escape(own)}\s*\(")
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        if pattern.search(text) is None:
            continue
        read = [one.shown.partition("(")[0] for one in kernels(read_cuda_file(path))]
        if name.plain in read:
            yield path
