"""Build, run and time the whole application without and with a patch, to judge the patch.

A failure without the patch is an error of the target (UserError). A failure that occurs only with
the patch rejects the patch.
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
from gi_cuda.spec.toml_file.load import keys_of
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
"""Number of runs without the patch that determine which output varies from run to run. They come
before any run with the patch."""

APPENDED = "NVCC_APPEND_FLAGS"
"""Environment variable from which nvcc reads options in addition to its command line."""

LEAST_PAIRS = 3
"""Fewest pairs of runs that are timed; the interval needs three."""

SLOW = 10.0
"""Seconds from which a run counts as slow. For a slow program, two runs determine which output
varies, and the first run with the patch is part of the first timed pair."""

PATIENCE = 60.0
"""Seconds that all pairs together may take, if there are more than `LEAST_PAIRS`."""

MOST = 16 << 20
"""Bytes that a command may print to stdout, and to stderr."""

_LAST = 12
"""Number of lines of a command's output in a message."""

_WIDEST = 240
"""Largest number of characters of each of these lines."""

_NAMES = ("original", "modified")
"""Folder names of the two copies. They have equal lengths, because a path that is compiled into a
binary shifts the code behind it."""

Tell = Callable[[str], None]


class _Wrong(Exception):
    """An error that rejects the patch; its message is the reason."""


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of the work tree, in which the application's commands run.

    Attributes:
        top: root folder of the copy.
        place: folder in which commands run.
        patched: whether the patch is applied.
        options: options that nvcc gets in addition to those of the build.
    """

    target: Target
    application: Application
    top: Path
    place: Path
    patched: bool
    options: str = ""

    def build(self) -> None:
        """Run the build command, if the target has one."""
        if self.application.build:
            self._succeed("build", {APPENDED: self.options} if self.options else {})

    def run(self) -> Followed:
        """Run the program."""
        return self._succeed("run")

    def check(self, **files: Path) -> None:
        """Run the check command.

        Args:
            files: environment variables of the command: names and paths.
        """
        self._succeed("check", {name: str(path) for name, path in files.items()})

    def lines(self, ran: Followed) -> Lines:
        """Return the lines of a run's output that are compared."""
        return printed(self.application).lines(ran.stdout, self.top)

    def kernel_time(self, ran: Followed) -> float:
        """Return the kernel's time that the program prints, the sum of all matches.

        Raises:
            _Wrong: no time above 0 is found in the output, and the patch is applied.
            UserError: no time above 0 is found in the output without the patch.
        """
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
        """Return the exception for a failure: `_Wrong` with the patch, UserError without it."""
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
    """Return the reader of the application's output."""
    return Printed(application.ignore, application.kernel_time)


def run_command(command: str, place: Path, limit: float, more: dict[str, str]) -> Followed:
    """Run a shell command; kill processes that it leaves behind.

    Args:
        command: the command line.
        place: working directory.
        limit: time limit, seconds.
        more: additional environment variables.
    """
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
"""Offset of a shell's exit status if a signal ended the program: 128 + signal number."""


def how_it_ended(ended: Followed, limit: float) -> str:
    """Describe the end of a failed command: "does not end within 60 s", "fails (status 1)".

    The text continues a sentence whose subject is the command.
    """
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
    """Return the last lines that a command wrote to stderr, or to stdout if stderr is empty."""
    text = (ended.stderr.strip() or ended.stdout.strip()).decode("utf-8", "replace")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][-_LAST:]
    short = (line if len(line) <= _WIDEST else f"{line[:_WIDEST]}..." for line in lines)
    return "".join(f"\n    {line}" for line in short)


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

    original: _Copy
    modified: _Copy
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
            _Wrong: the output is not right.
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
            _Wrong: an output with the patch is not right.
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
