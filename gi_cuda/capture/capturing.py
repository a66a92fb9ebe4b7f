"""Run an application, record its launches and write a target's files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import copytree, rmtree

import numpy as np
import xxhash

from gi_cuda.backends.compile.caching.cache import cache_folder, cached
from gi_cuda.capture.architectures import architectures
from gi_cuda.capture.fitted import Fitted, fit
from gi_cuda.capture.folder import Captured, files, named
from gi_cuda.capture.launches.observed import Observation, mangled_variable, observe, texture_names
from gi_cuda.capture.launches.recording import Recording, Taken, recordings
from gi_cuda.capture.launches.rounds import BETWEEN, Rounds, taken_rounds
from gi_cuda.capture.launches.running import Application, Plan
from gi_cuda.capture.launches.uses import KernelUse, best, launches_from, uses
from gi_cuda.capture.noise import Allowed
from gi_cuda.capture.reading import Read, Wish, read_kernels
from gi_cuda.capture.tolerances import tolerances_of
from gi_cuda.errors import UserError
from gi_cuda.init import Proposal, check_free
from gi_cuda.init.writing.write import Content

Tell = Callable[[str], None]

_LISTINGS = 32
"""Number of listings that the cache keeps."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A captured target.

    Attributes:
        folder: folder that the target is written to.
        files: contents of the files, by name.
        proposal: description of the kernel and its launch.
        cases: captured launches.
        tolerances: tolerances of buffers that hold real numbers, by buffer.
        lines: messages about decisions that were taken.
    """

    folder: Path
    files: Mapping[str, Content]
    proposal: Proposal
    cases: tuple[Captured, ...]
    tolerances: Mapping[str, Allowed]
    lines: tuple[str, ...]


def known_kernels(application: Application, scratch: Path) -> list[KernelUse]:
    """Return the kernels that an application launches, the one that takes most time first.

    The result is that of the last listing of the same command, if it is in the cache; otherwise of
    a new listing. For arguments and errors see :func:`list_kernels`.
    """
    folder = _listing(application)
    if not folder.exists():
        return list_kernels(application, scratch)[0]
    return uses(recordings(folder)[0])


def list_kernels(application: Application, scratch: Path) -> tuple[list[KernelUse], list[str]]:
    """Run an application and list the kernels that it launches.

    The listing is stored in the user's cache folder, if that is writable.

    Args:
        application: the application.
        scratch: a folder for the recording.

    Returns:
        The kernels, the one that takes most time first, and remarks on the run.

    Raises:
        UserError: the application cannot be run, or launches nothing.
    """
    run, kept = scratch / "listed", _listing(application)
    found, status = application.run(Plan(), run, quiet=False)
    rmtree(kept, ignore_errors=True)
    with suppress(UserError):
        cached(kept.name, partial(copytree, run), kept.parent, _LISTINGS)
    lines = []
    if status:
        lines.append(f"the application ended with status {status}")
    if len(found) > 1:
        lines.append(f"{len(found)} processes use CUDA: this is the one that launches most")
    if found[0].was_ended:
        lines.append(
            f"its time was up after {application.limit:g} s, and it was ended: --time TIME gives it"
            " more"
        )
    if graphs := found[0].graphs:
        lines.append(f"{graphs} launches of graphs, whose kernels are not seen")
    return uses(found[0]), lines


def _listing(application: Application) -> Path:
    """Return the folder of the cached listing of a command.

    The cache key is the command line, the current directory, and size and modification time of the
    files that the command names.
    """
    digest = xxhash.xxh3_128(repr((application.command, str(Path.cwd()))).encode())
    for file in (application.program, *map(Path, application.command)):
        if file is not None and file.is_file():
            told = file.stat()
            digest.update(f"{file} {told.st_size} {told.st_mtime_ns}".encode())
    return cache_folder() / "listings" / digest.hexdigest()


def capture(
    application: Application, uses: Sequence[KernelUse], wish: Wish, scratch: Path, tell: Tell
) -> list[Capture]:
    """Make targets for kernels of an application.

    Kernels of one source that take turns and share memory go into one target. Every other kernel
    gets its own target.

    Args:
        application: the application.
        uses: the kernels to capture.
        wish: options of the capture.
        scratch: an empty folder for recordings.
        tell: callback that receives progress messages.

    Raises:
        UserError: a kernel is not in the source, or differs from that of the program; launches
            cannot be captured; or several targets should go into one folder.
    """
    tell(f"reading the source of {', '.join(use.name.shown for use in uses)}")
    every = read_kernels(application, uses, wish)
    if wish.folder is not None and len(every) > 1:
        raise UserError(
            "--into names one folder, and these kernels are a target each: they stand in different"
            " files, or do not take turns with the same memory",
            where="--kernel",
            hint="name one kernel, or leave --into out",
        )
    return [
        _captured(application, one, wish, scratch / f"target-{number}", tell)
        for number, one in enumerate(every)
    ]


def _captured(
    application: Application, read: Read, wish: Wish, scratch: Path, tell: Tell
) -> Capture:
    """Make one target for kernels that fit into one target."""
    folder = wish.folder or Path("targets") / read.proposal.name
    check_free(folder, "--into")
    fitted = observed_launches(application, read, wish, scratch, tell)
    tell("looking how far its answers may be off")
    tolerances = tolerances_of(fitted, application.shown, scratch)
    found = _target(application, read.rounds, folder, fitted, tolerances)
    return replace(found, lines=(*read.said, *found.lines))


def observed_launches(
    application: Application, read: Read, wish: Wish, scratch: Path, tell: Tell
) -> Fitted:
    """Record the launches that become cases, and fit the proposal to them.

    Args:
        application: the application.
        read: the kernels and the proposal that was read from their source.
        wish, scratch, tell: see :func:`capture`, also for errors.
    """
    tell("running the application, and keeping what its launches get")
    taken = _taken(application, read, _plan(read, wish), scratch / "run-1")
    whole = _whole(taken, wish)
    fitted = fit(read.proposal, [observe(read.proposal, one) for one in whole])
    return replace(_different(_changing(fitted)), not_kept=len(taken) - len(whole))


def _target(
    application: Application,
    rounds: Rounds,
    folder: Path,
    fitted: Fitted,
    tolerances: Mapping[str, Allowed],
) -> Capture:
    """Make the files of a target, with messages about them."""
    roles = ["held-out" if index % 2 else "train" for index in range(len(fitted.launches))]
    cases = named(fitted, roles, f"`{application.shown}`")
    if len(cases) == 1:
        cases.append(named(fitted, ["held-out"], f"`{application.shown}`", "again")[0])
    built_for = architectures(program) if (program := application.program) else ()
    written = files(fitted, cases, tolerances, application.shown, folder, built_for)
    lines = list(_lines(rounds, fitted, cases, folder))
    return Capture(folder, written, fitted.proposal, tuple(cases), tolerances, tuple(lines))


def _plan(read: Read, wish: Wish) -> Plan:
    proposal, (first, *_), every = read.proposal, read.rounds.uses, read.rounds.every
    among = launches_from(wish.launches, len(every))
    rounds = {every[number][0]: every[number] for number in among}
    wanted = [rounds[number] for number in best(first, [*rounds], wish.cases)]
    symbols = {b.symbol: mangled_variable(b) for b in proposal.buffers if b.symbol}
    textures = [proposal.arguments.index(name) for name in texture_names(proposal)]
    ordinals = {
        use.name.mangled: [one[which] for one in wanted]
        for which, use in enumerate(read.rounds.uses)
    }
    again = wish.repeat - 1 if any(b.element.floating for b in proposal.buffers) else 0
    return Plan(ordinals, textures, symbols, again, wish.limit)


def _taken(application: Application, read: Read, plan: Plan, folder: Path) -> list[Taken]:
    """Run the application and return the planned launches of the first process that made them.

    Raises:
        UserError: the application failed before a launch was recorded.
    """
    found, status = application.run(plan, folder, quiet=True)
    first = next((taken for taken in map(Recording.taken, found) if taken), [])
    taken = [*taken_rounds(read.rounds, first)]
    if status and not taken:
        printed = (folder / "output").read_text(errors="replace").split("\n")
        last = next((line for line in reversed(printed) if line.strip()), "nothing")
        raise UserError(
            f"run once more, it ended with status {status} before any launch was kept; it said"
            f" last: {last.strip()}",
            where=application.shown,
            hint="it must do the same each time; if it dies only when its launches are kept, take"
            " others (--launches FIRST..LAST) or another kernel",
        )
    return taken


def _whole(taken: Sequence[Taken], wish: Wish) -> list[Taken]:
    """Return the launches that were recorded completely.

    Raises:
        UserError: there is none; the message says why.
    """
    whole = [one for one in taken if not one.trouble]
    if whole:
        return whole
    if not taken:
        raise UserError(
            "the launches did not happen again in a second run of the application",
            hint="it must do the same each time: fix its seeds, or say --launches 1; if its input"
            " is another one by now, list its kernels again: gi-cuda capture -- COMMAND",
        )
    word, _, number = taken[0].trouble.partition(" ")
    if word == "limit":
        raise UserError(
            f"a launch got {int(number) / 2**20:,.2f} MiB, to be kept before and after it, and"
            f" {wish.limit / 2**20:,.2f} MiB may be kept in all",
            hint=f"allow more, --limit {-(-3 * int(number) // 2**30)}G, or give the application"
            " less to do",
        )
    said = {
        "graph": "is part of a graph that is made, and is not run by itself",
        "cluster": "is one of clusters of blocks, and such launches are not captured",
        "texture": "got a texture with several levels, or none at all",
        "unreadable": "got memory that cannot be read, as that of another device",
        BETWEEN: "and those behind it share memory that something else changes between them",
        "disk": "could not be kept: the disk is full, or its folder cannot be written (TMPDIR)",
    }.get(word, f"failed (CUDA's error {number})")
    raise UserError(
        f"launch {taken[0].ordinal + 1} of the kernel {said}",
        hint="take others: --launches FIRST..LAST, or another kernel"
        + (", or each by itself" if word == BETWEEN else ""),
    )


def _inputs(fitted: Fitted, one: Observation) -> str:
    """Return a hash of a launch's geometry, scalars and input buffers."""
    digest = xxhash.xxh3_128(repr((one.taken.grid, one.taken.block, one.taken.shared)).encode())
    for value in one.scalars.values():
        digest.update(np.asarray(value).tobytes())
    for buffer in fitted.proposal.buffers:
        if buffer.role in ("input", "inout"):
            digest.update(one.pieces[buffer.name].read("uint8", after=False).data)
    return digest.hexdigest()


