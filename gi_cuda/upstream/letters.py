"""Mails of a submission: changes, gains and provenance of each patch."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from gi_cuda.analyze.explain.explanation import sentences
from gi_cuda.analyze.stored.records import commands
from gi_cuda.analyze.validate.acceptance import Acceptance
from gi_cuda.backends.table import backend_named
from gi_cuda.evaluate.checks.other_kernels import told
from gi_cuda.results.application import ApplicationResult
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import is_faster
from gi_cuda.runs.run import Run
from gi_cuda.spec import CaseRole, cases_for
from gi_cuda.subject.diffs import blob, by_path, work_tree
from gi_cuda.subject.scratch import commit_words, git_says
from gi_cuda.upstream.mail import Letter, Provenance, WorthChange, mail
from gi_cuda.upstream.submission import Submission, ValidatedPatch


@dataclass(frozen=True, slots=True)
class Drafts:
    """Contents of the mails of a submission, one mail for each patch.

    Attributes:
        letters: contents of each mail, in the order in which the patches apply.
        where: provenance of all patches.
    """

    letters: tuple[Letter, ...]
    where: Provenance

    def mails(self, result: ApplicationResult | None) -> list[str]:
        """Return the texts of the mails.

        Args:
            result: result of the whole application with all patches, for the last mail.
        """
        letters = list(self.letters)
        if result is not None:
            letters[-1] = replace(letters[-1], application=tuple(result.lines()))
        return [
            mail(one, self.where, number, len(letters)) for number, one in enumerate(letters, 1)
        ]


def draft(run: Run, submission: Submission, sender: str | None) -> Drafts:
    """Collect the contents of the mails of a submission.

    Args:
        run: the run that found the winner.
        submission: the validated patches.
        sender: name and address; None: git's user in the source's repository.
    """
    letters = (_letter(run, submission, part) for part in submission.parts)
    return Drafts(tuple(letters), _provenance(run, sender))


def _letter(run: Run, submission: Submission, part: ValidatedPatch) -> Letter:
    winner = submission.winner
    changes = winner.changes(run.subject).changes
    told = sentences(run.subject, winner.genotype)
    worth = [""] * len(changes)
    if winner.minimized:
        worth = [
            gain_words(one.gain) if one.gain and not one.without else "fails without it"
            for one in winner.minimized.minimization.kept
        ]
    return Letter(
        str(part.step.genotype),
        tuple(
            WorthChange(str(changes[at]), told[str(changes[at])], worth[at])
            for at in part.step.changes
        ),
        tuple(_notes(run, submission, part)),
        part.validation,
        str(submission.noise),
        part.diff,
        tuple(f"{path}: git blob {blob(text)}" for path, text in _before(run, part).items()),
        _known_of_application(run, part),
    )


def gain_words(gain: SpeedUp) -> str:
    """Return the gain of a change in words, with a note if the interval includes 1."""
    return f"gain {gain}" + ("" if is_faster(gain) else " (may be none: includes 1)")


def _known_of_application(run: Run, part: ValidatedPatch) -> tuple[str, ...]:
    """Return the lines of the application's result that ``validate`` stored for a patch.

    The result is empty if ``validate`` did not test the application with this patch.
    """
    result = run.store.load("acceptance", Acceptance)
    accepted = result and result.accepted
    if not result or not result.application or not accepted:
        return ()
    same = accepted.genotype == str(part.step.genotype)
    return tuple(result.application.lines()) if same else ()


def _before(run: Run, part: ValidatedPatch) -> dict[str, str]:
    """Return the text before the patch of each file that it changes, by path in the repository."""
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
    if submission.answers:
        yield f"{submission.answers[0].upper()}{submission.answers[1:]}."
    for one in told(run.source, part.step.genotype.configuration.changed):
        yield f"{one}."
    changes = submission.winner.changes(run.subject).changes
    mine = {str(changes[at]) for at in part.step.changes}
    for change, why in submission.untested.items():
        if change in mine:
            yield f"Not tested: {change}: {why}."
    if submission.outside:
        yield f"Not part of the source, and needed for this: {'; '.join(submission.outside)}."
    if "\r\n" in part.diff:
        yield "The file has CRLF line ends: apply this with git am --keep-cr."


def _provenance(run: Run, sender: str | None) -> Provenance:
    """Return the provenance of a run's results: device, versions, cases, commands to reproduce."""
    target = run.subject.target
    backend = run.tools.backend  # the patched file was measured by this process
    versions = backend.versions()
    held_out = cases_for(target, run.subject.backend, CaseRole.HELD_OUT)
    cases = (
        f"{case.name}: " + ", ".join(f"{name} = {value}" for name, value in case.args.items())
        for case in held_out
    )
    return Provenance(
        target.source.name,
        f"{target.name} ({target.description})" if target.description else target.name,
        run.subject.backend,
        backend.device() + ("" if backend_named(run.subject.backend).gpu else ", a CPU"),
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        tuple(cases),
        _commands(run),
        sender or _author(target.source),
        datetime.now().astimezone(),
        run.store.get("commit") or commit_words(target.source.parent),
    )


def _commands(run: Run) -> tuple[str, ...]:
    """Return the commands that reproduce a run, the first one broken into short lines.

    Paths are relative to the root of the target's git work tree, or to the current directory if the
    target is in no work tree.
    """
    folder = run.subject.target.folder
    root = work_tree(Path(os.path.abspath(folder))) or Path.cwd()
    search, *others = commands(
        run.store, folder, run.folder, lambda one: os.path.relpath(one, root)
    )
    lines: list[list[str]] = [[]]
    for word in shlex.split(search):
        lines += [[]] if word.startswith("--") else []
        lines[-1].append(word)
    return " \\\n    ".join(map(shlex.join, lines)), *others


def _author(source: Path) -> str:
    """Return git's user name and address in the source's repository, or those of gi-cuda."""
    keys = ("user.name", "user.email")
    name, address = (git_says(source.parent, "config", "--get", key) for key in keys)
    return f"{name} <{address}>" if name and address else "gi-cuda <gi-cuda@localhost>"
