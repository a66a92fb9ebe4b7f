"""A source of several files: a CUDA file, and headers that evolve with it, as one text.

The text of such a header stands where it is first included, behind the include line itself:

    #include "detail/device.cuh"
    #line 1 "detail/device.cuh"
    ... all of the header ...
    #line 4 "kernel.cu"

So any compiler names the right file and line. An include with a ``#line`` directly behind it is
done with: its header's text follows, or (where a guarded header is included once more) has come
before, or it follows under a name that is found from the main file's folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.includes import Include, IncludingText
from gi_cuda.grammar.source import FileSpan, Source, SourceLine, of_text, read_source

UNCHANGED: Mapping[Path, str] = MappingProxyType({})

_PLAIN_NAME = re.compile(r"[^\s<>@\"\\]+")


@dataclass(frozen=True, slots=True)
class KeptInclude:
    """A header that was asked for and stays an include: where it stands, and why it stays."""

    header: str
    place: SourceLine | None
    reason: str


@dataclass(frozen=True, slots=True)
class Joined:
    """A source with its headers' text in place, and the headers for which that could not be."""

    source: Source
    kept: tuple[KeptInclude, ...] = ()


def read_files(
    main: Path,
    headers: Sequence[Path] = (),
    include: Sequence[Path] = (),
    changed: Mapping[Path, str] = UNCHANGED,
) -> Joined:
    """Read a source and put the text of headers where they are included.

    A header stays an include where it would not mean the same in place: it is included twice and
    has no guard, a first inclusion is conditional and a later one is not, or its text is cut from
    the middle of something.

    Args:
        main: the CUDA file.
        headers: files that it includes, itself or through others of them.
        include: the folders in which includes are looked up.
        changed: what counts as the text of files, by their paths, in place of what is on disk.

    Raises:
        UserError: a file cannot be read or is not text; a header is not included by the source; a
            file that is not among the headers includes one of them.
    """
    reader = _Reader(main, tuple(include), changed)
    wanted = {reader.read(header): None for header in headers}
    return _joined(reader, wanted, _Strict(reader))


@dataclass(frozen=True)
class Tree:
    """All files of a source's own tree that it includes, itself or through others of them.

    Attributes:
        joined: the source with all of them in place that can be.
        includers: by name of a file, the names of those that include it.
        paths: by name, where a file is.
    """

    joined: Joined
    includers: Mapping[str, frozenset[str]]
    paths: Mapping[str, Path]


def read_tree(main: Path, include: Sequence[Path], belongs: Callable[[Path], bool]) -> Tree:
    """Read a source with every header for which ``belongs`` holds.

    Raises:
        UserError: a file cannot be read or is not text.
    """
    reader = _Reader(main, tuple(include))
    includers: dict[_File, set[str]] = {}
    frontier = [reader.main]
    while frontier:
        file = frontier.pop()
        for _, target in reader.included(file):
            if target is not None and target is not reader.main and belongs(target.path):
                if target not in includers:
                    frontier.append(target)
                includers.setdefault(target, set()).add(file.name)
    return Tree(
        _joined(reader, dict.fromkeys(includers), _Lenient()),
        {file.name: frozenset(names) for file, names in includers.items()},
        {file.name: file.path for file in (reader.main, *includers)},
    )


def _joined(reader: _Reader, wanted: Mapping[_File, None], policy: _Strict | _Lenient) -> Joined:
    kept: dict[_File, KeptInclude] = {}
    while True:
        walk = _Walk(reader, frozenset(wanted) - kept.keys())
        refused = next(_refusals(walk, wanted, kept, policy), None)
        if refused is None:
            break
        kept[refused[0]] = refused[1]
    writer = _Writer(reader, walk)
    writer.write(reader.main)
    parts = tuple(writer.parts)
    marked = reader.marked & {part.file for part in parts}
    text, beside = "".join(writer.pieces), tuple(_beside(reader, walk))
    source = Source(reader.main.name, text, parts if wanted else (), marked, beside)
    return Joined(source, tuple(kept.values()))


@dataclass(frozen=True, eq=False)
class _File:
    """A file that was read.

    Attributes:
        path: where it is, all links followed.
        name: its path from the main file's folder.
    """

    path: Path
    name: str
    read: IncludingText

    @property
    def text(self) -> str:
        return self.read.text


