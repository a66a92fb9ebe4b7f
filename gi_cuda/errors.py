"""What a user can get wrong, said once and clearly, and what ends a command otherwise."""

from __future__ import annotations

import errno


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
