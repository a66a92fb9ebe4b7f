"""Make patches of a winner, then build, verify and measure the patched files themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gi_cuda.analyze.explain.untested import untested
from gi_cuda.analyze.finalists.winner import ChosenIndividual
from gi_cuda.backends.table import backend_named
from gi_cuda.errors import UserError
from gi_cuda.evaluate.answers import answer_words
from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.evaluate.checks.headers import with_own_headers
from gi_cuda.evaluate.checks.other_kernels import told
from gi_cuda.evaluate.checks.parameters.defaults import check_defaults
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.run import Run
from gi_cuda.subject import Subject
from gi_cuda.subject.diffs import by_path
from gi_cuda.subject.scratch import apply_in_scratch
from gi_cuda.upstream.steps import PatchStep, elsewhere


@dataclass(frozen=True, slots=True)
class ValidatedPatch:
    """A patch and the validation of the patched file.

    Attributes:
        step: the source before and after the patch.
        diff: the patch as a unified diff.
        validation: validation of the patched file on the held-out cases.
    """

    step: PatchStep
    diff: str
    validation: Validation


@dataclass(frozen=True, slots=True)
class Submission:
    """Patches that go upstream together.

    Attributes:
        winner: the individual that the patches are made of.
        parts: the patches, in the order in which they apply.
        noise: speed-up of a copy of the original file.
        device: description of the device of all measurements.
        outside: changes that the source cannot contain, as instructions: "compile with -O3".
        unseen: sentences about other kernels that the patches change but that were not run.
        untested: changes that no case tests: notation and a sentence for each.
        defined: macros that were defined on the command line when the patched file was compiled.
        answers: deviation of the patched file's answers from the original's, in words.
    """

    winner: ChosenIndividual
    parts: tuple[ValidatedPatch, ...]
    noise: SpeedUp
    device: str
    outside: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    untested: Mapping[str, str] = field(default_factory=dict)
    defined: tuple[str, ...] = ()
    answers: str = ""

    def said(self, *, checked: bool) -> list[str]:
        """Return the speed-up of the patched file and remarks for the user, line by line.

        Args:
            checked: whether git applied the patch as a check.
        """
        worth = self.parts[-1].validation.overall
        lines = [f"{self.winner}, patched file: speed-up {worth}, measured on {self.device}"]
        if self.answers:
            lines.append(self.answers)
        if checked:
            lines.append(self._checked)
        if self.outside:
            outside = "; ".join(self.outside)
            lines.append(f"not part of the source, and needed for this: {outside}")
        untested = (f"not tested: {one}: {why}" for one, why in self.untested.items())
        return [*lines, *self.unseen, *untested]

    @property
    def _checked(self) -> str:
        cases = ", ".join(self.parts[-1].validation.cases or ())
        how = "without -D of any parameter"
        if self.defined:
            how = f"with -D{' -D'.join(self.defined)}, which the source does not define,"
        return (
            "git applies it and makes of the files what was meant; they were built"
            f" {how} and verified on held-out cases: {cases}"
        )

    def check_mails(self, subject: Subject, texts: Sequence[str]) -> None:
        """Apply the patches as mails and compare the files with the validated ones.

        Raises:
            UserError: git rejects a mail, or the patched files differ from the validated ones.
        """
        steps = [part.step for part in self.parts]
        _check_applied(subject, texts, steps, mailed=True)


def _say_nothing(_: str) -> None:
    """Ignore a progress message."""


def submit(
    run: Run,
    winner: ChosenIndividual,
    steps: Sequence[PatchStep],
    *,
    check: bool,
    tell: Callable[[str], None] = _say_nothing,
) -> Submission:
    """Build and validate the patched file after each step.

    Args:
        run: the run that found the winner.
        winner: the individual that the steps are made of.
        steps: the patches, in order.
        check: let git apply the steps, and check that this gives the intended files.
        tell: callback that receives progress messages.

    Raises:
        UserError: there is nothing to patch, a configuration breaks a constraint, a patched file
            fails on the held-out cases, or git rejects a patch.
    """
    subject = run.source
    if not steps:
        left = str(winner.genotype)
        outside = "; ".join(elsewhere(subject, winner.genotype)) or left
        raise UserError(
            f"{winner} changes nothing in the source",
            where=str(run.folder),
            hint=f"there is nothing to patch; do this by hand: {outside}"
            if left
            else "no change of it pays; --as-found makes a patch of it as the search found it",
        )
    for step in steps:
        if not subject.space.allows(step.genotype.configuration):
            raise UserError(
                f"without the others these changes break a constraint: {step.genotype}",
                where=str(subject.target.file),
                hint="choose them together, or give no --changes",
            )
    diffs = [step.diff(subject.target.source) for step in steps]
    if check and steps[0].changes_source:
        for number in range(1, len(steps) + 1):
            _check_applied(subject, diffs[:number], steps[:number], mailed=False)
    tell("building the patched file")
    standing = check_defaults(subject, run.tools.compiler)
    noise, *validations = validate_steps(run, steps, standing.own, tell)
    for step, validation in zip(steps, validations, strict=True):
        if not validation.correct:
            raise UserError(
                f"the patched file fails on the held-out cases: {validation.message}",
                where=f"{winner}: {step.genotype}",
                hint="choose another with --individual (gi-cuda show lists the best)",
            )
    if noise.overall is None:
        raise RuntimeError(f"a copy of the reference fails: {noise.message}")
    tell("comparing its answers with the original's")
    changes = winner.changes(run.subject).changes
    fixed = {*subject.target.build.define} - standing.given
    last = _patched(subject, steps[-1], standing.own)
    last = with_own_headers(subject, run.tools.compiler, steps[-1].after, last)
    return Submission(
        winner,
        tuple(map(ValidatedPatch, steps, diffs, validations)),
        noise.overall,
        measured_on(run),
        tuple(elsewhere(subject, steps[-1].genotype, standing.given)),
        tuple(told(subject, steps[-1].genotype.configuration.changed)),
        untested(run, [changes[at] for step in steps for at in step.changes]),
        tuple(f"{n}={text}" for n, text in last.macros.items() if n not in fixed),
        answer_words(run.answers(last)),
    )


def validate_steps(
    run: Run,
    steps: Sequence[PatchStep],
    own: frozenset[str],
    tell: Callable[[str], None] = _say_nothing,
) -> list[Validation]:
    """Measure a copy of the original file and the patched file of each step on held-out cases.

    A patched file with a race between threads is not correct.

    Args:
        run: the run that found the winner.
        steps: the patches, in order.
        own: macros that the source defines itself.
        tell: callback that receives progress messages.

    Returns:
        The validation of the copy, which shows the noise, then one validation for each step.
    """
    subject, compiler = run.source, run.tools.compiler
    reference = _as_it_is(unmodified(subject), own)
    before = with_own_headers(subject, compiler, subject.grammar.source, reference)
    candidates = [
        with_own_headers(subject, compiler, step.after, _patched(subject, step, own))
        for step in steps
    ]
    tell("timing the patched file on the held-out cases")
    noise, *measured = run.validate([before, *candidates], before)
    tell("trying the patched file with other inputs, and watching it for races")
    return [noise, *map(run.tools.certification.certified, candidates, measured)]


def _patched(subject: Subject, step: PatchStep, own: frozenset[str]) -> Candidate:
    """Return the source after a step as a candidate; the winning values are its defaults.

    Args:
        subject: the source that is patched.
        step: the patch.
        own: macros that the source defines itself; the command line does not define them.
    """
    macros = subject.upstream_macros(step.genotype)
    return Candidate(
        subject.device_text(step.after),
        subject.configured(step.genotype),
        {name: text for name, text in macros.items() if name not in own},
        subject.options(step.genotype.configuration),
    )


def _as_it_is(reference: Candidate, own: frozenset[str]) -> Candidate:
    """Return the reference without command-line definitions of macros that it defines itself."""
    macros = {name: text for name, text in reference.macros.items() if name not in own}
    return replace(reference, macros=macros)


def measured_on(run: Run) -> str:
    """Describe the device of this process; the text says if it is a CPU."""
    device = run.tools.backend.device()
    if not backend_named(run.subject.backend).gpu:
        return f"{device} ({run.subject.backend} back end: a CPU; it was not measured on a GPU)"
    return device


def _check_applied(
    subject: Subject, texts: Sequence[str], steps: Sequence[PatchStep], *, mailed: bool
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
