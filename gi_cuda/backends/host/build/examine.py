"""Examine the code that the host compiler makes of one variant alone."""

from __future__ import annotations

import re
from typing import Final

from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.host.build.linkage import Linkage, runs_when_loaded
from gi_cuda.backends.host.device_names import emulator_names, is_device_name
from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.undefined import said_name

OPTIONS: Final = ("-Wuninitialized", "-Wmaybe-uninitialized", "-fdata-sections")
"""Options for g++ and clang++: warn about unset locals, and put each variable into its own
section."""

_UNSET: Final = re.compile(
    r"'(?P<name>[^']+)' (?:(?P<sure>is used uninitialized|is uninitialized when used)"
    r"|may be (?:used )?uninitialized)"
)
"""Warnings of g++ and clang++ about unset locals."""

_POISONED: Final = re.compile(r"attempt to use (?:a )?poisoned (?:identifier )?\W?(\w+)")
_ASSEMBLY: Final = re.compile(r"^\t?#\s*APP\n(.*?)^\t?#\s*NO_APP\n", re.M | re.S)
_NOTE: Final = re.compile(r"^\s*#[^\n]*\n?", re.M)
_SECTION: Final = re.compile(r"\A\.[\w.]*?\.(?=_Z|\w+\Z)")
"""Begin of a section's name, before the name of its variable."""

_WORD: Final = re.compile(r"\w+")

ASSEMBLY: Final = "assembly of the processor"
AT_LOAD: Final = "code that runs when it is loaded"


def examination(
    plain: str, optimized: str, assembly: str, elf: Elf, reached: Linkage
) -> Examination:
    """Return the findings about a variant.

    Args:
        plain: warnings of a compiler run without optimization, which only reports locals that no
            path to a use sets.
        optimized: warnings of a run with optimization, which sees through calls and loops, and
            guesses.
        assembly, elf: output of the latter.
        reached: names that the variant uses.
    """
    told = list(_UNSET.finditer(optimized))
    unset = {one["name"] for one in told if one["sure"]}
    unset.update(one["name"] for one in _UNSET.finditer(plain))
    perhaps = frozenset(one["name"] for one in told) - unset
    foreign = {said_name(one) for one in reached.undefined if not is_device_name(one)}
    if runs_when_loaded(elf):
        foreign.add(AT_LOAD)
    if any(_NOTE.sub("", one).strip() for one in _ASSEMBLY.findall(assembly)):
        foreign.add(ASSEMBLY)
    state = frozenset(said_name(_SECTION.sub("", one)) for one in reached.variables)
    return Examination(frozenset(unset), perhaps, frozenset(foreign), state)


def poisoned(text: str) -> str:
    """Return a variant's text that makes a preprocessor report the emulator's names."""
    return f"#pragma GCC poison {' '.join(sorted(emulator_names()))}\n#line 1\n{text}"


def emulator_words(text: str, reported: str) -> frozenset[str]:
    """Return the emulator's names that a text contains, or makes by macros.

    Args:
        reported: a preprocessor's messages about the text from :func:`poisoned`.
    """
    return emulator_names().intersection(_WORD.findall(text)).union(_POISONED.findall(reported))
