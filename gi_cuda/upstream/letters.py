"""The mails of a submission: what each patch changes, what that is worth, and where it is from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gi_cuda.analyze.validate.acceptance import Acceptance
from gi_cuda.backends.table import backend_named
from gi_cuda.runs.run import Run
from gi_cuda.subject.diffs import blob, by_path
from gi_cuda.upstream.mail import Letter, mail
from gi_cuda.upstream.origin import origin
from gi_cuda.upstream.submission import Submission, ValidatedPatch


def mails(run: Run, folder: Path, submission: Submission, sender: str | None) -> list[str]:
    """One mail for each patch.

    Args:
        folder: the run's, as the user names it.
        sender: name and address; None: who commits in the source's repository.
    """
    where = origin(run, folder, sender)
    parts = submission.parts
    return [
        mail(_letter(run, submission, part), where, number, len(parts))
        for number, part in enumerate(parts, 1)
    ]


def _letter(run: Run, submission: Submission, part: ValidatedPatch) -> Letter:
    winner = submission.winner
    changes = winner.changes(run.subject).changes
    worth = [""] * len(changes)
    if winner.minimized:
        worth = [
            f"gain {one.gain}" if one.gain and not one.without else "fails without it"
            for one in winner.minimized.minimization.kept
        ]
    return Letter(
        str(part.step.genotype),
        tuple((str(changes[at]), worth[at]) for at in part.step.changes),
        tuple(_notes(run, submission, part)),
        part.validation,
        str(submission.noise),
        part.diff,
        tuple(f"{path}: git blob {blob(text)}" for path, text in _before(run, part).items()),
    )


def _before(run: Run, part: ValidatedPatch) -> dict[str, str]:
    """The files that a patch changes, as they are before it, by their paths in the repository."""
    main = run.subject.target.source
    before, after = by_path(part.step.before, main), by_path(part.step.after, main)
    return {path: text for path, text in before.items() if after[path] != text}


def _notes(run: Run, submission: Submission, part: ValidatedPatch) -> Iterator[str]:
    if not backend_named(run.subject.backend).gpu:
        yield (
            f"Measured on a CPU, with gi-cuda's {run.subject.backend} back end. That says nothing"
            " of the speed on a GPU until it is measured on one."
        )
    result = run.store.load("acceptance", Acceptance)
    watched = result and next(
        (one for one in result.tried if one.genotype == str(part.step.genotype) and one.findings),
        None,
    )
    if watched and watched.clean:
        yield (
            f"Run under sanitizers ({', '.join(watched.findings)}): they found nothing that the"
            " file does not do without this patch."
        )
    if submission.outside:
        yield f"Not part of the source, and needed for this: {'; '.join(submission.outside)}."
    if "\r\n" in part.diff:
        yield "The file has CRLF line ends: apply this with git am --keep-cr."
