"""From a winner to patches that were built, verified and measured just as they are."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.analyze.reading import SpeedUp
from gi_cuda.analyze.replicates import unmodified
from gi_cuda.analyze.validation import Validation
from gi_cuda.analyze.winner import Winner
from gi_cuda.errors import UserError
from gi_cuda.patch import by_path
from gi_cuda.run import Run
from gi_cuda.subject import Subject
from gi_cuda.upstream import Step, apply_in_scratch


@dataclass(frozen=True, slots=True)
class Part:
    """One patch with what the file it leaves is worth.

    Attributes:
        step: the source before and after.
        diff: the patch.
        validation: of the patched file on the held-out cases.
    """

    step: Step
    diff: str
    validation: Validation


@dataclass(frozen=True, slots=True)
class Submission:
    """Patches that go upstream together.

    Attributes:
        winner: whose they are.
        parts: in the order in which they apply.
        noise: a copy of the file beside itself.
    """

    winner: Winner
    parts: tuple[Part, ...]
    noise: SpeedUp

    @property
    def verdict(self) -> str:
        """What the patched file is worth."""
        return f"{self.winner}, patched file: speed-up {self.parts[-1].validation.overall}"

    def check_mails(self, subject: Subject, texts: Sequence[str]) -> None:
        """Apply the patches as mails and hold the files against those that were validated.

        Raises:
            UserError: git does not take a mail, or makes other files of it.
        """
        steps = [part.step for part in self.parts]
        _check_applied(subject, texts, steps, mailed=True)


def submit(run: Run, winner: Winner, steps: Sequence[Step], *, check: bool) -> Submission:
    """Build and validate what each step leaves of the file.

    Args:
        check: let git apply the steps, and see that it makes of the files what was meant.

    Raises:
        UserError: there is nothing to patch, a configuration breaks a constraint, a patched file
            fails on the held-out cases, or git does not take a patch.
    """
    subject = run.source
    if not steps:
        raise UserError(
            f"{winner} changes nothing in the source",
            where=str(run.folder),
            hint="its compiler options or launch parameters are all there is to it:"
            f" {winner.genotype}",
        )
    for step in steps:
        if not subject.space.allows(step.genotype.configuration):
            raise UserError(
                f"without the others these changes break a constraint: {step.genotype}",
                where=str(subject.target.file),
                hint="choose them together, or give no --edits",
            )
    diffs = [step.diff(subject.target.source) for step in steps]
    if check:
        for number in range(1, len(steps) + 1):
            _check_applied(subject, diffs[:number], steps[:number], mailed=False)
    candidates = [run.patched(step.after, step.genotype) for step in steps]
    noise, *validations = run.validate([unmodified(subject), *candidates])
    for step, validation in zip(steps, validations, strict=True):
        if not validation.correct:
            raise UserError(
                f"the patched file fails on the held-out cases: {validation.message}",
                where=f"{winner}: {step.genotype}",
                hint="choose another with --individual (gi-cuda show lists the best)",
            )
    if noise.overall is None:
        raise RuntimeError(f"a copy of the reference fails: {noise.message}")
    parts = map(Part, steps, diffs, validations)
    return Submission(winner, tuple(parts), noise.overall)


def _check_applied(
    subject: Subject, texts: Sequence[str], steps: Sequence[Step], *, mailed: bool
) -> None:
    main = subject.target.source
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        folder = Path(scratch) / "repository"
        folder.mkdir()
        before = by_path(steps[0].before, main)
        applied = apply_in_scratch(before, list(texts), folder, mailed=mailed)
    if applied != by_path(steps[-1].after, main):
        raise UserError(
            "git makes other files of the patch than those that were meant", where="--check"
        )
