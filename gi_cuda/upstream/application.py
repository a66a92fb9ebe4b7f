"""Build, run and time the whole application without and with a patch, to judge the patch.

A failure without the patch is an error of the target (UserError). A failure that occurs only with
the patch rejects the patch.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gi_cuda.backends.processes import Followed
from gi_cuda.errors import UserError
from gi_cuda.results.application import ApplicationResult, timing
from gi_cuda.spec import Application, Target
from gi_cuda.spec.toml_file.load import keys_of
from gi_cuda.upstream.application_copy import ApplicationCopy, Rejected
from gi_cuda.upstream.copies import (
    WorkTree,
    application_tree,
    apply_steps,
    copy_tree,
    touch_changed,
)
from gi_cuda.upstream.outputs import Expected, expected, relative_tolerance
from gi_cuda.upstream.steps import PatchStep, Settings, settings_of

FIRST = 3
"""Number of runs without the patch that determine which output varies from run to run. They come
before any run with the patch."""


LEAST_PAIRS = 3
"""Fewest pairs of runs that are timed; the interval needs three."""

SLOW = 10.0
"""Seconds from which a run counts as slow. For a slow program, two runs determine which output
varies, and the first run with the patch is part of the first timed pair."""

PATIENCE = 60.0
"""Seconds that all pairs together may take, if there are more than `LEAST_PAIRS`."""


_NAMES = ("original", "modified")
"""Folder names of the two copies. They have equal lengths, because a path that is compiled into a
binary shifts the code behind it."""

Tell = Callable[[str], None]


def check_application(target: Target) -> WorkTree:
    """Check that a target has an application that can be copied, and return its work tree.

    Raises:
        UserError: the target has no application, or no work tree holds the application and the
            source.
    """
    if target.application is None:
        raise UserError(
            "the target does not say how the application is built and run",
            where=str(target.file),
            hint='add to it: [application], build = "make", run = "./program ARGUMENTS" (what was'
            " searched and measured stays good)",
        )
    return application_tree(target, target.application)


def judge(
    target: Target,
    steps: Sequence[PatchStep],
    scratch: Path,
    tell: Tell,
    options: Sequence[str] = (),
) -> ApplicationResult:
    """Build, run and time a target's application without and with a patch.

    Args:
        target: a target with an application.
        steps: the patch.
        scratch: an empty folder.
        tell: callback that receives progress messages.
        options: options that nvcc gets when the patched application is built.

    Raises:
        UserError: without the patch, the application cannot be copied, built or run, or is wrong;
            or no output and no check command can tell right from wrong.
        MachineError: the disk is full.
    """
    tree, application = check_application(target), target.application
    assert application is not None
    if not steps:
        return ApplicationResult(application.run, "the source stays as it is: there is no patch")
    if options and not application.build:
        raise UserError(
            f"it is not built here, so not with {shlex.join(options)}",
            where=keys_of(target).at(("application", "build")),
            hint='say how it is built: build = "make"',
        )
    scratch = scratch.resolve()  # programs that print their own path print the resolved one
    tell("copying the application")
    copies = []
    for name, patched in zip(_NAMES, (False, True), strict=True):
        top = scratch / name
        copy_tree(tree, top)
        given = shlex.join(options) if patched else ""
        place = tree.within(tree.place, top)
        copies.append(ApplicationCopy(target, application, top, place, patched, given))
    original, modified = copies
    apply_steps(tree, modified.top, steps, target.source)
    for copy in copies:
        touch_changed(tree, copy.top, steps, target.source)
    tell("building and running the application as it is")
    original.build()
    first = [original.run()]
    while len(first) < (FIRST if first[0].seconds < SLOW else 2):
        first.append(original.run())
    trial = _Trial(original, modified, first, scratch, settings_of(target, steps[-1]))
    trial.check_original()
    try:
        tell("building and running the application with the patch")
        modified.build()
        ran = modified.run()
        trial.judge(ran)
        return trial.timed(tell, [(first[-1], ran)] if first[0].seconds >= SLOW else [])
    except Rejected as wrong:
        return ApplicationResult(application.run, str(wrong))


def pairs_of(wanted: int, seconds: float) -> int:
    """Return the number of pairs of runs to time; a slow program gets fewer pairs.

    Args:
        wanted: largest number of pairs.
        seconds: time of one run.
    """
    return min(wanted, max(LEAST_PAIRS, int(PATIENCE / (2 * seconds))))


@dataclass(frozen=True, slots=True)
class _Trial:
    """A comparison of the original application with the patched one.

    Attributes:
        original, modified: the two copies.
        first: runs of the original.
        scratch: a folder for the outputs of runs.
        settings: pairs of old and new values of parameters that the patch changes. The program may
            print the new value in place of the old one.
    """

    original: ApplicationCopy
    modified: ApplicationCopy
    first: Sequence[Followed]
    scratch: Path
    settings: Settings

    @property
    def application(self) -> Application:
        return self.original.application

    def check_original(self) -> None:
        """Check that the original application passes its check, or prints output to compare.

        Raises:
            UserError: it does not.
        """
        if self.application.check:
            self._ask(self.original, self.first[-1])
        elif self._expected(self.first).compared == 0:
            raise self.original.fault(
                "run",
                "it prints nothing that is the same each time, so that nothing tells right from"
                " wrong",
                "Give `check`, or have it print its results: `./program && sha256sum results.bin`.",
            )
        if self.application.kernel_time:
            self.original.kernel_time(self.first[0])

    def judge(self, ran: Followed) -> None:
        """Check the output of a run with the patch.

        Raises:
            Rejected: the output is not right.
        """
        if self.application.check:
            self._ask(self.modified, ran)
        else:
            self._compare(self.first, [ran])

    def timed(
        self, tell: Tell, known: Sequence[tuple[Followed, Followed]] = ()
    ) -> ApplicationResult:
        """Time pairs of runs and check all their outputs.

        Original and patched application take turns in running first.

        Args:
            tell: callback that receives progress messages.
            known: pairs of runs that exist already.

        Raises:
            Rejected: an output with the patch is not right.
        """
        before, after = ([pair[at] for pair in known] for at in (0, 1))
        count = pairs_of(self.application.pairs, median(one.seconds for one in self.first))
        tell(f"timing the application: {count} {'pair' if count == 1 else 'pairs'} of runs")
        for number in range(len(known), count):
            for copy in (self.original, self.modified)[:: -1 if number % 2 else 1]:
                (after if copy.patched else before).append(copy.run())
        judged = f"its own check, `{self.application.check}`"
        if not self.application.check:
            same = self._compare([*self.first, *before], after)
            judged = f"in all runs it prints the same ({same.compared} words"
            if same.varying:
                judged += f"; {same.varying} that differ from run to run anyway do not count"
            if same.relative:
                judged += f"; numbers with a fraction may be off by {same.relative:g}"
            judged += ")"
        if self.modified.options:
            judged = f"compiled with {self.modified.options}; {judged}"
        pairs = list(zip(before, after, strict=True))
        kernel = None
        if self.application.kernel_time:
            original, modified = self.original.kernel_time, self.modified.kernel_time
            kernel = timing([(original(one), modified(other)) for one, other in pairs])
        return ApplicationResult(
            self.application.run,
            judged=judged,
            pairs=len(pairs),
            program=timing([(one.seconds, other.seconds) for one, other in pairs]),
            kernel=kernel,
        )

    def _expected(self, runs: Sequence[Followed]) -> Expected:
        allowed = relative_tolerance(self.original.target.oracle)
        found = expected([self.original.lines(one) for one in runs], allowed, self.settings)
        if found is None:
            raise self.original.fault(
                "run",
                "it prints more lines in one run than in another, so that its output cannot be"
                " compared",
                "Give `check`, or have the lines that vary left out with `ignore`.",
            )
        return found

    def _compare(self, runs: Sequence[Followed], others: Sequence[Followed]) -> Expected:
        known = self._expected(runs)
        for other in others:
            if difference := known.difference(self.modified.lines(other)):
                raise Rejected(
                    f"{difference} (where that is as right, say so by `check` or `ignore` of"
                    " [application])"
                )
        return known

    def _ask(self, copy: ApplicationCopy, ran: Followed) -> None:
        reference, output = self.scratch / "reference.txt", self.scratch / "output.txt"
        reference.write_bytes(self.first[0].stdout)
        output.write_bytes(ran.stdout)
        copy.check(GI_CUDA_REFERENCE=reference, GI_CUDA_OUTPUT=output)
