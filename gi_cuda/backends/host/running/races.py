"""The detector of data races: compiles variants that report each access to the runtime."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gi_cuda.backends.compile.process import run
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.backends.protocol.backend import LogForm, Sanitizer
from gi_cuda.errors import UserError

WATCHED: Final = (
    # The runtime library (src/races.cpp) defines the functions that instrumented code calls, so
    # g++'s own library must not be linked.
    *("-fsanitize=thread", "--param=tsan-distinguish-volatile=1"),
    *("-nodefaultlibs", "-Wl,--no-as-needed", "-lm", "-lc", "-lgcc"),
    *("-fno-builtin-memcpy", "-fno-builtin-memset"),
    *("-g1", "-gdwarf-4", "-O1"),
)
"""Options of g++ that make code report its accesses."""

_OLDEST: Final = 11
"""First version of g++ that distinguishes volatile accesses."""

_PLACE: Final = re.compile(r"(?<=\t)(/[^\t\n]*)\+(0x[0-9a-f]+)")
_LOCATION: Final = re.compile(r"(?:[^\n/]*/)*([^\n/:]+:\d+)")
_LIMIT: Final = 60.0


def race_detector(compiler: HostCompiler) -> Sanitizer:
    """Return the race detector for programs of a compiler.

    Raises:
        UserError: there is no g++, or it is too old.
    """
    gxx = shutil.which("g++")
    version = run([gxx, "-dumpversion"], limit=_LIMIT).stdout.split(".")[0].strip() if gxx else ""
    if gxx is None or not version.isdigit() or int(version) < _OLDEST:
        raise UserError(
            "no detector of races: " + (f"g++ is {version}" if gxx else "g++ is not on PATH"),
            hint=f"install g++ {_OLDEST} or newer, e.g. `apt install g++`",
        )

    options = (*compiler.options, *WATCHED)
    watched = replace(compiler, cxx=gxx, options=options, sizes=Sizes(1, 1))
    return Sanitizer("races", watched, LogForm.RACES, None, with_lines)


def with_lines(log: str) -> str:
    """Replace code addresses in a log of the runtime by source lines."""
    places: dict[str, set[str]] = {}
    for path, offset in _PLACE.findall(log):
        places.setdefault(path, set()).add(offset)
    lines = {path: _lines(path, sorted(offsets)) for path, offsets in places.items()}
    return _PLACE.sub(lambda match: lines[match[1]].get(match[2], ""), log)


def _lines(path: str, offsets: Iterable[str]) -> dict[str, str]:
    """Return files and lines for code offsets in a library, the innermost function first."""
    program = shutil.which("addr2line")
    if program is None:
        return {}
    said = run([program, "-a", "-i", "-e", path, *offsets], limit=_LIMIT).stdout
    found: dict[str, str] = {}
    for part in re.split(r"^(?=0x)", said, flags=re.M)[1:]:
        address, _, frames = part.partition("\n")
        found[hex(int(address, 16))] = " ".join(_LOCATION.findall(frames))
    return found
