"""Patches as mails that ``git am`` takes, with the measurements in their message."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.utils import format_datetime, formataddr, parseaddr

import gi_cuda
from gi_cuda.results.evaluation import Validation

WIDTH = 72


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a patch comes from, for its message.

    Attributes:
        source: the file's name.
        target: the target's name and description.
        backend, device: what it was measured on.
        versions: tools and their versions.
        cases: the held-out cases, each in words.
        commit: of the repository that the source is in, in words; "" where it is in none.
        reproduce: commands that find and measure it again.
        author: name and address.
        date: when.
    """

    source: str
    target: str
    backend: str
    device: str
    versions: str
    cases: tuple[str, ...]
    reproduce: tuple[str, ...]
    author: str
    date: datetime
    commit: str = ""


@dataclass(frozen=True, slots=True)
class WorthChange:
    """A change in notation, its kind and its worth in words; that is "" where it is not known."""

    change: str
    kind: str
    worth: str


@dataclass(frozen=True, slots=True)
class Letter:
    """What one mail says.

    Attributes:
        genotype: of the source after the patch, in notation.
        changes: what the patch changes.
        notes: what a maintainer must know besides.
        validation: of the source after the patch.
        noise: a copy of the reference beside the reference, in words; "" where not measured.
        diff: the patch itself.
        bases: the files that it changes, and which state of them it is against.
        application: what the whole application did with the patch, line by line.
    """

    genotype: str
    changes: tuple[WorthChange, ...]
    notes: tuple[str, ...]
    validation: Validation
    noise: str
    diff: str
    bases: tuple[str, ...] = ()
    application: tuple[str, ...] = ()


def mail(letter: Letter, origin: Provenance, number: int = 1, total: int = 1) -> str:
    """A patch in the form of ``git format-patch``.

    Args:
        number, total: its place in a series.
    """
    series = f"[PATCH {number}/{total}]" if total > 1 else "[PATCH]"
    name, address = parseaddr(origin.author)
    head = [
        f"From {'0' * 40} Mon Sep 17 00:00:00 2001",
        f"From: {formataddr((name, address))}",
        f"Date: {format_datetime(origin.date)}",
        f"Subject: {_header(f'{series} {_subject(letter, origin, last=number == total)}')}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
    ]
    body = "\n".join(_body(letter, origin))
    stat = _stat(letter.diff)
    tail = f"-- \ngi-cuda {gi_cuda.__version__}\n\n"
    return "\n".join(head) + f"\n\n{body}\n---\n{stat}\n{letter.diff}{tail}"


def _header(text: str) -> str:
    return text if text.isascii() else Header(text, "utf-8", header_name="Subject").encode()


def _subject(letter: Letter, origin: Provenance, *, last: bool) -> str:
    """Return the mail's subject.

    Args:
        last: whether no patch of the series follows; one that prepares for others need not gain.
    """
    overall = letter.validation.overall
    assert overall is not None
    if letter.validation.faster:
        return f"{origin.source}: {overall.value:.2f} times as fast on {origin.device}"
    if last:
        return f"{origin.source}: not faster on {origin.device}, do not apply"
    return f"{origin.source}: prepare for what follows"


def _body(letter: Letter, origin: Provenance) -> list[str]:
    """The message, line by line; no line of it can be taken for the begin of a diff."""
    validation = letter.validation
    lines = [
        *_wrapped(f"Found by gi-cuda on the target {origin.target}."),
        "",
        "Speed-up on inputs the search never saw, with 95 % intervals",
        "(the file before this patch series / after this patch; answers verified):",
        "",
    ]
    table = [("all cases", str(validation.overall))]
    table += [(case, str(speed_up)) for case, speed_up in (validation.cases or {}).items()]
    if letter.noise:
        table.append(("noise (the file beside itself)", letter.noise))
    lines += _columns(table)
    if letter.application:
        lines += ["", "In the whole application, built and run before and after:", ""]
        lines += [f"  {line}" for said in letter.application for line in _wrapped(said)]
    if any(one.worth for one in letter.changes):
        lines += [
            "",
            "What changes, and what each change is worth beside the others (on the inputs",
        ]
        lines += ["that the search did see):", ""]
    else:
        lines += [
            "",
            "What changes (the winner was not minimized: what each change is worth is not",
        ]
        lines += ["known, and some may be worth nothing):", ""]
    for one in letter.changes:
        said = f"{one.kind}; {one.worth}" if one.worth else one.kind
        lines += [f"  {one.change}", *(f"    {line}" for line in _wrapped(said))]
    for note in letter.notes:
        lines += ["", *_wrapped(note)]
    lines += [
        "",
        f"Back end: {origin.backend}",
        f"Device:   {origin.device}",
        f"Versions: {origin.versions}",
        *([f"Commit:   {origin.commit}"] if origin.commit else []),
        "Cases:",
        *(f"  {case}" for case in origin.cases),
        *(["Against:", *(f"  {base}" for base in letter.bases)] if letter.bases else []),
        "",
        "To reproduce:",
        *(f"  {command}" for command in origin.reproduce),
        "",
        "Genotype:",
        f"  {letter.genotype}",
    ]
    return lines


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(left) for left, _ in rows), default=0)
    return [f"  {left.ljust(width)}  {right}".rstrip() for left, right in rows]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _stat(diff: str) -> str:
    """How many lines come and go in each file, as ``git diff --stat`` says it."""
    counts = [_counted(part) for part in re.split(r"^(?=diff --git )", diff, flags=re.M) if part]
    lines = []
    for path, added, removed in counts:
        signs = "+" * added + "-" * removed
        if len(signs) > 40:
            share = round(40 * added / len(signs))
            signs = "+" * share + "-" * (40 - share)
        lines.append(f" {path} | {added + removed} {signs}\n")
    added = sum(one for _, one, _ in counts)
    removed = sum(one for _, _, one in counts)
    said = [f" {len(counts)} file{'s' if len(counts) > 1 else ''} changed"]
    if added:
        said.append(f" {added} insertion{'s' if added > 1 else ''}(+)")
    if removed:
        said.append(f" {removed} deletion{'s' if removed > 1 else ''}(-)")
    return "".join([*lines, ",".join(said), "\n"])


def _counted(part: str) -> tuple[str, int, int]:
    """A file's path, and how many lines come and go in it."""
    head, _, hunks = part.partition("\n@@ ")
    path = head.partition("\n")[0].partition(" b/")[2]
    changed = hunks.split("\n")[1:]  # behind the numbers of the first one's lines
    added = sum(line.startswith("+") for line in changed)
    return path, added, sum(line.startswith("-") for line in changed)
