"""A target for the kernel of a source that is most worth one, where none is named."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.file import kernels
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.host.host_files import find_hosts
from gi_cuda.init.proposing.proposal import Proposal
from gi_cuda.init.ranking import Ranked, ranked
from gi_cuda.init.source.sources import kernels_in, read_whole
from gi_cuda.spec.kernel_names import listed


class Attempted(Protocol):
    """What became of a target that was tried."""

    @property
    def proposal(self) -> Proposal:
        """The target, which may have been changed meanwhile."""

    @property
    def failure(self) -> str:
        """What is wrong with it; "" where nothing is."""


_Attempted = TypeVar("_Attempted", bound=Attempted)


@dataclass(frozen=True, slots=True)
class Untried:
    """A target that nobody tries."""

    proposal: Proposal
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A target that was proposed for one of several kernels.

    Attributes:
        taken: the kernel that it is for.
        passed: better ones that cannot become targets, each with what is in the way.
        others: those behind it, the next best first.
    """

    proposal: Proposal
    taken: Ranked
    passed: tuple[tuple[Ranked, UserError], ...] = ()
    others: tuple[Ranked, ...] = ()

    def lines(self) -> Iterator[str]:
        """What was chosen, why, and how to choose otherwise; nothing where there is no choice."""
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
    """All kernels of a source with its headers, the one most worth a target first.

    Args:
        hosts: files that launch them, if they are not to be searched for.

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
    """The first kernel whose target passes; where none does, the first that can become a target.

    Args:
        every: all kernels, the one most worth a target first.
        propose: makes a target for a kernel; for None, for the only one there is.
        attempt: says what becomes of a target.
        go_on: asked before a further kernel is looked at.

    Raises:
        UserError: no kernel can become a target; the message is the first one's.
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
    """Why no kernel that was looked at can become a target.

    Args:
        passed: these, each with what is in the way.
        untried: those for which there was no time.
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
    """Why a kernel that was named cannot become a target, and which one may.

    Args:
        every: all kernels, the one most worth a target first.
    """
    others = [one.kernel for one in every if one.kernel != wanted]
    said = error.hint is not None and "--kernel" in error.hint
    if said or not others or len(others) == len(every):
        return error
    return UserError(error.what, where=error.where, hint=_or_take(others[0], error.hint))


def _or_take(kernel: str, hint: str | None) -> str:
    """A hint, and beside it that another kernel may do."""
    said = f"{hint}; or" if hint else "perhaps"
    return f"{said} take another kernel: --kernel {shlex.quote(kernel)}"
