"""The application as the last judge of a patch: built, run and timed as it is and with the patch.

What fails without the patch is the target's fault, and an error; what fails with it alone speaks
against the patch.
"""

from __future__ import annotations

import errno
import math
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gi_cuda.backends.processes import Followed, Process, signal_name
from gi_cuda.errors import UserError, machine_error
from gi_cuda.results.application import ApplicationResult, timing
from gi_cuda.spec import Application, Target
from gi_cuda.spec.load import keys_of
from gi_cuda.upstream.copies import (
    WorkTree,
    application_tree,
    apply_steps,
    copy_tree,
    environment,
    touch_changed,
)
from gi_cuda.upstream.outputs import Expected, Lines, Printed, expected, relative_tolerance
from gi_cuda.upstream.steps import PatchStep, Settings, settings_of

FIRST = 3
"""Runs without the patch that tell what differs from run to run, before any with it."""

APPENDED = "NVCC_APPEND_FLAGS"
"""The variable of which nvcc takes options besides those on its command line."""

LEAST_PAIRS = 3
"""Pairs of runs that are timed in any case, as the interval needs some."""

SLOW = 10.0
"""Seconds of a run from which on two are enough to tell what differs, and the first one with the
patch is one of a pair."""

PATIENCE = 60.0
"""Seconds that all pairs may take together, where there are more of them."""

MOST = 16 << 20
"""Bytes that a command may print to either of its streams."""

_LAST = 12
"""Lines of a command's output in a message."""

_WIDEST = 240
"""Characters of each."""

_NAMES = ("original", "modified")
"""Of the copies. They are equally long, since a path that comes into a binary moves what is behind
it."""

Tell = Callable[[str], None]


class _Wrong(Exception):
    """What speaks against the patch."""


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of the work tree, and what is wrong where a command fails in it.

    Attributes:
        top: its uppermost folder.
        place: where commands are run.
        patched: whether the patch is applied.
        options: that nvcc gets besides those of the build.
    """

    target: Target
    application: Application
    top: Path
    place: Path
    patched: bool
    options: str = ""

    def build(self) -> None:
        """Build it, if there is something to build."""
        if self.application.build:
            self._succeed("build", {APPENDED: self.options} if self.options else {})

    def run(self) -> Followed:
        """Run the program."""
        return self._succeed("run")

    def check(self, **files: Path) -> None:
        """Have the command that is there for it check the program.

        Args:
            files: what it is told in its environment.
        """
        self._succeed("check", {name: str(path) for name, path in files.items()})

    def lines(self, ran: Followed) -> Lines:
        """What counts of a run's output."""
        return printed(self.application).lines(ran.stdout, self.top)

    def kernel_time(self, ran: Followed) -> float:
        """The kernel's time that the program prints, the sum of all."""
        found = printed(self.application).numbers(ran.stdout, ran.stderr)
        try:
            total = sum(map(float, found))
        except ValueError:
            total = 0.0
        if not 0 < total < math.inf:
            shown = ", ".join(map(repr, found[:5])) if found else "nothing"
            raise self.fault(
                "kernel_time",
                f"the regular expression finds {shown} in its output, and no time above 0",
                "All that the group matches, in stdout and stderr, is added up.",
            )
        return total

    def _succeed(self, key: str, more: dict[str, str] | None = None) -> Followed:
        command, limit = getattr(self.application, key), getattr(self.application.limit, key)
        ended = run_command(command, self.place, limit, more or {})
        if ended.status == 0:
            return ended
        said = _tail(ended).replace(f"{self.top}/", "")
        if os.strerror(errno.ENOSPC) in said:
            raise machine_error(OSError(errno.ENOSPC, "", str(self.top)))
        what = f"`{command}` {how_it_ended(ended, limit)}"
        raise self.fault(key, f"{what}{said and ':'}{said}", self._advice(ended, key))

    def fault(self, key: str, what: str, hint: str = "") -> Exception:
        """What is wrong, as an error of the target, or of the patch where that is applied."""
        if self.patched:
            return _Wrong(f"with the patch {what}")
        place = keys_of(self.target).at(("application", key))
        return UserError(f"without any patch {what}", where=place, hint=hint or None)

    def _advice(self, ended: Followed, key: str) -> str:
        if ended.loud:
            return "Send it to a file: `./program > out.txt && sha256sum out.txt`."
        if ended.status is None:
            return f"Give it longer: limit = {{ {key} = SECONDS }}."
        return (
            f"It ran in {self.place.name}/ of a copy of the work tree. What git ignores is not in"
            " the copy: files that it needs go into `inputs`. Variables that you build with belong"
            ' to the command: build = "make ARCH=sm_90".'
        )


