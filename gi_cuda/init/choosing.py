"""A target for the kernel of a source that is most worth one, where none is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.file import kernels
from gi_cuda.init.compilation import Compilation
from gi_cuda.init.host_files import find_hosts
from gi_cuda.init.proposal import Proposal, propose
from gi_cuda.init.ranking import Ranked, ranked
from gi_cuda.init.sources import kernels_in, read_whole
from gi_cuda.spec.kernel_names import listed


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


def propose_best(path: Path, compilation: Compilation, hosts: Sequence[Path] = ()) -> Choice:
    """A target for the first kernel, in the order of :func:`rank_kernels`, that can become one.

    Raises:
        UserError: no kernel can; the message is the first one's.
    """
    every = rank_kernels(path, compilation, hosts)
    if len(every) < 2:
        proposal = propose(path, every[0].kernel if every else None, compilation, hosts)
        return Choice(proposal, every[0])
    passed: list[tuple[Ranked, UserError]] = []
    for index, one in enumerate(every):
        try:
            proposal = propose(path, one.kernel, compilation, hosts)
        except UserError as error:
            passed.append((one, error))
            continue
        return Choice(proposal, one, tuple(passed), every[index + 1 :])
    best, reason = passed[0]
    more = f"; none of its {len(every) - 1} other kernels can become a target either"
    raise UserError(f"{best.kernel}: {reason.what}{more}", where=reason.where, hint=reason.hint)
