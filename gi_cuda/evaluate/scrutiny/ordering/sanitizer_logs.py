"""Parsers of sanitizer logs, and the findings that only a variant has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gi_cuda.backends.protocol.backend import LogForm
from gi_cuda.grammar import Source

_ADDRESS = re.compile(r"==\d+==ERROR: AddressSanitizer: ([\w-]+)[^\n]*\n((?:.*\n)*?)(?=\s*\n|\Z)")
_ACCESS = re.compile(r"^(READ|WRITE) of size (\d+)", re.M)
_UNDEFINED = re.compile(r"^(?:[^\n:]*/)?([^\n:/]+):(\d+):\d+: runtime error: ([^\n]*)", re.M)

_HEAD = re.compile(r"^=========(?: (?P<head>\S[^\n]*)|(?P<detail>[ \t]{2,}[^\n]*|))$", re.M)
_NO_FINDING = re.compile(
    r"COMPUTE-SANITIZER|.*\bSUMMARY\b|Target application|No attachable process|Saved host"
)
_RACE = "gi-cuda race"
_RACE_WORDS = 11
_BARRIER = "gi-cuda barrier"
_BARRIER_WORDS = 4

UNEVEN = "a barrier that not all threads of a block reach"
"""Beginning of a finding that is not a race; its consequences depend on the device."""

_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, slots=True)
class SanitizerFinding:
    """A finding of a sanitizer.

    Attributes:
        kind: description in the sanitizer's words.
        line: line of the compiled source, from 1; None if unknown.
        text: the source on this line, stripped.
        kernel: kernel in which it is; "" if unknown.
    """

    kind: str
    line: int | None = None
    text: str = ""
    kernel: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """A key that is equal for the same finding in two sources."""
        return _NUMBER.sub("N", self.kind), self.text

    @property
    def race(self) -> bool:
        """Tell whether a race detector's finding is a race."""
        return not self.kind.startswith(UNEVEN)

    def __str__(self) -> str:
        return f"{self.kind}, line {self.line}: {self.text}" if self.line else self.kind


def compiled_in(log: str, source: Source) -> list[SanitizerFinding]:
    """Parse a log of the address and undefined-behaviour sanitizers of a C++ compiler."""
    found = []
    for report in _ADDRESS.finditer(log):
        access = _ACCESS.search(report[2])
        kind = f"{report[1]}, {access[1].lower()} of {access[2]} bytes" if access else report[1]
        found.append(_found(kind, _line(report[2], source), source))
    for name, line, kind in _UNDEFINED.findall(log):
        found.append(_found(kind, int(line) if name == source.name else None, source))
    return _once(found)


def from_outside(log: str, source: Source) -> list[SanitizerFinding]:
    """Parse a log of one of compute-sanitizer's tools."""
    found = []
    for head, details in _reports(log):
        if not _NO_FINDING.match(head):
            line = _line(f"{head}\n{details}", source)
            found.append(_found(head.partition(" at ")[0] if line else head, line, source))
    return _once(found)


def races(log: str, source: Source) -> list[SanitizerFinding]:
    """Parse a log of the host runtime's race detector; races come first."""
    found, uneven = list[SanitizerFinding](), list[SanitizerFinding]()
    for line in log.split("\n"):
        head, _, rest = line.partition("\t")
        words = rest.split("\t")
        if head == _RACE and len(words) == _RACE_WORDS:
            found.append(_race(words, source))
        elif head == _BARRIER and len(words) == _BARRIER_WORDS:
            uneven.append(_barrier(words, source))
    return _once([*found, *uneven])


def _barrier(words: Sequence[str], source: Source) -> SanitizerFinding:
    """Return the finding of a barrier. Its key is the same for all barriers of a kernel."""
    kernel, ended, size, place = _kernel(words[0]), *words[1:]
    line = _line(place, source)
    where = f" on line {line}" if line else ""
    said = f"{UNEVEN}, in {kernel}{where}: {ended} of {size} threads have ended there"
    return SanitizerFinding(said, kernel=kernel)


def _kernel(symbol: str) -> str:
    return symbol.removeprefix("gi_kernel_").partition("_")[2]


def _race(words: Sequence[str], source: Source) -> SanitizerFinding:
    kernel, where, memory = _kernel(words[0]), *words[1:3]
    ends = [
        (_line(place, source) or 0, f"{access} by thread {thread} of block {block}")
        for access, thread, block, place in (words[3:7], words[7:11])
    ]
    # The order of the two accesses is random, so sort them.
    (line, first), (other, second) = sorted(ends)
    kind = f"race of threads of {where} in {kernel} on {memory}: {first}, {second}"
    lines = source.text.split("\n")
    if 0 < other <= len(lines) and other != line:
        kind += f" in line {other}: {lines[other - 1].strip()}"
    return replace(_found(kind, line or other or None, source), kernel=kernel)


def _line(report: str, source: Source) -> int | None:
    """Return the first line of the source that a report names; None if it names none."""
    found = re.search(rf"(?:^|[\s/]){re.escape(source.name)}:(\d+)", report, re.M)
    return int(found[1]) if found else None


def _reports(log: str) -> Iterator[tuple[str, str]]:
    head, details = "", ""
    for match in _HEAD.finditer(log):
        if match["head"]:
            if head:
                yield head, details
            head, details = match["head"], ""
        else:
            details += f"{match['detail']}\n"
    if head:
        yield head, details


def _found(kind: str, line: int | None, source: Source) -> SanitizerFinding:
    lines = source.text.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return SanitizerFinding(kind)
    return SanitizerFinding(kind, line, lines[line - 1].strip())


def _once(findings: list[SanitizerFinding]) -> list[SanitizerFinding]:
    """Return the findings without duplicates; the first of equal ones is kept."""
    return list({finding.key: finding for finding in reversed(findings)}.values())[::-1]


def new_findings(
    variant: Sequence[SanitizerFinding], reference: Sequence[SanitizerFinding]
) -> list[SanitizerFinding]:
    """Return the variant's findings that the reference does not have."""
    known = {finding.key for finding in reference}
    return [finding for finding in variant if finding.key not in known]


READERS = {
    LogForm.COMPILED_IN: compiled_in,
    LogForm.FROM_OUTSIDE: from_outside,
    LogForm.RACES: races,
}
"""Functions that read a log, by its form."""
