"""What a user can get wrong, said once and clearly, and what ends a command otherwise."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path


class UserError(Exception):
    """A mistake the user can mend: what is wrong, where, and what to do.

    The command line prints it without a traceback and exits with status 2.

    Args:
        what: what is wrong, one sentence without a final full stop.
        where: file, line or key, e.g. ``targets/x/target.toml:12: parameter[0].values``.
        hint: what to do about it.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  {self.hint}" if self.hint else text


class MachineError(UserError):
    """The machine has not what is needed, as room on a disk; once it has, all goes on."""


class NoRoom(UserError):
    """A device has no memory left for who opens it, beside what others hold there now."""


RUN_FILE = "run.db"
"""The file that makes a folder a run."""

TARGET_FILE = "target.toml"
"""The file that makes a folder a target."""

SOURCES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl")
"""Suffixes of files that may define a kernel."""

_NAMED = 6
"""Folders that a hint names at most."""


def folders_with(file: str, *roots: Path) -> list[str]:
    """Return the folders that hold a file: the roots, and those directly in them."""
    found = [one for root in roots for one in (root / file, *sorted(root.glob(f"*/{file}")))]
    return list(dict.fromkeys(str(one.parent) for one in found if one.is_file()))


def offered(what: str, folders: Sequence[str], else_: str) -> str:
    """Return a hint that names what there is, or says how to make one.

    Args:
        what: the plural noun.
        else_: what to do where there is none.
    """
    more = f" and {len(folders) - _NAMED} more" if len(folders) > _NAMED else ""
    return f"the {what} here: {', '.join(folders[:_NAMED])}{more}" if folders else else_


def targets_here(root: Path = Path()) -> str:
    """Return a hint that names the targets below a folder."""
    found = folders_with(TARGET_FILE, root, root / "targets")
    return offered("targets", found, "gi-cuda init FILE.cu makes a target of a source")


def runs_here(root: Path = Path()) -> str:
    """Return a hint that names the runs below a folder."""
    found = folders_with(RUN_FILE, root, root / "runs")
    return offered("runs", found, "gi-cuda evolve TARGET makes a run")


def no_run(path: Path) -> UserError:
    """Return what to say of a path that is no run: what it is, or which runs there are."""
    what, hint = "no run is stored here", runs_here()
    if (path / TARGET_FILE).is_file() or path.name == TARGET_FILE:
        what, hint = f"{what}: it is a target", f"to make a run of it: gi-cuda evolve {path}"
    elif path.suffix in SOURCES:
        what, hint = f"{what}: it is a source", f"to make a target of it: gi-cuda init {path}"
    elif inside := folders_with(RUN_FILE, path):
        hint = offered("runs", inside, "")
    return UserError(what, where=str(path), hint=hint)


def no_target(file: Path) -> UserError:
    """Return what to say of a ``target.toml`` that is not there: what the path is, or which targets
    there are."""
    folder = file.parent if file.name == TARGET_FILE else file
    what, hint = "there is no target here", targets_here()
    if (folder / RUN_FILE).is_file():
        what, hint = f"{what}: it is a run", f"to search further: gi-cuda resume {folder}"
    elif file.suffix in SOURCES and file.is_file():
        what = "this is a CUDA source, and a target is needed"
        hint = f"to make a target of it: gi-cuda init {file}"
    elif inside := folders_with(TARGET_FILE, folder):
        hint = offered("targets", inside, "")
    return UserError(what, where=str(folder / TARGET_FILE if folder.is_dir() else file), hint=hint)


def no_source(path: Path) -> UserError:
    """Return what to say of a path that is no source: what it is, or which sources are there."""
    folder = path if path.is_dir() else path.parent
    what = "this is a folder, and a CUDA source is needed" if path.is_dir() else "there is no file"
    found = [str(one) for one in sorted(folder.glob("*.cu*")) if one.suffix in SOURCES]
    return UserError(
        what, where=str(path), hint=offered("sources", found, "gi-cuda init PATH/FILE.cu")
    )


_ROOM = "make room, and go on"
_ELSEWHERE = "name another place, or make this one writable"
_WORDS = {
    errno.ENOSPC: ("the disk is full", _ROOM),
    errno.EDQUOT: ("your share of the disk is used up", _ROOM),
    errno.EFBIG: ("a file would grow larger than files may here", "see `ulimit -f`"),
    errno.EROFS: ("nothing can be written there: the file system is read-only", _ELSEWHERE),
    errno.EACCES: ("permission denied", _ELSEWHERE),
    errno.ENOMEM: ("there is no memory left", "end other programs, or take a smaller --population"),
    errno.EAGAIN: ("no further process can be started", "end other programs; see `ulimit -u`"),
    errno.EMFILE: ("too many files are open", "raise `ulimit -n`"),
    errno.ENAMETOOLONG: ("the name is too long", "take a shorter one"),
    errno.ELOOP: ("symbolic links go round in circles", "mend them"),
}


def is_memory(error: OSError | MemoryError) -> bool:
    """Whether it is memory that is lacking."""
    return isinstance(error, MemoryError) or error.errno == errno.ENOMEM


def machine_error(error: OSError | MemoryError) -> MachineError:
    """What the system said, for people."""
    number = errno.ENOMEM if isinstance(error, MemoryError) else error.errno
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    what, hint = _WORDS.get(number or 0, (reason, "run again with --debug to see more"))
    file = error.filename if isinstance(error, OSError) else None
    return MachineError(what, where=None if file is None else str(file), hint=hint)


class WorkerFault(Exception):
    """The workers cannot be started at all: what the process they come from said."""


class DeviceLost(Exception):
    """A device that worked does so no longer.

    Args:
        said: how that shows.
    """

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said

    def __str__(self) -> str:
        return (
            f"the device is lost: {self.said}\n"
            "  look at `nvidia-smi` and `gi-cuda doctor`, and go on once it works"
        )
