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
    """Provenance of a patch, for the message of its mail.

    Attributes:
        source: name of the source file.
        target: name and description of the target.
        backend, device: back end and device of the measurements.
        versions: tools and their versions.
        cases: description of each held-out case.
        reproduce: commands that find and measure the patch again.
        author: name and address.
        date: date of the mail.
        commit: description of the source's git commit; "" if the source is in no repository.
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
    """A change in a mail.

    Attributes:
        change: the change in genotype notation.
        kind: the kind of change, in words.
        worth: the gain in words; "" if it is unknown.
    """

    change: str
    kind: str
    worth: str


@dataclass(frozen=True, slots=True)
class Letter:
    """Contents of one mail.

    Attributes:
        genotype: genotype of the source after the patch, in notation.
        changes: changes that the patch makes.
        notes: further facts that a maintainer must know.
        validation: validation of the source after the patch.
        noise: speed-up of a copy of the reference, in words; "" if it was not measured.
        diff: the patch itself.
        bases: files that the patch changes, with the git blob that it applies to.
        application: result of the whole application with the patch, line by line.
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
    """Return a mail with a patch, in the format of ``git format-patch``.

    Args:
        letter: contents of the mail.
        origin: provenance of the patch.
        number, total: position of the patch in its series, from 1, and length of the series.
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
        letter: contents of the mail.
        origin: provenance of the patch.
        last: whether the patch is the last of its series. An earlier patch may prepare for later
            ones without being faster itself.
    """
    overall = letter.validation.overall
    assert overall is not None
    if letter.validation.faster:
        return f"{origin.source}: {overall.value:.2f} times as fast on {origin.device}"
    if last:
        return f"{origin.source}: not faster on {origin.device}, do not apply"
    return f"{origin.source}: prepare for what follows"


def _body(letter: Letter, origin: Provenance) -> list[str]:
    """Return the lines of the message. No line of it looks like the start of a diff."""
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
    """Return the added and removed lines by file, in the format of ``git diff --stat``."""
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
    """Return a file's path and its numbers of added and removed lines."""
    head, _, hunks = part.partition("\n@@ ")
    path = head.partition("\n")[0].partition(" b/")[2]
    changed = hunks.split("\n")[1:]  # without the rest of the first hunk's header
    added = sum(line.startswith("+") for line in changed)
    return path, added, sum(line.startswith("-") for line in changed)