class _Reader:
    """Reads files once each, and finds what their includes mean."""

    def __init__(
        self, main: Path, include: tuple[Path, ...], changed: Mapping[Path, str] = UNCHANGED
    ) -> None:
        self._folder = main.resolve().parent
        self._changed = {path.resolve(): text for path, text in changed.items()}
        self._include = include
        self._files: dict[Path, _File] = {}
        self.marked: frozenset[str] = frozenset()
        """Names of the files that begin with a byte order mark."""
        self.main = self.read(main, main.name)

    def read(self, path: Path, name: str | None = None) -> _File:
        """The file at a path."""
        real = path.resolve()
        found = self._files.get(real)
        if found is None:
            shown = name or Path(os.path.relpath(real, self._folder)).as_posix()
            text = self._changed.get(real)
            source = read_source(path, shown) if text is None else of_text(shown, text)
            self.marked |= source.marked
            found = _File(real, shown, IncludingText(source.text))
            self._files[real] = found
        return found

    def included(self, file: _File) -> Iterator[tuple[Include, _File | None]]:
        """A file's includes, each with what it means; None for one that cannot be read."""
        for include in file.read.includes:
            own = (file.path.parent,) if include.quoted else ()
            paths = (folder / include.name for folder in (*own, *self._include, self._folder))
            found = next((path for path in paths if path.is_file()), None)
            try:
                yield include, None if found is None else self.read(found)
            except UserError:
                yield include, None


@dataclass(frozen=True, slots=True)
class _Inclusion:
    """One place at which a header is included; its conditions are (file, region) around it."""

    file: _File
    include: Include
    conditions: frozenset[tuple[str, int]]

    @property
    def place(self) -> SourceLine:
        return SourceLine(self.file.name, self.include.line)


class _Walk:
    """Follows the includes from the main file through the headers chosen, as a compiler would."""

    def __init__(self, reader: _Reader, chosen: frozenset[_File]) -> None:
        self.reader = reader
        self.chosen = chosen
        self.inclusions: dict[_File, list[_Inclusion]] = {}
        self.others: dict[_File, None] = {}
        """Files that stay includes."""
        self._visit(reader.main, frozenset())

    def _visit(self, file: _File, around: frozenset[tuple[str, int]]) -> None:
        for include, target in self.reader.included(file):
            if target is None:
                continue
            if target not in self.chosen:
                self.others.setdefault(target)
                continue
            regions = file.read.conditions(include.region)
            conditions = around | {(file.name, region) for region in regions}
            known = self.inclusions.setdefault(target, [])
            known.append(_Inclusion(file, include, conditions))
            if len(known) == 1:
                self._visit(target, conditions)

    def behind(self, file: _File) -> Iterator[tuple[_File, Include, _File]]:
        """All includes in a file that stays one, and in what it includes."""
        seen, frontier = {file}, [file]
        while frontier:
            one = frontier.pop()
            for include, target in self.reader.included(one):
                if target is not None:
                    yield one, include, target
                    if target not in seen and target not in self.chosen:
                        seen.add(target)
                        frontier.append(target)


class _Lenient:
    """What the user did not ask for simply stays an include."""

    def shared(self, header: _File, other: _File, place: SourceLine) -> None:
        """A file that is none of the headers includes one of them."""

    def not_included(self, header: _File, others: Iterable[_File]) -> None:
        """No file includes a header."""


@dataclass(frozen=True)
class _Strict:
    """What the user can mend is an error."""

    reader: _Reader

    def shared(self, header: _File, other: _File, place: SourceLine) -> None:
        raise UserError(
            f"{header.name} cannot evolve: {other.name} includes it as well",
            where=str(place),
            hint=f"put {other.name} among the headers, too, or leave {header.name} out",
        )

    def not_included(self, header: _File, others: Iterable[_File]) -> None:
        known = ", ".join(file.name for file in others) or "none"
        raise UserError(
            f"{self.reader.main.name} does not include {header.name}",
            where=str(header.path),
            hint="headers are files that the source includes, itself or through other headers"
            f" listed; those that it includes and that are found: {known}",
        )


