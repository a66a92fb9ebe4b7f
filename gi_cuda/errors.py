"""Exceptions: errors that a user can correct, and failures of the machine, device or workers."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path


class UserError(Exception):
    """An error that the user can correct: what is wrong, where, and what to do about it.

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
    """A lack of a machine resource, such as disk space; the command can go on once it is there."""


class NoRoom(UserError):
    """A device whose free memory is too small to open it; other processes hold the rest now."""


RUN_FILE = "run.db"
"""Name of the file that every run's folder contains."""

TARGET_FILE = "target.toml"
"""Name of the file that every target's folder contains."""

SOURCES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl")
"""Suffixes of files that may define a kernel."""

_NAMED = 6
"""Largest number of folders that a hint names."""


def folders_with(file: str, *roots: Path) -> list[str]:
    """Return each root, and each folder directly in a root, that contains a file of this name."""
    found = [one for root in roots for one in (root / file, *sorted(root.glob(f"*/{file}")))]
    return list(dict.fromkeys(str(one.parent) for one in found if one.is_file()))


def offered(what: str, folders: Sequence[str], else_: str) -> str:
    """Return a hint that lists folders, or that says what to do if the list is empty.

    Args:
        what: plural noun for the folders, for example "targets".
        else_: the hint if there are no folders.
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
    """Return the error for a path that is not a run.

    The error says what the path is (a target or a source), or lists the runs nearby.
    """
    what, hint = "no run is stored here", runs_here()
    if (path / TARGET_FILE).is_file() or path.name == TARGET_FILE:
        what, hint = f"{what}: it is a target", f"to make a run of it: gi-cuda evolve {path}"
    elif path.suffix in SOURCES:
        what, hint = f"{what}: it is a source", f"to make a target of it: gi-cuda init {path}"
    elif inside := folders_with(RUN_FILE, path):
        hint = offered("runs", inside, "")
    return UserError(what, where=str(path), hint=hint)


def no_target(file: Path) -> UserError:
    """Return the error for a ``target.toml`` that does not exist.

    The error says what the path is (a run or a source), or lists the targets nearby.
    """
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
    """Return the error for a path that is not a source file; it lists the sources in the folder."""
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
    """Tell whether an error means that the machine is out of memory."""
    return isinstance(error, MemoryError) or error.errno == errno.ENOMEM


def machine_error(error: OSError | MemoryError) -> MachineError:
    """Return an error of the operating system as a message for users, with a hint."""
    number = errno.ENOMEM if isinstance(error, MemoryError) else error.errno
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    what, hint = _WORDS.get(number or 0, (reason, "run again with --debug to see more"))
    file = error.filename if isinstance(error, OSError) else None
    return MachineError(what, where=None if file is None else str(file), hint=hint)


class WorkerFault(Exception):
    """A failure to start any worker; its text is the message of the process that starts them."""


class DeviceLost(Exception):
    """A device that worked before and now fails.

    Args:
        said: the symptom, for example the driver's message.
    """

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said

    def __str__(self) -> str:
        return (
            f"the device is lost: {self.said}\n"
            "  look at `nvidia-smi` and `gi-cuda doctor`, and go on once it works"
        )
