"""The steps from an application to a target's files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xxhash

from gi_cuda.capture.finding import check_age, defined_as, find_files
from gi_cuda.capture.fitted import Fitted, fit
from gi_cuda.capture.folder import Captured, files, named
from gi_cuda.capture.noise import Allowed, allowed, coarsest, reals
from gi_cuda.capture.observed import (
    Observation,
    mangled_variable,
    observe,
    texture_names,
    without_addresses,
)
from gi_cuda.capture.recording import Recording, Taken
from gi_cuda.capture.running import Application, Plan
from gi_cuda.capture.uses import KernelUse, best, launches_from, uses
from gi_cuda.errors import UserError
from gi_cuda.evaluate.checks.finding import listed
from gi_cuda.init import (
    Compilation,
    Proposal,
    check_free,
    find_source,
    from_database,
    joined,
    propose,
)
from gi_cuda.init.sources import kernels_in, read_whole

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of an application's kernel.

    Attributes:
        database: a ``compile_commands.json`` to look in.
        source: the file that it is in; None: it is looked for.
        launches: ``FIRST..LAST``, from 1, or ``best``.
        cases: how many launches become cases.
        limit: bytes of device memory that may be kept.
        repeat: runs that are compared where results are real numbers.
        folder: where the target goes.
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
class Capture:
    """A target that was captured.

    Attributes:
        folder: where it goes.
        files: by name.
        tolerances: of buffers that hold real numbers.
        lines: what was decided, for people.
    """

    folder: Path
    files: Mapping[str, str | bytes]
    proposal: Proposal
    cases: tuple[Captured, ...]
    tolerances: Mapping[str, Allowed]
    lines: tuple[str, ...]


def list_kernels(application: Application, scratch: Path) -> tuple[list[KernelUse], list[str]]:
    """The kernels that an application launches, the one that takes most time first, and what is to
    be said of the run.

    Args:
        scratch: a folder for what is written down.

    Raises:
        UserError: it cannot be run, or launches nothing.
    """
    found, status = application.run(Plan(), scratch / "listed", quiet=False)
    lines = []
    if status:
        lines.append(f"the application ended with status {status}")
    if len(found) > 1:
        lines.append(f"{len(found)} processes use CUDA: this is the one that launches most")
    if graphs := found[0].graphs:
        lines.append(f"{graphs} launches of graphs, whose kernels are not seen")
    return uses(found[0]), lines


def capture(
    application: Application, use: KernelUse, wish: Wish, scratch: Path, tell: Tell
) -> Capture:
    """A target for one kernel of an application.

    Args:
        scratch: a folder for what is written down; nothing of this kernel is there.
        tell: is told what is done next.

    Raises:
        UserError: the source does not have the kernel, or another one; its launches cannot be
            captured.
    """
    tell(f"reading the source of {use.name.shown}")
    proposal, said = proposed(application, use, wish)
    folder = wish.folder or Path("targets") / proposal.name
    check_free(folder, "--into")
    fitted = observed_launches(application, use, wish, proposal, scratch, tell)
    plan = _plan(use, fitted.source, wish)
    runs = []
    real = [b for b in fitted.proposal.buffers if b.role in ("output", "inout")]
    real = [b for b in real if b.element.floating]
    for number in range(2, wish.repeat + 1 if real else 0):
        tell(f"running it again, to see what differs from run to run ({number} of {wish.repeat})")
        runs.append(_taken(application, plan, scratch / f"run-{number}"))
    again = [{one.ordinal: one for one in run} for run in runs]
    tolerances = {one.name: _allowed(one.name, fitted, again) for one in real}
    found = captured(application, use, folder, fitted, tolerances)
    return replace(found, lines=(*said, *found.lines))


def observed_launches(
    application: Application,
    use: KernelUse,
    wish: Wish,
    proposal: Proposal,
    scratch: Path,
    tell: Tell,
) -> Fitted:
    """The launches of a kernel that become cases, and a proposal that agrees with them.

    Args:
        proposal: as it is read from the source.

    Others and errors: see :func:`capture`.
    """
    tell("running the application, and keeping what its launches get")
    taken = _taken(application, _plan(use, proposal, wish), scratch / "run-1")
    fitted = fit(proposal, [observe(proposal, one) for one in _whole(taken, wish)])
    return _different(fitted)


def captured(
    application: Application,
    use: KernelUse,
    folder: Path,
    fitted: Fitted,
    tolerances: Mapping[str, Allowed],
) -> Capture:
    """The target's files, and what is to be said of them."""
    roles = ["held-out" if index % 2 else "train" for index in range(len(fitted.launches))]
    cases = named(fitted, roles, f"`{application.shown}`")
    if len(cases) == 1:
        cases.append(named(fitted, ["held-out"], f"`{application.shown}`", "again")[0])
    written = files(fitted, cases, tolerances, application.shown, folder)
    lines = list(_lines(use, fitted, cases, folder))
    return Capture(folder, written, fitted.proposal, tuple(cases), tolerances, tuple(lines))


