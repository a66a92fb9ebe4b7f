"""The repository of a source: its root folder, its sources and its headers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

_WORK_TREES = (".git", ".hg", ".svn")
_MARKS = ("LICENSE*", "LICENCE*", "COPYING*", "README*", "CMakeLists.txt", "[Mm]akefile", ".git*")
"""Names of files that mark a folder as part of a project."""
_HIGHEST = 8
"""Number of folders upward that are searched for such files."""
_MOST_FILES = 100_000
_NEAR = 1000
_SOURCES = {".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".cpp", ".cc", ".c", ".cxx"}


@dataclass(frozen=True)
class Repository:
    """The repository of a source.

    Attributes:
        root: its top folder.
    """

    root: Path

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        """Return sources and headers by file name."""
        found: dict[str, list[Path]] = {}
        count = 0
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            count += len(names)
            if count > _MOST_FILES:
                break
            for name in names:
                if PurePosixPath(name).suffix.lower() in _SOURCES or "." not in name:
                    found.setdefault(name, []).append(Path(folder) / name)
        return found

    def ending_in(self, name: str, near: Path) -> list[Path]:
        """Return the files whose path ends in the name of an include, the nearest to a folder
        first.

        A file is nearer if it shares more parent folders with `near`; ties go to the shorter path.
        """
        parts = tuple(part for part in PurePosixPath(name).parts if part not in ("..", "."))
        found = [f for f in self._files.get(parts[-1], ()) if f.parts[-len(parts) :] == parts]
        return sorted(found, key=lambda file: (-_common(file, near), len(file.parts), str(file)))

    def sources(self, near: Path) -> list[Path]:
        """Return sources and headers, the nearest to a folder first, 1000 at most."""
        found = [
            file
            for files in self._files.values()
            for file in files
            if file.suffix.lower() in _SOURCES
        ]
        return sorted(found, key=lambda file: (-_common(file, near), len(file.parts), file))[:_NEAR]

    def folders_up(self, folder: Path) -> Iterator[Path]:
        """Yield a folder of the repository and its parents up to the root."""
        for one in (folder, *folder.parents):
            yield one
            if one == self.root:
                break


def repository_of(source: Path) -> Repository:
    """Return the repository of a file.

    Its root is the work tree of git, Mercurial or Subversion. Without one, it is the highest of the
    nearest parent folders that looks like a project; otherwise the file's own folder.
    """
    folder = source.resolve().parent
    above = [folder, *folder.parents]
    for one in above:
        if any((one / mark).exists() for mark in _WORK_TREES):
            return Repository(one)
    homes = {Path.home(), Path.home().parent, Path("/")}
    root = folder
    for one in above[:_HIGHEST]:
        if one in homes or len(one.parts) < 3:
            break
        if any(next(one.glob(mark), None) for mark in _MARKS):
            root = one
    return Repository(root)


def _common(file: Path, folder: Path) -> int:
    """Return the number of leading folders that two paths share."""
    return len(Path(os.path.commonpath([file, folder])).parts)
