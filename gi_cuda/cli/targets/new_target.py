"""Targets that a command writes for a user who has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.compile.caching.code_cache import CodeCache, size_of
from gi_cuda.capture import CASES, Application, KernelUse, capture, known_kernels
from gi_cuda.capture import Wish as CaptureWish
from gi_cuda.capture.launches.uses import chosen
from gi_cuda.cli.next_steps import command_line
from gi_cuda.cli.options import cores
from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.declarations.file import kernels
from gi_cuda.init import Compilation, files, find_source, read_whole, write_folder
from gi_cuda.trial import ProposalTrials, Wish

_MOST_MEMORY = "16G"


@dataclass(frozen=True, slots=True)
class NewTarget:
    """A target that is to be written.

    Attributes:
        source: the file with the kernel.
        kernel: name of the kernel; None for the most important one.
        compilation: include folders and macros of the source.
        folder: folder of the target.
        scratch: folder for temporary files.
    """

    source: Path
    kernel: str | None
    compilation: Compilation
    folder: Path
    scratch: Path

    def proposed(self, cache: CodeCache | None, tell: Callable[[str], None]) -> list[str]:
        """Write a target from the source, after trying it on the host; return notes on the choices.

        Raises:
            UserError: no proposed target passes.
        """
        built = find_source(self.source, self.compilation)
        trials = ProposalTrials(self.scratch, cores(), cache, tell)
        wish = Wish(built.source, built.compilation, ())
        found = wish.tried((self.kernel,) if self.kernel else (), trials)
        if not found.passes:
            said = "; ".join(found.tried) or "the original fails on its cases"
            raise UserError(
                f"no target can be made: {said}",
                where=str(self.source),
                hint=f"make one by hand, and name it with --target:"
                f" {command_line('init', self.source)}",
            )
        write_folder(self.folder, files(found.proposal, self.folder))
        return [*found.chosen, *found.tried]

    def captured(self, application: Sequence[str], tell: Callable[[str], None]) -> list[str]:
        """Write a target from an application's launches on a GPU; return a note on the capture.

        Raises:
            UserError: the application cannot run, or does not launch the kernel.
        """
        program = Application(tuple(application))
        uses = known_kernels(program, self.scratch)
        use = chosen(uses, self.kernel or self._launched(uses))
        wish = CaptureWish(
            self.compilation,
            None,
            self.source,
            "best",
            CASES,
            size_of(_MOST_MEMORY, "--limit"),
            2,
            self.folder,
        )
        (found,) = capture(program, [use], wish, self.scratch, tell)
        write_folder(found.folder, found.files)
        return [f"captured from {' '.join(application)}"]

    def _launched(self, uses: Sequence[KernelUse]) -> str:
        """Return the kernel of the source that takes most time in the application.

        Raises:
            UserError: the application launches no kernel of the source.
        """
        names = [one.name for one in kernels(read_whole(self.source, self.compilation))]
        for use in uses:
            for name in names:
                if use.name.is_meant_by(name):
                    return name
        raise UserError(
            "the application launches no kernel of this file",
            where=str(self.source),
            hint=f"its kernels: {', '.join(names)}",
        )