def printed(application: Application) -> Printed:
    """How the application's output is read."""
    return Printed(application.ignore, application.kernel_time)


def run_command(command: str, place: Path, limit: float, more: dict[str, str]) -> Followed:
    """Run a command by the shell; whatever it leaves running is ended."""
    process = Process(
        ["/bin/sh", "-c", command],
        cwd=place,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return process.followed(limit, MOST)


_SHELL = 128
"""What a shell adds to the number of the signal by which a program ended."""


def how_it_ended(ended: Followed, limit: float) -> str:
    """How a command that failed ended, as the rest of a sentence of which it is the subject."""
    status = ended.status
    if ended.loud:
        return f"prints more than {MOST >> 20} MiB"
    if status is None:
        return f"does not end within {limit:g} s"
    number = -status if status < 0 else status - _SHELL
    if number in signal.valid_signals() and number > 0:
        return f"was killed ({signal_name(number)})"
    words = {126: "cannot be executed", 127: "is not found, or something that it needs"}
    return f"{words.get(status, 'fails')} (status {status})"


def _tail(ended: Followed) -> str:
    """The last lines that a command wrote: its complaints, or what else it said."""
    text = (ended.stderr.strip() or ended.stdout.strip()).decode("utf-8", "replace")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][-_LAST:]
    short = (line if len(line) <= _WIDEST else f"{line[:_WIDEST]}..." for line in lines)
    return "".join(f"\n    {line}" for line in short)


def check_application(target: Target) -> WorkTree:
    """See that a target has an application that can be copied; what is to be copied.

    Raises:
        UserError: it has none, or no work tree holds both it and the source.
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
    """Build, run and time a target's application as it is and with a patch.

    Args:
        target: one with an application.
        steps: the patch.
        options: that nvcc is to get with it.
        scratch: an empty folder.
        tell: is told what is being done.

    Raises:
        UserError: the application cannot be copied, built or run without the patch, is wrong then,
            or nothing tells right from wrong.
        MachineError: there is no room.
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
    scratch = scratch.resolve()  # as programs name it that print where they are
    tell("copying the application")
    copies = []
    for name, patched in zip(_NAMES, (False, True), strict=True):
        top = scratch / name
        copy_tree(tree, top)
        given = shlex.join(options) if patched else ""
        place = tree.within(tree.place, top)
        copies.append(_Copy(target, application, top, place, patched, given))
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
    except _Wrong as wrong:
        return ApplicationResult(application.run, str(wrong))


def pairs_of(wanted: int, seconds: float) -> int:
    """How many pairs of runs are timed: fewer of a program that takes long.

    Args:
        wanted: at most.
        seconds: that a run takes.
    """
    return min(wanted, max(LEAST_PAIRS, int(PATIENCE / (2 * seconds))))


@dataclass(frozen=True, slots=True)
class _Trial:
    """The application as it is beside the one with the patch.

    Attributes:
        first: runs of the original.
        scratch: a folder for what they printed.
        settings: values of parameters that the patch changes, which the program may print.
    """

    original: _Copy
    modified: _Copy
    first: Sequence[Followed]
    scratch: Path
    settings: Settings

    @property
    def application(self) -> Application:
        return self.original.application

    def check_original(self) -> None:
        """See that what is to judge the patch is content without it."""
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
        """Look at a run with the patch.

        Raises:
            _Wrong: it is not right.
        """
        if self.application.check:
            self._ask(self.modified, ran)
        else:
            self._compare(self.first, [ran])

    def timed(
        self, tell: Tell, known: Sequence[tuple[Followed, Followed]] = ()
    ) -> ApplicationResult:
        """Time pairs of runs, each beginning with the other one, whose outputs count too.

        Args:
            known: pairs that there are already.
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
                raise _Wrong(
                    f"{difference} (where that is as right, say so by `check` or `ignore` of"
                    " [application])"
                )
        return known

    def _ask(self, copy: _Copy, ran: Followed) -> None:
        reference, output = self.scratch / "reference.txt", self.scratch / "output.txt"
        reference.write_bytes(self.first[0].stdout)
        output.write_bytes(ran.stdout)
        copy.check(GI_CUDA_REFERENCE=reference, GI_CUDA_OUTPUT=output)
