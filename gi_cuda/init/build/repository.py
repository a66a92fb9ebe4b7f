"""The repository that a source lies in: where it begins, and which of its files may be meant."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

_WORK_TREES = (".git", ".hg", ".svn")
_MARKS = ("LICENSE*", "LICENCE*", "COPYING*", "README*", "CMakeLists.txt", "[Mm]akefile", ".git*")
"""What tells the folders of a project from those that projects lie in."""
_HIGHEST = 8
"""Folders that are looked at upward for such marks."""
_MOST_FILES = 100_000
_NEAR = 1000
_SOURCES = {".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".cpp", ".cc", ".c", ".cxx"}


@dataclass(frozen=True)
class Repository:
    """A source's repository.

    Attributes:
        root: its top folder.
    """

    root: Path

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        """Its sources and headers by their last name."""
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
        """Files whose path ends in the name of an include, the nearest to a folder first.

        Nearest is what has most folders in common with it, then what lies least deep.
        """
        parts = tuple(part for part in PurePosixPath(name).parts if part not in ("..", "."))
        found = [f for f in self._files.get(parts[-1], ()) if f.parts[-len(parts) :] == parts]
        return sorted(found, key=lambda file: (-_common(file, near), len(file.parts), str(file)))

    def sources(self, near: Path) -> list[Path]:
        """Its sources and headers, some hundred at most, the nearest to a folder first."""
        found = [
            file
            for files in self._files.values()
            for file in files
            if file.suffix.lower() in _SOURCES
        ]
        return sorted(found, key=lambda file: (-_common(file, near), len(file.parts), file))[:_NEAR]

    def folders_up(self, folder: Path) -> Iterator[Path]:
        """A folder of it, and those above it up to its root."""
        for one in (folder, *folder.parents):
            yield one
            if one == self.root:
                break


def repository_of(source: Path) -> Repository:
    """The work tree that a file is in; without one, the highest folder above it that looks like a
    project's; else its own folder."""
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
    """How many folders, from the top, two places have in common."""
    return len(Path(os.path.commonpath([file, folder])).parts)