def _different(fitted: Fitted) -> Fitted:
    """Leave out launches whose inputs equal those of an earlier launch."""
    seen: dict[str, int] = {}
    for index, one in enumerate(fitted.launches):
        seen.setdefault(_inputs(fitted, one), index)
    return replace(fitted.only(list(seen.values())), alike=len(fitted.launches) - len(seen))


def _changing(fitted: Fitted) -> Fitted:
    """Leave out launches that changed none of their inout buffers, if other launches did.

    A kernel that does nothing would be right on these launches.
    """
    if any(one.role == "output" for one in fitted.proposal.buffers):
        return fitted
    written = [one.name for one in fitted.proposal.buffers if one.role == "inout"]
    launches = enumerate(fitted.launches)
    kept = [i for i, one in launches if any(one.pieces[name].changed for name in written)]
    idle = len(fitted.launches) - len(kept)
    return replace(fitted.only(kept), idle=idle) if kept else fitted


def _lines(
    rounds: Rounds, fitted: Fitted, cases: Sequence[Captured], folder: Path
) -> Iterator[str]:
    launches = [str(one.taken.ordinal + 1) for one in fitted.launches]
    names = [use.name.shown for use in rounds.uses]
    if len(names) > 1:
        yield f"each launch is one of {', then '.join(names)}"
    yield f"captured {len(launches)} of {len(rounds.every)} launches: {', '.join(launches)}"
    if fitted.not_kept:
        yield f"  {fitted.not_kept} more could not be kept: too much (--limit), or they failed"
    if fitted.idle:
        yield f"  {fitted.idle} more changed nothing, and are left out"
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