def _refusals(
    walk: _Walk,
    wanted: Mapping[_File, None],
    kept: Mapping[_File, KeptInclude],
    policy: _Strict | _Lenient,
) -> Iterator[tuple[_File, KeptInclude]]:
    """Headers whose text cannot be put in place, and why.

    Raises:
        UserError: as the policy has it, for what the user can mend.
    """
    for other in walk.others:
        for file, include, target in walk.behind(other):
            if target in walk.chosen:
                place = SourceLine(file.name, include.line)
                if other not in wanted:
                    policy.shared(target, other, place)
                yield (
                    target,
                    KeptInclude(target.name, place, f"{other.name} stays an include as well"),
                )
    for header in wanted:
        if header in walk.chosen:
            found = walk.inclusions.get(header, [])
            if not found:
                if not kept:
                    policy.not_included(header, walk.others)
                yield (
                    header,
                    KeptInclude(header.name, None, "no file whose text is in place includes it"),
                )
            elif reason := _reason(header, found):
                yield header, KeptInclude(header.name, found[0].place, reason)


def _reason(header: _File, inclusions: Sequence[_Inclusion]) -> str | None:
    """Why a header's text cannot stand at the first of its inclusions, for all of them."""
    first, *later = inclusions
    if not _PLAIN_NAME.fullmatch(header.name):
        return "its path has white space, quotes, '<', '>' or '@' in it"
    if not first.file.read.is_between_declarations(first.include.start):
        return "it is included in the middle of something"
    if not header.read.is_made_of_declarations:
        return "its text is not a sequence of whole declarations"
    if later and header.read.guard is None:
        return f"{later[0].place} includes it again, and it has no include guard"
    for one in later:
        if not first.conditions <= one.conditions:
            return f"{one.place} includes it again, under other conditions"
    return None


_MOST_BESIDE = 2_000_000
"""Characters of headers that are read for what they define; a toolkit's own are many times that."""


def _beside(reader: _Reader, walk: _Walk) -> Iterator[str]:
    """The texts of headers that stay includes, each behind those that it includes."""
    seen = set(walk.chosen)
    length = 0
    stack = [(file, False) for file in reversed(walk.others)]
    while stack:
        file, entered = stack.pop()
        if entered:
            yield file.text
        elif file not in seen and length < _MOST_BESIDE:
            seen.add(file)
            length += len(file.text)
            stack.append((file, True))
            inner = [target for _, target in reader.included(file) if target is not None]
            stack += [(target, False) for target in reversed(inner)]


@dataclass(eq=False)
class _Writer:
    """Writes files one into the other."""

    reader: _Reader
    walk: _Walk
    pieces: list[str] = field(default_factory=list)
    parts: list[FileSpan] = field(default_factory=list)
    _length: int = 0
    _written: set[_File] = field(default_factory=set)

    def write(self, file: _File) -> None:
        """Write a file with what is included in it."""
        self._written.add(file)
        at, line = 0, 1
        for include, target in self.reader.included(file):
            follows = self._following(file, include, target)
            if follows is None:
                continue
            self._part(file, line, file.text[at : include.end])
            if not file.text.endswith("\n", 0, include.end):
                self._text("\n")
            at = include.end
            line = include.line + file.text.count("\n", include.start, at)
            if isinstance(follows, str):
                self._text(f'#line {line - 1} "{file.name}"\n{follows}')
                continue
            for header in follows:
                self._text(f'#line 1 "{header.name}"\n')
                self.write(header)
                if not header.text.endswith("\n"):
                    self._text("\n")
            self._text(f'#line {line} "{file.name}"\n')
        self._part(file, line, file.text[at:])

    def _following(
        self, file: _File, include: Include, target: _File | None
    ) -> str | Sequence[_File] | None:
        """What is to stand behind an include: nothing, files (perhaps none), or another include."""
        if target in self.walk.chosen:
            return [target] if target not in self._written else []
        far = file.path.parent != self.reader.main.path.parent
        if target is None or not include.quoted or not far:
            return None
        return f'#include "{target.name}"\n'

    def _part(self, file: _File, line: int, text: str) -> None:
        if text or not file.text:
            end = self._length + len(text)
            self.parts.append(FileSpan(file.name, line, self._length, end))
            self._text(text)

    def _text(self, text: str) -> None:
        self.pieces.append(text)
        self._length += len(text)
