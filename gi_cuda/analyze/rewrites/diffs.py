"""Parse unified diffs (of git, ``diff -u``, mails) and apply them to texts of files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_string
from pathlib import PurePosixPath

from gi_cuda.errors import UserError

_HEADS = re.compile(
    r"^--- (?P<old>[^\t\n]+?)(?:\t[^\n]*)?\r?\n\+\+\+ (?P<new>[^\t\n]+?)(?:\t[^\n]*)?\r?\n"
    r"(?=@@ )|^rename from (?P<moved>[^\n]+)\nrename to (?P<to>[^\n]+)\n",
    re.M,
)
_HUNK = re.compile(r"@@ -(?P<at>\d+)(?:,(?P<old>\d+))? \+(?P<to>\d+)(?:,(?P<new>\d+))? @@[^\n]*\n")
_MAIL = re.compile(r"(?:From [0-9a-f]{40} |(?:From|Subject|Date): )")
_NOTHING = "/dev/null"

_FUZZ = 2
"""Number of context lines at either end of a hunk that need not match, as for ``patch``."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk of a diff.

    Attributes:
        at: number of the first line that it replaces, from 0.
        lines: lines with their signs (blank, ``-`` or ``+``), without line ends.
        unended: signs of last lines without a line end.
    """

    at: int
    lines: tuple[str, ...]
    unended: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The changes that a diff makes to one file.

    Attributes:
        old, new: names of the file in the diff, before and after.
        hunks: the changes.
        renamed: True if the diff says that the file is renamed.
    """

    old: str
    new: str
    hunks: tuple[Hunk, ...]
    renamed: bool = False


def file_diffs(text: str) -> list[FileDiff]:
    """Parse a diff, or a mail with a diff; the result is empty if the text has none."""
    text = _of_mail(text)
    every: list[FileDiff] = []
    for head in _HEADS.finditer(text):
        if head["moved"]:
            every.append(FileDiff(_plain(head["moved"]), _plain(head["to"]), (), renamed=True))
            continue
        old, new = _plain(head["old"]), _plain(head["new"])
        hunks = tuple(_hunks(text, head.end()))
        renamed = bool(every and every[-1].renamed and new.endswith(every[-1].new))
        if renamed:
            every.pop()
        every.append(FileDiff(old, new, hunks, renamed))
    return every


def _of_mail(text: str) -> str:
    """Return the decoded body of a mail; return other texts unchanged."""
    if not _MAIL.match(text):
        return text
    mail = message_from_string(text.partition("\n")[2] if text.startswith("From ") else text)
    parts = [one for one in mail.walk() if not one.is_multipart()]
    texts = []
    for one in parts:
        body = one.get_payload(decode=True)
        if isinstance(body, bytes):
            texts.append(body.decode(one.get_content_charset() or "utf-8", "surrogateescape"))
    return "\n".join(texts).replace("\r\n", "\n")


def _plain(name: str) -> str:
    """Remove the quotes that git puts around a file name with blanks."""
    name = name.strip()
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] == '"' else name


def _hunks(text: str, at: int) -> Iterator[Hunk]:
    while match := _HUNK.match(text, at):
        left = {"-": int(match["old"] or 1), "+": int(match["new"] or 1)}
        at, lines, unended = match.end(), list[str](), set[str]()
        while at < len(text) and (left["-"] > 0 or left["+"] > 0):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line, at = text[at:end].rstrip("\r"), end + 1
            sign = line[:1] or " "  # editors strip the blank of an empty context line
            if sign == "\\":
                unended.add(lines[-1][0] if lines else " ")
                continue
            if sign not in " +-":
                break
            for one in "-+":
                left[one] -= sign in (one, " ")
            lines.append(line or " ")
        if text.startswith("\\", at):
            unended.add(lines[-1][0] if lines else " ")
            at = text.find("\n", at) + 1 or len(text)
        yield Hunk(max(0, int(match["at"]) - 1), tuple(lines), frozenset(unended))


