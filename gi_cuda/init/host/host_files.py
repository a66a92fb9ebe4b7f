"""Find the files that launch a kernel: its source, headers, files in folders around."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar import read_source
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, KernelSource, of_source
from gi_cuda.init.host.host import HostCode, read_host_code
from gi_cuda.init.host.launch_calls import launch_calls

_SUFFIX = re.compile(r"\.(?:cuh?|cpp|cc|cxx|c|h|hpp|hh|hxx|inl)")
_HOUSE = re.compile(
    r"(?i)src|sources?|host|cuda|gpu|kernels?|include|inc|lib|apps?|main|drivers?|tests?"
    r"|bench(?:marks?)?|examples?|common|utils?|core"
)
"""Subfolders that are searched for launches, if no work tree bounds the project."""

_MOST_FILES = 400
_MOST_BYTES = 1 << 20
_MOST_HEADERS = 20
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)
_UP = 2
"""Number of folders, from that of the source upward, that are searched with their subfolders."""


def find_hosts(
    code: CudaFile, kernels: Sequence[KernelSource], given: Sequence[Path] = ()
) -> tuple[HostCode, ...]:
    """Return the files that launch some kernels; the source itself is always the first.

    Args:
        code: the source, with its headers.
        given: files to look at instead of a search.

    Raises:
        UserError: a file in `given` cannot be read, or launches none of the kernels.
    """
    own = read_host_code(code, code.around)
    if given:
        return (own, *(_given(code, kernels, path) for path in given))
    hosts = [own]
    hosts += [
        read_host_code(one, (code, *code.around))
        for one in code.around
        if any(_mentions(one.text, kernel) for kernel in kernels)
    ]
    if any(_launches(host, kernels) for host in hosts):
        return tuple(hosts)
    return (*hosts, *_around(code, kernels))


def _given(code: CudaFile, kernels: Sequence[KernelSource], path: Path) -> HostCode:
    host = _with_headers(path, code)
    if not _launches(host, kernels):
        names = ", ".join(kernel.definition.name for kernel in kernels)
        raise UserError(
            f"there is no launch of {names} in this file",
            where=str(path),
            hint="name the file that launches the kernel, or leave out --host",
        )
    return host


def _around(code: CudaFile, kernels: Sequence[KernelSource]) -> Iterator[HostCode]:
    """Yield the first file found around the source that launches one of the kernels."""
    for path in _candidates(code.path):
        try:
            text = path.read_text("utf-8", "surrogateescape")
        except OSError:
            continue
        if "\0" in text or not any(_mentions(text, kernel) for kernel in kernels):
            continue
        host = _with_headers(path, code)
        if not _defines(host.code, kernels) and _launches(host, kernels):
            yield host
            return


def _with_headers(path: Path, code: CudaFile) -> HostCode:
    """Parse another file's host code, with the headers beside it that it includes."""
    file = _read(path, code)
    found: dict[Path, CudaFile] = {}
    files = [file]
    while files and len(found) < _MOST_HEADERS:
        one = files.pop()
        for name in _INCLUDED.findall(one.text):
            header = (one.path.parent / name).resolve()
            if header not in found and header.is_file() and header != code.path.resolve():
                found[header] = _read(header, code)
                files.append(found[header])
    return read_host_code(file, (*found.values(), code, *code.around))


def _read(path: Path, code: CudaFile) -> CudaFile:
    """Parse a file, named relative to the folder of the source."""
    name = Path(os.path.relpath(path.resolve(), code.path.resolve().parent)).as_posix()
    return of_source(path, read_source(path, name))


def _mentions(text: str, kernel: KernelSource) -> bool:
    """Tell whether a text may launch a kernel, by a quick check of words."""
    name = re.escape(kernel.definition.name)
    return ("<<<" in text or "Launch" in text) and re.search(rf"\b{name}\b", text) is not None


def _launches(host: HostCode, kernels: Sequence[KernelSource]) -> bool:
    """Tell whether a file launches one of the kernels with the right number of arguments."""
    counts: dict[str, set[int]] = {}
    for kernel in kernels:
        counts.setdefault(kernel.definition.name, {0}).add(len(kernel.arguments))
    return any(len(call.arguments) in counts[name] for name, call in launch_calls(host, counts))


def _defines(code: CudaFile, kernels: Sequence[KernelSource]) -> bool:
    """Tell whether a file defines kernels of these names itself; its launches then mean these."""
    names = {kernel.definition.name for kernel in kernels}
    return any(one.kernel and one.name in names for one in code.definitions)


def _candidates(source: Path) -> Iterator[Path]:
    """Yield files that may belong to a source, the nearest first, 400 at most."""
    folder = source.resolve().parent
    root = next((f for f in (folder, *folder.parents) if (f / ".git").exists()), None)
    seen = {source.resolve()}
    left = _MOST_FILES
    above = [one for one in (folder, *folder.parents) if root is None or one.is_relative_to(root)]
    for index, one in enumerate(above[: _UP + (root is not None)]):
        for path in _files(one, every=root is not None or index == 0):
            if path in seen:
                continue
            seen.add(path)
            left -= 1
            if left < 0:
                return
            yield path


def _files(folder: Path, *, every: bool) -> Iterator[Path]:
    """Yield the sources in a folder, then in its subfolders.

    Args:
        every: search all subfolders instead of those with usual names for sources.
    """
    inner = []
    for path in _listed(folder):
        if path.is_dir():
            if not path.name.startswith(".") and (every or _HOUSE.fullmatch(path.name)):
                inner.append(path)
        elif _is_source(path):
            yield path
    for one in inner:
        yield from (path for path in _listed(one) if _is_source(path) and path.is_file())


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_source(path: Path) -> bool:
    try:
        return _SUFFIX.fullmatch(path.suffix) is not None and path.stat().st_size <= _MOST_BYTES
    except OSError:
        return False
