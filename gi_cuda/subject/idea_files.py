"""Ideas as files and answers: patches, mails, and whole sources that somebody rewrote."""

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
        name: what it is called, for people.
        text: a patch, or the whole of a source file.
        file: the name of that file.
        path: where the text was read; "" where a program wrote it.
    """

    name: str
    text: str
    file: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """The ideas among some texts, and what is wrong with the others.

    Attributes:
        faults: by name, in the order in which they were read.
    """

    ideas: tuple[Idea, ...]
    faults: dict[str, str]


def idea_files(paths: Sequence[Path]) -> Iterator[Answer]:
    """The texts of files, and of all files in folders, by name.

    Raises:
        UserError: one cannot be read, or a folder is empty.
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
    """Cut patches and rewritten sources into what a search may take of them."""
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
        UserError: it does not apply, or changes nothing.
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
    subject.device_text(after)  # which has to have the kernels still
    subject.read(" ".join(values))  # which the target has to allow
    return Idea(one.name, hunks, " ".join(values), one.path)
