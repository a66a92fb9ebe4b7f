"""Lock that lets one process at a time work on a run's folder, and names that process.

The lock is an ``flock`` on an open file. It ends with the process that holds it, however that
process ends, and with the clean-up processes that inherited the descriptor
(:mod:`gi_cuda.backends.leftovers`).
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gi_cuda.errors import UserError

FILE = ".lock"

_TIDYING = 15.0
"""Seconds to wait for the clean-up processes of a dead process, which still hold its lock."""

_LOOKED = 0.02
"""Seconds between two attempts to take the lock."""
"""Seconds between two attempts to take the lock."""
"""Seconds between two attempts to take the lock."""


@contextmanager
def locked(folder: Path, made: Path | None = None) -> Iterator[int]:
    """Hold the lock of a folder; yield the descriptor that holds it.

    Args:
        folder: the folder to lock; it is created if it does not exist and `made` is given.
        made: the final folder of a run that is being created in `folder`, for messages.

    Raises:
        UserError: another process holds the lock.
        OSError: the folder is not writable.
    """
    descriptor = _take(folder, made)
    try:
        _write(descriptor)
        yield descriptor
    finally:
        with suppress(OSError):  # e.g. the file system is full
            os.ftruncate(descriptor, 0)
        os.close(descriptor)


def at_work(folder: Path) -> bool:
    """Tell whether a process works on a run, without taking its lock.

    The answer comes from the process number in the lock file, so it can be out of date.
    """
    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY)
    except OSError:
        return False
    try:
        if not os.fstat(descriptor).st_size:
            return False
        process, _ = _holder(descriptor)
        return process is None or _lives(process)
    finally:
        os.close(descriptor)


def _take(folder: Path, made: Path | None) -> int:
    deadline = time.monotonic() + _TIDYING
    while True:
        if made is not None:
            folder.mkdir(exist_ok=True)
        descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(folder / FILE, descriptor):
                return descriptor
        except BlockingIOError:
            process, who = _holder(descriptor)
            if process is None or _lives(process) or time.monotonic() > deadline:
                doing = "at work on" if made is None else "making"
                os.close(descriptor)
                raise UserError(
                    f"another process is {doing} this run: {who}",
                    where=str(made or folder),
                    hint="wait until it ends, or stop it",
                ) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        time.sleep(_LOOKED)


def _is_there(path: Path, descriptor: int) -> bool:
    """Tell whether the path still leads to the open file."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    return False


def _write(descriptor: int) -> None:
    """Write into the lock file who holds the lock."""
    said = {
        "process": os.getpid(),
        "machine": platform.node(),
        "command": shlex.join(["gi-cuda", *sys.argv[1:]]),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    with suppress(OSError):  # the lock holds without it
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(said).encode(), 0)


def _holder(descriptor: int) -> tuple[int | None, str]:
    """Return the process that holds a lock, and a description of it for messages.

    The process is None if it runs on another machine or the file does not name it.
    """
    try:
        said = json.loads(os.pread(descriptor, 65536, 0))
        process, machine = int(said["process"]), str(said["machine"])
        who = f"{process} on {machine}, since {said['since']} ({said['command']})"
    except (ValueError, KeyError, TypeError):
        return None, "it does not say which"
    return process if machine == platform.node() else None, who


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # the process is alive, and belongs to another user
    return True
