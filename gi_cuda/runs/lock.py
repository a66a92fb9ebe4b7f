"""One process at a time works on a run's folder, and others are told which.

The lock is on an open file, so it goes with the process that holds it, however that ends, and with
what it left to tidy up after itself (:mod:`gi_cuda.backends.leftovers`).
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
"""Seconds for which a lock may be held by what a dead process left to tidy up."""

_LOOKED = 0.02


@contextmanager
def locked(folder: Path, made: Path | None = None) -> Iterator[int]:
    """Work on a folder alone; gives the descriptor that holds the lock.

    Args:
        folder: is made, if it is not there and `made` is given.
        made: the run that is being made in it, for messages.

    Raises:
        UserError: another process works on it.
        OSError: nothing can be written there.
    """
    descriptor = _take(folder, made)
    try:
        _write(descriptor)
        yield descriptor
    finally:
        with suppress(OSError):  # as in a full file system
            os.ftruncate(descriptor, 0)
        os.close(descriptor)


def at_work(folder: Path) -> bool:
    """Whether a process works on a run, as far as can be told without disturbing it."""
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
    """Whether it is still this file that others find at the path."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    return False


def _write(descriptor: int) -> None:
    """Say who holds the lock."""
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
    """The process that holds a lock, if it is of this machine, and words for people."""
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
        pass  # it lives, and is another user's
    return True
