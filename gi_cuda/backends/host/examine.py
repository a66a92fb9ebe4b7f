"""A closer look at what the host compiler makes of one variant alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.host.device_names import emulator_names, is_device_name
from gi_cuda.backends.host.linkage import Linkage, runs_when_loaded
from gi_cuda.backends.host.static_shared import plain_name
from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.undefined import said_name

OPTIONS: Final = ("-Wuninitialized", "-Wmaybe-uninitialized", "-fdata-sections")
"""Options that make g++ and clang++ warn of locals, and keep variables apart."""

_UNSET: Final = re.compile(
    r"'(?P<name>[^']+)' (?:(?P<sure>is used uninitialized|is uninitialized when used)"
    r"|may be (?:used )?uninitialized)"
)
"""As g++ and clang++ warn."""

_POISONED: Final = re.compile(r"attempt to use (?:a )?poisoned (?:identifier )?\W?(\w+)")
_ASSEMBLY: Final = re.compile(r"^\t?#\s*APP\n(.*?)^\t?#\s*NO_APP\n", re.M | re.S)
_NOTE: Final = re.compile(r"^\s*#[^\n]*\n?", re.M)
_WORD: Final = re.compile(r"\w+")

ASSEMBLY: Final = "assembly of the processor"
AT_LOAD: Final = "code that runs when it is loaded"


def examination(warnings: str, assembly: str, elf: Elf, reached: Linkage) -> Examination:
    """Findings about a variant.

    Args:
        warnings: of the compiler.
        assembly, elf: its output.
        reached: names that the variant reaches.
    """
    unset, perhaps = _unset(warnings)
    foreign = {said_name(one) for one in reached.undefined if not is_device_name(one)}
    if runs_when_loaded(elf):
        foreign.add(AT_LOAD)
    if any(_NOTE.sub("", one).strip() for one in _ASSEMBLY.findall(assembly)):
        foreign.add(ASSEMBLY)
    state = frozenset(map(plain_name, reached.variables))
    return Examination(unset, perhaps, frozenset(foreign), state)


def _unset(warnings: str) -> tuple[frozenset[str], frozenset[str]]:
    """Locals that nothing can have set where they are read, and those that perhaps nothing has."""
    found = list(_UNSET.finditer(warnings))
    sure = frozenset(one["name"] for one in found if one["sure"])
    return sure, frozenset(one["name"] for one in found) - sure


def poisoned(text: str) -> str:
    """A variant's text in which a preprocessor reports each name of the emulator."""
    return f"#pragma GCC poison {' '.join(sorted(emulator_names()))}\n#line 1\n{text}"


def emulator_words(text: str, reported: str) -> Iterator[str]:
    """Names of the emulator that a text says, or puts together.

    Args:
        reported: a preprocessor's messages about the text as :func:`poisoned`.
    """
    yield from emulator_names().intersection(_WORD.findall(text))
    yield from _POISONED.findall(reported)
