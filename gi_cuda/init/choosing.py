"""Choose the kernel of a source to make a target for, if the user names none."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.declarations.file import kernels
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.host.host_files import find_hosts
from gi_cuda.init.proposing.proposal import Proposal
from gi_cuda.init.ranking import Ranked, ranked
from gi_cuda.init.source.sources import kernels_in, read_whole
from gi_cuda.spec.launching.kernel_names import listed


class Attempted(Protocol):
    """The result of trying a target."""

    @property
    def proposal(self) -> Proposal:
        """Return the target; the trial may have changed it."""

    @property
    def failure(self) -> str:
        """Return the reason why the target fails; "" if it passes."""


_Attempted = TypeVar("_Attempted", bound=Attempted)


@dataclass(frozen=True, slots=True)
class Untried:
    """A target that is taken without being tried."""

    proposal: Proposal
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A target, and the kernels of the source that it was chosen among.

    Attributes:
        taken: the kernel that the target is for.
        passed: higher-ranked kernels that were passed over, each with the reason.
        others: lower-ranked kernels that were not looked at, the highest-ranked first.
    """

    proposal: Proposal
    taken: Ranked
    passed: tuple[tuple[Ranked, UserError], ...] = ()
    others: tuple[Ranked, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield messages on the chosen kernel, the reason, and the alternatives.

        Yields nothing if the source has only one kernel.
        """
        for one, error in self.passed:
            yield f"passed over {one.kernel} ({one.why}): {error.what}"
        if self.passed or self.others:
            yield f"chose {self.taken.kernel}: {self.taken.why}"
        if self.others:
            names = listed([one.kernel for one in self.others])
            yield f"other kernels, each taken by --kernel NAME: {names}"


def rank_kernels(
    path: Path, compilation: Compilation, hosts: Sequence[Path] = ()
) -> tuple[Ranked, ...]:
    """Return all kernels of a source and its headers, the one most worth a target first.

    Args:
        hosts: files that launch the kernels; found by a search if empty.

    Raises:
        UserError: a file cannot be read.
    """
    code = read_whole(path, compilation)
    wanted = {kernel.shown for kernel in kernels_in(code, compilation.fragment)}
    every = ranked(code, find_hosts(code, kernels(code), hosts))
    return tuple(one for one in every if one.kernel in wanted)


def first_that_passes(
    every: Sequence[Ranked],
    propose: Callable[[str | None], Proposal],
    attempt: Callable[[Proposal], _Attempted],
    go_on: Callable[[], bool] = lambda: True,
) -> tuple[Choice, _Attempted]:
    """Return the first kernel whose target passes its trial.

    If none passes, return the first kernel that a target can be made for.

    Args:
        every: all kernels, the one most worth a target first.
        propose: makes a target for a kernel name; None stands for the only kernel of the source.
        attempt: tries a target.
        go_on: called before each further kernel; no more kernels are tried once it returns False.

    Raises:
        UserError: no kernel can become a target; the message is that of the first kernel.
    """
    if len(every) < 2:
        attempted = attempt(propose(every[0].kernel if every else None))
        return Choice(attempted.proposal, every[0]), attempted
    passed: list[tuple[Ranked, UserError]] = []
    first: tuple[Choice, _Attempted] | None = None
    for index, one in enumerate(every):
        if passed and not go_on():
            break
        try:
            proposal = propose(one.kernel)
        except UserError as error:
            passed.append((one, error))
            continue
        attempted = attempt(proposal)
        choice = Choice(attempted.proposal, one, tuple(passed), tuple(every[index + 1 :]))
        if not attempted.failure:
            return choice, attempted
        first = first or (choice, attempted)
        passed.append((one, UserError(attempted.failure)))
    if first is not None:
        return first
    raise _none_can(passed, every[len(passed) :])


def _none_can(passed: Sequence[tuple[Ranked, UserError]], untried: Sequence[Ranked]) -> UserError:
    """Return the error for a source none of whose kernels can become a target.

    Args:
        passed: the kernels that were looked at, each with its error.
        untried: the kernels that were not looked at because time was up.
    """
    reason = passed[0][1]
    others = listed([one.kernel for one, _ in passed[1:]])
    what, hint = reason.what, reason.hint
    if others:
        what += f"; nor can its other kernels become targets, for reasons of their own: {others}"
    if untried:
        what += f"; {len(untried)} more were not looked at, since that took long"
        hint = _or_take(untried[0].kernel, hint)
    return UserError(what, where=reason.where, hint=hint)


def or_another(error: UserError, wanted: str, every: Sequence[Ranked]) -> UserError:
    """Add to the error of a kernel that the user named a hint at the next best kernel.

    Args:
        error: why the named kernel cannot become a target.
        wanted: the named kernel.
        every: all kernels, the one most worth a target first.
    """
    others = [one.kernel for one in every if one.kernel != wanted]
    said = error.hint is not None and "--kernel" in error.hint
    if said or not others or len(others) == len(every):
        return error
    return UserError(error.what, where=error.where, hint=_or_take(others[0], error.hint))


def _or_take(kernel: str, hint: str | None) -> str:
    """Return a hint, extended by the option that takes another kernel."""
    said = f"{hint}; or" if hint else "perhaps"
    return f"{said} take another kernel: --kernel {shlex.quote(kernel)}"
