"""Read proposals for launched kernels from their source, and group kernels into targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.capture.finding import check_age, defined_as, find_files, launched_from
from gi_cuda.capture.launches.observed import without_addresses
from gi_cuda.capture.launches.rounds import Rounds, rounds_of
from gi_cuda.capture.launches.running import Application
from gi_cuda.capture.launches.uses import KernelUse, obstacle
from gi_cuda.errors import UserError
from gi_cuda.evaluate.checks.finding import listed
from gi_cuda.init import Compilation, Proposal, find_source, from_database, join, joined, propose
from gi_cuda.init.source.sources import kernels_in, read_whole


@dataclass(frozen=True, slots=True)
class Wish:
    """Options of a capture.

    Attributes:
        compilation: macros, include folders and other options of the compiler.
        database: a ``compile_commands.json`` with further options.
        source: the file that defines the kernel; None: search for it.
        launches: ``FIRST..LAST``, from 1, or ``best``.
        cases: number of launches that become cases.
        limit: bytes of device memory that may be recorded.
        repeat: number of times that each launch is made if results are real numbers, to compare
            the results.
        folder: folder of the target; None: ``targets/`` and the proposal's name.
    """

    compilation: Compilation
    database: Path | None
    source: Path | None
    launches: str
    cases: int
    limit: int
    repeat: int
    folder: Path | None


@dataclass(frozen=True, slots=True)
class Read:
    """Kernels that go into one target.

    Attributes:
        rounds: the kernels and their launches.
        proposal: proposal that was read from their source.
        said: messages about the choice of the source.
    """

    rounds: Rounds
    proposal: Proposal
    said: tuple[str, ...] = ()


def read_kernels(application: Application, uses: Sequence[KernelUse], wish: Wish) -> list[Read]:
    """Read proposals for kernels from their sources.

    Kernels of one file that take turns and share memory are read together, every other kernel by
    itself.

    Raises:
        UserError: a source is not found, is newer than the program, or does not define the kernel.
    """
    by_source: dict[Path, list[Read]] = {}
    for use in uses:
        source, said = _source(application, use, wish)
        source, proposal = _with_launch(application, use, source, wish)
        read = Read(rounds_of([use]), proposal, said)
        by_source.setdefault(source.resolve(), []).append(read)
    return [one for every in by_source.values() for one in _together(every)]


def worth_most(uses: Sequence[KernelUse], application: Application) -> str | None:
    """Return the name of the kernel that is most worth a target; None if none can be captured.

    Kernels whose source is found come first, then those that take most time.
    """
    possible = [one for one in uses if obstacle(one) is None]
    for use in possible:
        with suppress(UserError):
            find_files(use.name, Path.cwd(), application.program)
            return use.name.shown
    return possible[0].name.shown if possible else None


def _together(every: Sequence[Read]) -> Iterator[Read]:
    """Merge the kernels of one source, if they take turns and share a buffer."""
    rounds = rounds_of([use for one in every for use in one.rounds.uses])
    if len(every) == 1 or not rounds.every:
        yield from every
        return
    proposals = {one.rounds.uses[0].name.mangled: one.proposal for one in every}
    proposal = join([proposals[use.name.mangled] for use in rounds.uses])
    names = {one.name for one in proposal.buffers}
    first, *others = (names & {*step.arguments} for step in proposal.steps)
    whole = all(one & first for one in others)
    if whole and not any(one.texture for one in proposal.buffers):
        yield Read(rounds, proposal, tuple(line for one in every for line in one.said))
    else:
        yield from every


def _source(application: Application, use: KernelUse, wish: Wish) -> tuple[Path, tuple[str, ...]]:
    here, program = Path.cwd(), application.program
    source, *others = [wish.source] if wish.source else find_files(use.name, here, program)
    check_age(use.name, source, program)
    names = listed([str(path) for path in others])
    said = (f"  also defined in {names}; --source FILE takes another",) if others else ()
    return source, said


def _with_launch(
    application: Application, use: KernelUse, source: Path, wish: Wish
) -> tuple[Path, Proposal]:
    """Return a kernel's source and proposal.

    If a header defines the kernel, the source is the file that launches it, provided that the
    header evolves with this file.
    """
    host = None if wish.source else launched_from(use.name, source)
    if host is not None:
        with suppress(UserError):
            proposal = _proposed(use, host, wish)
            check_age(use.name, host, application.program)
            if source.resolve() in (one.resolve() for one in proposal.evolving):
                return host, proposal
    return source, _proposed(use, source, wish)


def _proposed(use: KernelUse, source: Path, wish: Wish) -> Proposal:
    compilation = wish.compilation
    if wish.database is not None:
        compilation = joined(compilation, from_database(wish.database, source))
    built = find_source(source, compilation)
    code = read_whole(built.source, built.compilation)
    shown = [one.shown for one in kernels_in(code, built.compilation.fragment)]
    wanted = defined_as(use.name, source, shown)
    read = propose(built.source, wanted, built.compilation, templates=use.name.templates)
    how = replace(read.launching, cooperative=use.cooperative)
    return without_addresses(replace(read, launching=how))
