"""The include graph of a source: read its files, and follow their includes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.text.includes import Include, IncludingText
from gi_cuda.grammar.source import SourceLine, of_text, read_source

UNCHANGED: Mapping[Path, str] = MappingProxyType({})

COMPILED = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c"})
"""Suffixes of files that are compiled directly, not included."""


@dataclass(frozen=True, eq=False)
class File:
    """A file that was read.

    Attributes:
        path: path of the file, with links resolved.
        name: path of the file relative to the main file's folder.
        read: text of the file, with its includes.
    """

    path: Path
    name: str
    read: IncludingText

    @property
    def text(self) -> str:
        return self.read.text


class Reader:
    """Reads each file once, and resolves includes to files."""

    def __init__(
        self, main: Path, include: tuple[Path, ...], changed: Mapping[Path, str] = UNCHANGED
    ) -> None:
        self._folder = main.resolve().parent
        self._changed = {path.resolve(): text for path, text in changed.items()}
        self._include = include
        self._files: dict[Path, File] = {}
        self.marked: frozenset[str] = frozenset()
        """Names of the files that begin with a byte order mark."""
        self.main = self.read(main, main.name)

    def read(self, path: Path, name: str | None = None) -> File:
        """Return the file at a path, reading it if necessary."""
        real = path.resolve()
        found = self._files.get(real)
        if found is None:
            shown = name or Path(os.path.relpath(real, self._folder)).as_posix()
            text = self._changed.get(real)
            source = read_source(path, shown) if text is None else of_text(shown, text)
            self.marked |= source.marked
            found = File(real, shown, IncludingText(source.text))
            self._files[real] = found
        return found

    def included(self, file: File) -> Iterator[tuple[Include, File | None]]:
        """Yield a file's includes, each with the included file; None if that cannot be read."""
        for include in file.read.includes:
            own = (file.path.parent,) if include.quoted else ()
            paths = (folder / include.name for folder in (*own, *self._include, self._folder))
            found = next((path for path in paths if path.is_file()), None)
            try:
                yield include, None if found is None else self.read(found)
            except UserError:
                yield include, None


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A place at which a header is included.

    Attributes:
        file: the including file.
        include: the include line.
        conditions: file and presence region of each condition around the line.
    """

    file: File
    include: Include
    conditions: frozenset[tuple[str, int]]

    @property
    def place(self) -> SourceLine:
        return SourceLine(self.file.name, self.include.line)


class Walk:
    """Follows the includes from the main file through the chosen headers, as a compiler would.

    A chosen source file that no file includes is linked: its text comes behind the main file's.
    """

    def __init__(self, reader: Reader, chosen: Sequence[File]) -> None:
        self.reader = reader
        self.chosen = frozenset(chosen)
        self.inclusions: dict[File, list[Inclusion]] = {}
        self.others: dict[File, None] = {}
        """Files that stay includes."""
        self.linked: list[File] = []
        self._visit(reader.main, frozenset())
        for file in chosen:
            if file.path.suffix in COMPILED and file not in self.inclusions:
                self.linked.append(file)
                self._visit(file, frozenset())

    def _visit(self, file: File, around: frozenset[tuple[str, int]]) -> None:
        for include, target in self.reader.included(file):
            if target is None:
                continue
            if target not in self.chosen:
                self.others.setdefault(target)
                continue
            regions = file.read.conditions(include.region)
            conditions = around | {(file.name, region) for region in regions}
            known = self.inclusions.setdefault(target, [])
            known.append(Inclusion(file, include, conditions))
            if len(known) == 1:
                self._visit(target, conditions)

    def behind(self, file: File) -> Iterator[tuple[File, Include, File]]:
        """Yield all includes in a file that stays an include, and in the files it includes."""
        seen, frontier = {file}, [file]
        while frontier:
            one = frontier.pop()
            for include, target in self.reader.included(one):
                if target is not None:
                    yield one, include, target
                    if target not in seen and target not in self.chosen:
                        seen.add(target)
                        frontier.append(target)