def applied(
    diffs: Sequence[FileDiff], files: Mapping[str, str], main: str, where: str
) -> dict[str, str | None]:
    """Apply diffs and return the new texts of the changed files; None for a deleted file.

    A name in the diff denotes the file whose path shares the longest suffix with it, so
    ``a/src/k.cu``, ``k.cu`` and ``/home/me/src/k.cu`` all denote ``src/k.cu``. If a diff changes
    only one file and its name fits none, it denotes the main file.

    Args:
        diffs: the diffs.
        files: texts by path.
        main: path of the main source file.
        where: name of the diff, for messages.

    Raises:
        UserError: a hunk does not fit, or a file does not exist.
    """
    new: dict[str, str | None] = {}
    for one in diffs:
        if one.old == _NOTHING:
            path = _place(one.new, files, main)
            new[path] = _changed("", one.hunks, f"{where}: {one.new}")
            continue
        found = _meant(one.old, files, main) or _meant(one.new, files, main)
        if found is None and len(diffs) == 1:
            found = main
        if found is None:
            raise UserError(
                f"the diff changes {one.old}, which is not among the files of the original",
                where=where,
                hint=f"it must be against {main}; the original's files: {_some(files)}",
            )
        before = new.get(found)
        before = files[found] if before is None else before
        if one.new == _NOTHING:
            new[found] = None
            continue
        text = _changed(before, one.hunks, f"{where}: {one.old}")
        if one.renamed and found != main:  # the main file is known by its own name
            new[found] = None
            found = _place(one.new, files, main)
        new[found] = text
    return new


def _some(files: Mapping[str, str]) -> str:
    names = sorted(files, key=lambda name: (name.count("/"), name))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _meant(name: str, files: Mapping[str, str], main: str) -> str | None:
    """Return the file that a name in a diff denotes; None if there is none or it is ambiguous."""
    best = max((_common(name, path) for path in files), default=0)
    found = [path for path in files if _common(name, path) == best] if best else []
    if len(found) > 1:
        found = [main] if main in found else []
    return found[0] if found else None


def _common(name: str, path: str) -> int:
    """Return the length of the longest common suffix of two paths, in parts."""
    count = 0
    for a, b in zip(
        reversed(PurePosixPath(name).parts), reversed(PurePosixPath(path).parts), strict=False
    ):
        if a != b:
            break
        count += 1
    return count


def _place(name: str, files: Mapping[str, str], main: str) -> str:
    """Return a new file's path: in the folder that its name denotes, else beside the source."""
    parts = PurePosixPath(name).parts
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents}
    for first in range(len(parts) - 1):
        if "/".join(parts[first:-1]) in folders:
            return "/".join(parts[first:])
    return str(PurePosixPath(main).parent / parts[-1])


def _changed(text: str, hunks: Sequence[Hunk], where: str) -> str:
    """Apply hunks to a text."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = [line.rstrip("\r") for line in text.split("\n")]
    ended = lines[-1] == ""
    lines = lines[:-1] if ended else lines
    ended = ended or not text
    moved = 0
    for number, hunk in enumerate(hunks, 1):
        at, lead, tail = _found(lines, hunk, moved, f"{where}, hunk {number}")
        kept = hunk.lines[lead : len(hunk.lines) - tail]
        old = sum(line[0] != "+" for line in kept)
        new = [line[1:] for line in kept if line[0] != "-"]
        if at + old == len(lines):
            ended = not hunk.unended & {"+", " "}
        lines[at : at + old] = new
        moved = at - hunk.at - lead + len(new) - old
    return end.join(lines) + (end if ended and lines else "")


def _found(lines: Sequence[str], hunk: Hunk, moved: int, where: str) -> tuple[int, int, int]:
    """Find the line at which a hunk fits best.

    Returns:
        The line, from 0, and the numbers of leading and trailing context lines that are ignored.

    Raises:
        UserError: the hunk fits nowhere.
    """
    for fuzz in range(_FUZZ + 1):
        lead = min(fuzz, _context(hunk.lines))
        tail = min(fuzz, _context(hunk.lines[::-1]))
        if fuzz and lead + tail == 0:
            break
        kept = hunk.lines[lead : len(hunk.lines) - tail]
        old = [line[1:].rstrip() for line in kept if line[0] != "+"]
        wanted = hunk.at + lead + moved
        places = range(len(lines) - len(old) + 1)
        for at in sorted(places, key=lambda at: abs(at - wanted)):
            if [line.rstrip() for line in lines[at : at + len(old)]] == old:
                return at, lead, tail
    raise UserError(
        f"the lines around {hunk.at + 1} are not what the diff says",
        where=where,
        hint="it must be against the original as it is now",
    )


def _context(lines: Sequence[str]) -> int:
    """Return the number of context lines at the beginning of a hunk."""
    return next((at for at, line in enumerate(lines) if line[0] != " "), len(lines))
