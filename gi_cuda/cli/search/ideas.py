"""Options for external ideas, and messages about them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from gi_cuda.analyze.external_ideas import ask, question
from gi_cuda.cli.console import console, working
from gi_cuda.errors import UserError
from gi_cuda.report.tables import counted, say
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import keep_ideas
from gi_cuda.subject import Subject
from gi_cuda.subject.idea_files import Answer, idea_files, read_ideas

Ideas: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--ideas",
        metavar="FILE|DIR",
        help="Patches or rewritten sources of others, whose changes become edits of the search; may"
        " be given several times.",
    ),
]
Ask: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ask",
        metavar="COMMAND",
        help="A program that reads the kernel, its profile and the best variants as JSON, and"
        " writes patches, which become edits of the search.",
    ),
]


def with_files(subject: Subject, paths: list[Path] | None) -> Subject:
    """Return a subject with the ideas in files added to its own.

    Raises:
        UserError: no file holds a patch that applies.
    """
    if not paths:
        return subject
    found = _with(subject, idea_files(paths))
    if found is subject:
        raise UserError(
            "none of these is a patch of the target's source",
            where="--ideas",
            hint=f"they must be against {subject.target.source}; what speaks against each is above",
        )
    return found


def ask_for_ideas(opened: AbstractContextManager[Run], command: str) -> None:
    """Ask a program for ideas about a run, and store them in the run."""
    with opened as run:
        with working(f"asking {command}"):
            answered = ask(command, question(run))
        subject = _with(run.subject, answered)
        if subject is run.subject:
            say(console, f"`{command}` has no idea that can be used")
        keep_ideas(run.store, subject)


def _with(subject: Subject, texts: Iterable[Answer]) -> Subject:
    read = read_ideas(texts, subject)
    for name, what in read.faults.items():
        say(console, f"left out {name}: {what}")
    if not read.ideas:
        return subject
    found = subject.having((*subject.ideas, *read.ideas))
    offered = {choice for rule in found.grammar.rules for choice in rule.choices}
    for number, idea in enumerate(read.ideas, len(subject.ideas) + 1):
        inside = sum(one.startswith(f"idea_K{number}h") for one in offered)
        words = [counted(inside, "change")] if inside else []
        words += [idea.values] if idea.values else []
        if inside < len(idea.hunks):
            words.append(f"{len(idea.hunks) - inside} in host code left out")
        say(console, f"idea {number}, {idea.name}: {', '.join(words)}")
    return found
