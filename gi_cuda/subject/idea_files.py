"""Reading of external ideas: patches, mails and rewritten source files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.subject.idea import Idea, cut
from gi_cuda.subject.patches import changed_source, new_defaults, patched_source
from gi_cuda.subject.subject import Subject

_PATCH = re.compile(r"^(?:diff --git |--- \S|From [0-9a-f]{40} )", re.M)


@dataclass(frozen=True, slots=True)
class Answer:
    """A text that may be an idea.

    Attributes:
        name: name for messages.
        text: a patch, or the whole text of a source file.
        file: name of the source file.
        path: path that the text was read from; "" if a program wrote it.
    """

    name: str
    text: str
    file: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """The ideas among some texts, and the errors of the others.

    Attributes:
        faults: error message by name of the text, in the order of reading.
    """

    ideas: tuple[Idea, ...]
    faults: dict[str, str]


def idea_files(paths: Sequence[Path]) -> Iterator[Answer]:
    """Yield the texts of files, and of all files in folders, by name.

    Raises:
        UserError: a file cannot be read, or a folder is empty.
    """
    for path in paths:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        files = [one for one in inside if not one.is_dir() and not one.name.startswith(".")]
        if not files:
            raise UserError("there are no files in this folder", where=str(path))
        for file in files:
            try:
                text = file.read_bytes().decode("utf-8", "surrogateescape")
            except OSError as error:
                what = f"cannot be read: {error.strerror}"
                hint = "name patches, rewritten sources, or a folder of them"
                raise UserError(what, where=f"--ideas {file}", hint=hint) from None
            yield Answer(file.name, text, file.name, str(file.resolve()))


def read_ideas(answers: Iterable[Answer], subject: Subject) -> Read:
    """Cut patches and rewritten sources into hunks and values that a search may take."""
    ideas, faults = [], {}
    for one in answers:
        try:
            ideas.append(_idea(one, subject))
        except UserError as error:
            faults[one.name] = error.what
    return Read(tuple(ideas), faults)


def _idea(one: Answer, subject: Subject) -> Idea:
    """Read one text.

    Raises:
        UserError: the text does not apply, or changes nothing.
    """
    source = subject.grammar.source
    if _PATCH.search(one.text):
        after = patched_source(one.text, subject, one.name)
    else:
        file = one.file if one.file in source.files else source.name
        after = changed_source({**source.files, file: one.text}, subject, one.name)
    values = tuple(new_defaults(subject, after))
    names = [value.partition("=")[0] for value in values]
    hunks = tuple(cut(source, after.files, names))
    if not hunks and not values:
        raise UserError("it changes nothing but white space in the target's source")
    subject.device_text(after)  # raises if a kernel is missing
    subject.read(" ".join(values))  # raises if the target does not allow a value
    return Idea(one.name, hunks, " ".join(values), one.path)
