"""Quote the PTX instructions that a change concerns, with the source lines that they come from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gi_cuda.genome import Change, Setting
from gi_cuda.grammar import CompiledInstruction, Rules, RuleType, Source, SourceLines
from gi_cuda.grammar.rule_types import OPERAND_TYPES
from gi_cuda.grammar.source import LineIndex, SourceLine
from gi_cuda.subject import Subject

CONTEXT = 1
"""Number of lines shown before and after a line of source."""

_OWN = "v0/"
"""Folder of the target's own files in line information, named after the reference's namespace."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A line of source with its neighbours.

    Attributes:
        place: file and line.
        lines: numbers and texts of the lines; empty if the file does not exist.
    """

    place: SourceLine
    lines: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Quote:
    """An instruction that a change concerns.

    Attributes:
        role: effect of the change on the instruction, in words.
        place: file and line in the PTX.
        instruction: text of the instruction.
        origin: source line that the instruction was compiled from, then the places at which it was
            inlined; or the reason why they are unknown.
        excerpts: these lines; the first one with its neighbours.
    """

    role: str
    place: SourceLine
    instruction: str
    origin: SourceLines
    excerpts: tuple[Excerpt, ...]


@dataclass(frozen=True)
class Quotes:
    """A finder of the instructions that a subject's changes concern."""

    subject: Subject

    def of(self, change: Change) -> tuple[Quote, ...]:
        """Return the instructions that a change concerns, its own place first; empty for source."""
        if not self.subject.compiled:
            return ()
        return tuple(self._quote(role, name) for role, name in _roles(self._grammar, change))

    def origin(self, name: str) -> SourceLines:
        """Return the source lines of a rule's instruction, with the user's names of files."""
        found = self._instructions[name].origin
        return SourceLines(
            tuple(SourceLine(_called(p.file), p.line) for p in found.places), found.reason
        )

    @property
    def _grammar(self) -> Rules:
        return self.subject.grammar

    @cached_property
    def _instructions(self) -> Mapping[str, CompiledInstruction]:
        return self.subject.parsed.instructions() or {}

    @cached_property
    def _places(self) -> LineIndex:
        return LineIndex(self._grammar.source)

    @cached_property
    def _files(self) -> dict[str, dict[int, str]]:
        assert self.subject.compiled is not None, "instructions come from a compiler"
        return numbered(self.subject.compiled.written)

    def _quote(self, role: str, name: str) -> Quote:
        start, end, _ = self._instructions[name]
        found = self.origin(name)
        shown = tuple(self._excerpt(one, CONTEXT * (n == 0)) for n, one in enumerate(found.places))
        text = " ".join(self._grammar.source.text[start:end].split())
        return Quote(role, self._places.at(start), text, found, shown)

    def _excerpt(self, place: SourceLine, context: int) -> Excerpt:
        if place.file not in self._files:
            self._files[place.file] = _read(Path(place.file))
        lines = self._files[place.file]
        around = range(place.line - context, place.line + context + 1)
        return Excerpt(place, tuple((n, lines[n]) for n in around if n in lines))


def source_lines(subject: Subject, changes: Iterable[Change]) -> dict[str, str]:
    """Return the source lines of the place of each change of PTX, by notation; empty for source."""
    if not subject.compiled:
        return {}
    quotes = Quotes(subject)
    edits = [one for one in changes if not isinstance(one, Setting)]
    return {str(one): str(quotes.origin(one.place)) for one in edits}


def numbered(source: Source) -> dict[str, dict[int, str]]:
    """Return the lines of each file of a source, by file and line number."""
    files: dict[str, dict[int, str]] = {name: {} for name in source.names}
    for part in source.stretches:
        text = source.text[part.start : part.end].removesuffix("\n")
        for number, line in enumerate(text.split("\n"), part.line):
            # If text was inserted within a line, two parts share its number; keep the first.
            files[part.file].setdefault(number, line.rstrip("\r"))
    return files


def _called(file: str) -> str:
    return file.removeprefix(_OWN) if file.startswith(_OWN) else os.path.normpath(file)


def _read(file: Path) -> dict[int, str]:
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return {}
    return dict(enumerate(text.split("\n"), 1))


def _roles(grammar: Rules, change: Change) -> Iterator[tuple[str, str]]:
    if isinstance(change, Setting):
        return
    if grammar.rule(change.place).type in OPERAND_TYPES:
        yield "changed", change.place
        return
    yield change.words.roles[0], change.place
    if change.donor is not None:
        yield change.words.roles[1], change.donor


def in_words(grammar: Rules, changes: tuple[Change, ...], number: int) -> str:
    """Describe the kind of a change of PTX.

    Args:
        grammar: the grammar.
        changes: all changes of a genotype; two of them together may be a move or a swap.
        number: position of the change, from 0.
    """
    change = changes[number]
    if isinstance(change, Setting):
        return str(change)
    type_ = grammar.rule(change.place).type
    if type_ in OPERAND_TYPES and change.donor is not None:
        said = f"{grammar.text(change.place)} becomes {grammar.text(change.donor)}"
        return f"replaces an operand, {type_.kind.words}: {said}"
    where = "a jump" if type_ is RuleType.JUMP else "another one"
    edits = ((n, one) for n, one in enumerate(changes, 1) if not isinstance(one, Setting))
    other = next((n for n, one in edits if change.completes(one)), None)
    if other is None:
        return change.words.instruction.format(place=where)
    return f"{change.words.pair.format(place=where)}, with change {other}"
