"""Isolate a process that runs untrusted kernels on the host.

A kernel on the host is code in an ordinary process. Without isolation it could read the expected
answers from a file, write a file for its next run, or contact a server. Two mechanisms of Linux
need no privileges and work in containers. A seccomp filter kills a process that opens a socket,
starts another process or inspects one, and rejects writing files. Landlock permits reading the
files of compilers and of Python, and no others. The process cannot undo either.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

import gi_cuda
from gi_cuda.backends.compile.process import run

_system: Final = ctypes.CDLL(None, use_errno=True)

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
"""Arguments of ``prctl``."""

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
"""Instructions of a filter: load a word; jump if it is equal; jump if it has a bit; return."""

_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets of the call's number, the architecture and the arguments in a filter's input."""

_NO_SUCH_CALL, _FORBIDDEN = 38, 13
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_THREAD: Final = 0x10000
"""Flag of ``clone`` that makes a thread instead of a process."""

_MACHINES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Number of the architecture, and column of the tables below, by machine."""

_ENDING: Final = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kill": (62, 129),
    "pidfd_open": (434, 434),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "mount": (165, 40),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "add_key": (248, 217),
}
"""System calls that kill the process."""

_REFUSED: Final = {
    "creat": (85, None),
    "truncate": (76, 45),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "chmod": (90, None),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "fchownat": (260, 54),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
}
"""System calls that fail, as on a read-only file system."""

_OPENING: Final = {1: (2, None), 2: (257, 56)}
"""``open`` and ``openat``, by the index of their flags. They fail for writing."""

_CLONE, _UNREADABLE = (56, 220), {"clone3": (435, 435), "openat2": (437, 437)}
"""A call that may only make threads, and calls whose flags no filter can read. The C library works
without the latter if they do not exist."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATHS: Final = 1
_EXECUTE, _READ = 1, 1 << 2 | 1 << 3
_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of file rights that each version of Landlock knows."""

_READABLE: Final = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
_SPARE: Final = 4 << 30
"""Bytes of address space for ranges that are reserved to keep them free."""


def isolate(readable: Iterable[Path]) -> str:
    """Isolate this process until it ends. Return a description of the isolation in force.

    Args:
        readable: folders whose files it may still read.
    """
    _limit_memory()
    _system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    hidden = _restrict_files([*map(str, readable), *_own_files()])
    filtered = _filter_calls()
    found = ["no network, no other processes, no files written (seccomp)"] if filtered else []
    found += ["no files read but code (Landlock)"] if hidden else []
    return "; ".join(found)


@cache
def isolation() -> str:
    """Describe how this machine isolates untrusted kernels; "" if not at all."""
    asked = "from gi_cuda.backends.host.running.isolation import isolate; print(isolate([]))"
    return run([sys.executable, "-c", asked], limit=20.0).stdout.strip()


def _own_files() -> list[str]:
    """Return paths that Python and the libraries of a worker may still need."""
    packages = [one for one in sys.path if Path(one).name in ("site-packages", "dist-packages")]
    own = str(Path(gi_cuda.__file__).parent)
    return [*_READABLE, sys.prefix, sys.base_prefix, own, *packages]


def _limit_memory() -> None:
    """Limit address space to what a target may need at most, and forbid core dumps."""
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = (pages + os.sysconf("SC_PHYS_PAGES")) * resource.getpagesize() + _SPARE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# -- files: Landlock --------------------------------------------------------------------------


def _restrict_files(readable: Sequence[str]) -> bool:
    """Permit reading these files and folders only. Return whether that succeeded."""
    version = _system.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    rights = (1 << _RIGHTS.get(version, _RIGHTS[max(_RIGHTS)])) - 1
    asked = struct.pack("=Q", rights)
    rules = _system.syscall(_CREATE_RULESET, asked, ctypes.c_size_t(len(asked)), 0)
    if rules < 0:
        return False
    try:
        for path in dict.fromkeys(readable):
            with suppress(OSError):
                _allow(rules, path)
        return bool(_system.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = _READ if os.path.isdir(path) else _READ & ~(1 << 3)
        rule = struct.pack("=Qi", rights, place)
        _system.syscall(_ADD_RULE, rules, _PATHS, rule, 0)
    finally:
        os.close(place)


# -- system calls: seccomp --------------------------------------------------------------------


def _filter_calls() -> bool:
    """Install a filter of system calls. Return whether that succeeded."""
    known = _MACHINES.get(platform.machine())
    if known is None or sys.byteorder != "little":
        return False
    program = b"".join(_filter(*known))
    count = len(program) // 8
    memory_of = ctypes.create_string_buffer(program)
    held = struct.pack("@HxxxxxxP", count, ctypes.addressof(memory_of))
    return bool(_system.prctl(_SET_SECCOMP, _FILTER, held, 0, 0) == 0)


def _filter(architecture: int, column: int) -> list[bytes]:
    """Return the instructions of the filter, which compares the call with each number in turn."""
    one = _instruction
    lines = [
        *(one(_LOAD, _ARCHITECTURE), one(_EQUAL, architecture, 1, 0), one(_RETURN, _KILL)),
        *(one(_LOAD, _NUMBER), one(_ANY_BIT, 0x40000000, 0, 1), one(_RETURN, _KILL)),
    ]
    for calls, answer in (
        (_ENDING, _KILL),
        (_REFUSED, _ERRNO | _FORBIDDEN),
        (_UNREADABLE, _ERRNO | _NO_SUCH_CALL),
    ):
        for numbers in calls.values():
            if (number := numbers[column]) is not None:
                lines += [one(_EQUAL, number, 0, 1), one(_RETURN, answer)]
    for place, numbers in _OPENING.items():
        if (number := numbers[column]) is not None:
            lines += _where_flags(number, place, _WRITING, (_ERRNO | _FORBIDDEN, _ALLOW))
    lines += _where_flags(_CLONE[column], 0, _THREAD, (_ALLOW, _KILL))
    return [*lines, one(_RETURN, _ALLOW)]


def _where_flags(number: int, place: int, flags: int, answers: tuple[int, int]) -> list[bytes]:
    """Return instructions that decide about a call by whether an argument has one of some flags.

    Args:
        place: index of the argument.
        answers: results if it has one, and if not.
    """
    one = _instruction
    return [
        one(_EQUAL, number, 0, 4),
        one(_LOAD, _ARGUMENTS + 8 * place),
        one(_ANY_BIT, flags, 0, 1),
        one(_RETURN, answers[0]),
        one(_RETURN, answers[1]),
    ]


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
