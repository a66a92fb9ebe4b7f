"""Join a CUDA file and the headers that evolve with it to one text.

The text of such a header is inserted where it is first included, behind the include line itself:

    #include "detail/device.cuh"
    #line 1 "detail/device.cuh"
    ... all of the header ...
    #line 4 "kernel.cu"

So any compiler names the right file and line. An include line with a ``#line`` directly behind it
has no effect itself. Its header's text follows; or it came before, if a guarded header is included
again; or another include follows, with a name that is found from the main file's folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.text.includes import Include
from gi_cuda.grammar.frontends.cuda.text.inclusions import UNCHANGED, File, Inclusion, Reader, Walk
from gi_cuda.grammar.source import FileSpan, Source, SourceLine

_PLAIN_NAME = re.compile(r"[^\s<>@\"\\]+")
_NO_PLAIN_NAME = "its path has white space, quotes, '<', '>' or '@' in it"


@dataclass(frozen=True, slots=True)
class KeptInclude:
    """A requested header that stays an include.

    Attributes:
        header: name of the header.
        place: the include line; None if there is none to name.
        reason: reason why the header stays an include.
    """

    header: str
    place: SourceLine | None
    reason: str


@dataclass(frozen=True, slots=True)
class Joined:
    """A source with its headers' texts inserted, and the headers that stay includes."""

    source: Source
    kept: tuple[KeptInclude, ...] = ()


def read_files(
    main: Path,
    headers: Sequence[Path] = (),
    include: Sequence[Path] = (),
    changed: Mapping[Path, str] = UNCHANGED,
) -> Joined:
    """Read a source, and insert the texts of headers where they are included.

    A header stays an include if its inserted text would have another meaning: it is included twice
    without a guard; its first inclusion is conditional and a later one is not; or its text is not a
    sequence of whole declarations.

    Args:
        main: the CUDA file.
        headers: files that the source includes, directly or through others of them; or other
            sources, which are linked with it.
        include: the folders in which includes are looked up.
        changed: texts that replace the contents of files on disk, by path.

    Raises:
        UserError: a file cannot be read or is not text; the source does not include a header; or a
            file that is not among the headers includes one of them.
    """
    reader = Reader(main, tuple(include), changed)
    wanted = {reader.read(header): None for header in headers}
    return _joined(reader, wanted, _Strict(reader))


@dataclass(frozen=True)
class Tree:
    """A source, with all files of its own tree that it includes directly or indirectly.

    Attributes:
        joined: the source with the texts of these files inserted where possible.
        includers: for each file, by name, the names of the files that include it.
        paths: the path of each file, by name.
    """

    joined: Joined
    includers: Mapping[str, frozenset[str]]
    paths: Mapping[str, Path]


def read_tree(
    main: Path,
    include: Sequence[Path],
    belongs: Callable[[Path], bool],
    linked: Sequence[Path] = (),
) -> Tree:
    """Read a source with all headers that belong to it.

    Args:
        main: the CUDA file.
        include: the folders in which includes are looked up.
        belongs: returns True for the path of a header that belongs to the source.
        linked: other sources that are linked with it.

    Raises:
        UserError: a file cannot be read or is not text.
    """
    reader = Reader(main, tuple(include))
    beside = [reader.read(file) for file in linked]
    includers: dict[File, set[str]] = {}
    frontier = [reader.main, *beside]
    while frontier:
        file = frontier.pop()
        for _, target in reader.included(file):
            if target is not None and target is not reader.main and belongs(target.path):
                if target not in includers:
                    frontier.append(target)
                includers.setdefault(target, set()).add(file.name)
    return Tree(
        _joined(reader, dict.fromkeys([*beside, *includers]), _Lenient()),
        {file.name: frozenset(names) for file, names in includers.items()},
        {file.name: file.path for file in (reader.main, *beside, *includers)},
    )


def _joined(reader: Reader, wanted: Mapping[File, None], policy: _Strict | _Lenient) -> Joined:
    kept: dict[File, KeptInclude] = {}
    while True:
        walk = Walk(reader, [file for file in wanted if file not in kept])
        refused = next(_refusals(walk, wanted, kept, policy), None)
        if refused is None:
            break
        kept[refused[0]] = refused[1]
    writer = _Writer(reader, walk)
    writer.write(reader.main)
    for file in walk.linked:
        writer.write_behind(file)
    parts = tuple(writer.parts)
    marked = reader.marked & {part.file for part in parts}
    text, beside = "".join(writer.pieces), tuple(_beside(reader, walk))
    source = Source(reader.main.name, text, parts if wanted else (), marked, beside)
    return Joined(source, tuple(kept.values()))


