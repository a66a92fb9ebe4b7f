"""Remove from a source's own headers, on the host, all that its variants cannot reach.

Headers whose includes stay precede the variants of a shard. Headers of the compiler and its
libraries are included unchanged. The others contain host code for libraries that are not installed,
like a variant's own text, and lose it in the same way (see
:mod:`gi_cuda.backends.compile.pruning.reachable_code`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.compile.caching.single_flight import once
from gi_cuda.backends.compile.process import run
from gi_cuda.backends.compile.pruning.host_code import without_host_code
from gi_cuda.backends.compile.pruning.items import Items, code_lines, read_items
from gi_cuda.backends.compile.pruning.needs import Needs
from gi_cuda.backends.compile.pruning.prune import identifiers
from gi_cuda.backends.compile.pruning.redeclared import separated
from gi_cuda.backends.compile.source import PREPROCESS_LIMIT
from gi_cuda.backends.host.build.library import INCLUDE
from gi_cuda.backends.host.build.preamble import preamble

_BEGIN = "#pragma gi_cuda front"
_MARKER = re.compile(r'# \d+ "(?P<file>(?:\\.|[^"\\])*)"(?P<flags>[ \d]*)')
_INCLUDE = re.compile(r'[ \t]*#[ \t]*include(?:_next)?[ \t]*[<"](?P<name>[^">]*)')


@dataclass(frozen=True, slots=True)
class OwnHeaders:
    """The text of a prelude, preprocessed except for includes of the compiler's headers.

    Attributes:
        lines: its lines.
        places: indices of the lines that are code.
        items: the declarations in these.
        needs: their dependencies.
        forward: declarations for the begin of every variant.
    """

    lines: tuple[str, ...]
    places: tuple[int, ...]
    items: Items
    needs: Needs
    forward: str

    def forward_of(self, functions: AbstractSet[str]) -> str:
        """Return the declarations in :attr:`forward` of some functions.

        Others may be of host functions, with types that do not exist.
        """
        found = [one for one in self.forward.split(";") if identifiers(one) & functions]
        return "".join(f"{one};" for one in found)

    def within_reach_of(self, names: Iterable[str]) -> str:
        """Return the code that variants with these names may need."""
        stay = self.needs.reached(frozenset(names))
        every, kept = set[int](), set[int]()
        for at, item in enumerate(self.items.items):
            (kept if at in stay else every).update(range(item.first, item.last + 1))
        gone = {self.places[line] for line in every - kept - self.items.gaps}
        return "\n".join("" if at in gone else line for at, line in enumerate(self.lines))


@once(maxsize=4)
def own_headers(
    cxx: str, options: tuple[str, ...], front: str, defined: frozenset[str]
) -> OwnHeaders | None:
    """Read a prelude; None if it cannot be preprocessed or parsed.

    Args:
        cxx: the compiler.
        options: options for preprocessing.
        front: the prelude, after directives that keep words such as ``__device__``.
        defined: functions that the source defines.
    """
    command = [cxx, "-E", "-dI", "-x", "c++", *options, f"-I{INCLUDE}", "-"]
    text = preamble(f"{_BEGIN}\n{front}\n", ())
    finished = run(command, limit=PREPROCESS_LIMIT, stdin=text)
    if not finished.ok:
        return None
    begin = finished.stdout.find(_BEGIN) + len(_BEGIN)
    own = "\n".join(_own_lines(finished.stdout[begin:].split("\n")))
    text, forward = separated(without_host_code(own), defined)
    code, places = code_lines(text, 0)
    items = read_items(code)
    if items is None:
        return None
    return OwnHeaders(tuple(text.split("\n")), tuple(places), items, Needs(items.items), forward)


def _own_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield a preprocessor's output with includes in place of the text of compilers' headers.

    The include directive precedes a header's text; a header that was included before has no text.
    """
    own: set[str] = set()  # files that were read, by path rather than by name in includes
    waiting: re.Match[str] | None = None
    depth = 0
    for line in lines:
        marker = _MARKER.match(line) if line.startswith("# ") else None
        flags = marker["flags"].split() if marker else []
        enters = "1" in flags
        if enters and marker and not _is_compilers(marker):
            own.add(os.path.normpath(marker["file"]))
        if waiting and line.strip() and (flags or not marker):
            if not _is_among(own, waiting["name"]):
                yield waiting.string
            waiting = None
        if enters and (depth or _is_compilers(marker)):
            depth += 1
        elif "2" in flags and depth:
            depth -= 1
        if depth:
            continue
        waiting = _INCLUDE.match(line) or waiting
        if marker:
            yield marker[0][: marker.start("flags")]
        elif not _INCLUDE.match(line):
            yield line


def _is_among(files: AbstractSet[str], name: str) -> bool:
    """Tell whether an include may be of one of some files.

    Two headers may include a third one by different paths, and a compiler does not report the
    second.
    """
    tail = re.sub(r"^(?:\.\./)+", "", os.path.normpath(name))
    return any(one == tail or one.endswith(f"/{tail}") for one in files)


def _is_compilers(marker: re.Match[str] | None) -> bool:
    """Tell whether a line marker is of a header of the compiler, its libraries or CUDA."""
    if marker is None:
        return False
    return "3" in marker["flags"].split() or Path(marker["file"]).is_relative_to(INCLUDE)