def proposed(
    application: Application, use: KernelUse, wish: Wish
) -> tuple[Proposal, tuple[str, ...]]:
    """What the source of a kernel says of it, and what is to be said of how that was chosen.

    Raises:
        UserError: the source is not found, was changed, or does not have the kernel.
    """
    here, program = Path.cwd(), application.program
    source, *others = [wish.source] if wish.source else find_files(use.name, here, program)
    check_age(use.name, source, application.program)
    compilation = wish.compilation
    if wish.database is not None:
        compilation = joined(compilation, from_database(wish.database, source))
    built = find_source(source, compilation)
    code = read_whole(built.source, built.compilation)
    shown = [one.shown for one in kernels_in(code, built.compilation.fragment)]
    wanted = defined_as(use.name, source, shown)
    read = propose(built.source, wanted, built.compilation, templates=use.name.templates)
    how = replace(read.launching, cooperative=use.cooperative)
    names = listed([str(path) for path in others])
    said = (f"  also defined in {names}; --source FILE takes another",) if others else ()
    return without_addresses(replace(read, launching=how)), said


def _plan(use: KernelUse, proposal: Proposal, wish: Wish) -> Plan:
    among = launches_from(wish.launches, len(use.launches))
    ordinals = best(use, among, wish.cases)
    symbols = {b.symbol: mangled_variable(b) for b in proposal.buffers if b.symbol}
    textures = [proposal.arguments.index(name) for name in texture_names(proposal)]
    return Plan({use.name.mangled: ordinals}, textures, symbols, wish.limit)


def _taken(application: Application, plan: Plan, folder: Path) -> list[Taken]:
    """What launches got, of the first process that made them."""
    found, _ = application.run(plan, folder, quiet=True)
    return next((taken for taken in map(Recording.taken, found) if taken), [])


def _whole(taken: Sequence[Taken], wish: Wish) -> list[Taken]:
    """The launches of which all is there."""
    whole = [one for one in taken if not one.trouble]
    if whole:
        return whole
    if not taken:
        raise UserError(
            "the launches did not happen again in a second run of the application",
            hint="it must do the same each time: fix its seeds, or say --launches 1",
        )
    word, _, number = taken[0].trouble.partition(" ")
    if word == "limit":
        raise UserError(
            f"a launch got {int(number) / 2e9:.3g} GB, before and after {int(number) / 1e9:.3g} GB,"
            f" and {wish.limit / 1e9:.3g} GB may be kept",
            hint=f"allow more, --limit {-(-int(number) // 2**30)}G, or give the application less"
            " to do",
        )
    said = {
        "graph": "is part of a graph that is made, and is not run by itself",
        "cluster": "is one of clusters of blocks, and such launches are not captured",
        "texture": "got a texture with several levels, or none at all",
        "unreadable": "got memory that cannot be read, as that of another device",
        "disk": "could not be kept: the disk is full, or its folder cannot be written (TMPDIR)",
    }.get(word, f"failed (CUDA's error {number})")
    raise UserError(
        f"launch {taken[0].ordinal + 1} of the kernel {said}",
        hint="take others: --launches FIRST..LAST, or another kernel",
    )


def _allowed(name: str, fitted: Fitted, again: Sequence[Mapping[int, Taken]]) -> Allowed:
    """How far a buffer's real numbers may be off, by all runs."""
    buffer = next(one for one in fitted.proposal.buffers if one.name == name)
    element, first, second = buffer.element, [], []
    for one in fitted.launches:
        answer = reals(element, one.pieces[name].read(element.type, after=True))
        for run in again:
            other = run.get(one.taken.ordinal)
            if other is None or other.trouble:
                continue
            seen = observe(fitted.source, other)
            if seen.pattern == one.pattern and _inputs(fitted, seen) == _inputs(fitted, one):
                first.append(answer)
                second.append(reals(element, seen.pieces[name].read(element.type, after=True)))
    every = [
        reals(element, one.pieces[name].read(element.type, after=True)) for one in fitted.launches
    ]
    return allowed(coarsest(element), every, list(zip(first, second, strict=True)))


def _inputs(fitted: Fitted, one: Observation) -> str:
    """A hash of all that a launch got."""
    digest = xxhash.xxh3_128(repr((one.taken.grid, one.taken.block, one.taken.shared)).encode())
    for value in one.scalars.values():
        digest.update(np.asarray(value).tobytes())
    for buffer in fitted.proposal.buffers:
        if buffer.role in ("input", "inout"):
            digest.update(one.pieces[buffer.name].read("uint8", after=False).tobytes())
    return digest.hexdigest()


def _different(fitted: Fitted) -> Fitted:
    """Without launches that got the same as an earlier one."""
    seen: dict[str, int] = {}
    for index, one in enumerate(fitted.launches):
        seen.setdefault(_inputs(fitted, one), index)
    return fitted.only(list(seen.values()))


def _lines(
    use: KernelUse, fitted: Fitted, cases: Sequence[Captured], folder: Path
) -> Iterator[str]:
    launches = [str(one.taken.ordinal + 1) for one in fitted.launches]
    yield f"captured {len(launches)} of {len(use.launches)} launches: {', '.join(launches)}"
    if fitted.alike:
        yield f"  {fitted.alike} more got the same as one of these, and are left out"
    if fitted.left_out:
        yield f"  {fitted.left_out} more got their pointers in another way, and are left out"
    for role in ("train", "held-out"):
        yield f"  {role}: {', '.join(one.name for one in cases if one.role == role)}"
    if len(fitted.launches) == 1:
        yield (
            "  the only one is train and held-out case; for a held-out case of its own add another"
            f" run: gi-cuda capture --add {folder} -- COMMAND"
        )