class _Lenient:
    """Policy for headers that the user did not name: if one cannot evolve, it stays an include."""

    def shared(self, header: File, other: File, place: SourceLine) -> None:
        """Handle a file, not among the headers, that includes one of them."""

    def not_included(self, header: File, others: Iterable[File]) -> None:
        """Handle a header that no file includes."""


@dataclass(frozen=True)
class _Strict:
    """Policy for headers that the user named: a problem that the user can correct is an error."""

    reader: Reader

    def shared(self, header: File, other: File, place: SourceLine) -> None:
        raise UserError(
            f"{header.name} cannot evolve: {other.name} includes it as well",
            where=str(place),
            hint=f"put {other.name} among the headers, too, or leave {header.name} out",
        )

    def not_included(self, header: File, others: Iterable[File]) -> None:
        known = ", ".join(file.name for file in others) or "none"
        raise UserError(
            f"{self.reader.main.name} does not include {header.name}",
            where=str(header.path),
            hint="headers are files that the source includes, itself or through other headers"
            f" listed; those that it includes and that are found: {known}",
        )


def _refusals(
    walk: Walk,
    wanted: Mapping[File, None],
    kept: Mapping[File, KeptInclude],
    policy: _Strict | _Lenient,
) -> Iterator[tuple[File, KeptInclude]]:
    """Yield the headers whose texts cannot be inserted, with the reasons.

    Raises:
        UserError: the policy raises it for a problem that the user can correct.
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
            if header in walk.linked:
                if not _PLAIN_NAME.fullmatch(header.name):
                    yield header, KeptInclude(header.name, None, _NO_PLAIN_NAME)
            elif not found:
                if not kept:
                    policy.not_included(header, walk.others)
                yield (
                    header,
                    KeptInclude(header.name, None, "no file whose text is in place includes it"),
                )
            elif reason := _reason(header, found):
                yield header, KeptInclude(header.name, found[0].place, reason)


def _reason(header: File, inclusions: Sequence[Inclusion]) -> str | None:
    """Return the reason why a header's text cannot replace all its inclusions; None if it can.

    The text would be inserted at the first inclusion.
    """
    first, *later = inclusions
    if not _PLAIN_NAME.fullmatch(header.name):
        return _NO_PLAIN_NAME
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
"""Largest number of characters of included headers that are read for their declarations.

The CUDA toolkit's own headers have many times that number.
"""


def _beside(reader: Reader, walk: Walk) -> Iterator[str]:
    """Yield the texts of headers that stay includes, each after the headers that it includes."""
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
    """Writes the joined text: each file with the texts of its headers inserted."""

    reader: Reader
    walk: Walk
    pieces: list[str] = field(default_factory=list)
    parts: list[FileSpan] = field(default_factory=list)
    _length: int = 0
    _written: set[File] = field(default_factory=set)

    def write(self, file: File) -> None:
        """Write a file, with the headers that it includes."""
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

    def write_behind(self, file: File) -> None:
        """Write a source that is linked with the main file, behind the text so far."""
        end = "" if self.pieces and self.pieces[-1].endswith("\n") else "\n"
        self._text(f'{end}#line 1 "{file.name}"\n')
        self.write(file)

    def _following(
        self, file: File, include: Include, target: File | None
    ) -> str | Sequence[File] | None:
        """Return the text to write behind an include line.

        Returns:
            None: nothing; a list of files: their texts (none if already written); a string: another
            include line.
        """
        if target in self.walk.chosen:
            return [target] if target not in self._written else []
        far = file.path.parent != self.reader.main.path.parent
        if target is None or not include.quoted or not far:
            return None
        return f'#include "{target.name}"\n'

    def _part(self, file: File, line: int, text: str) -> None:
        if text or not file.text:
            end = self._length + len(text)
            self.parts.append(FileSpan(file.name, line, self._length, end))
            self._text(text)

    def _text(self, text: str) -> None:
        self.pieces.append(text)
        self._length += len(text)
