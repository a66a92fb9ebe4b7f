"""The table of front ends: each language has a folder here and a row in the table."""

from __future__ import annotations

from gi_cuda.grammar.frontends.cuda.coverage.branches import count_branches
from gi_cuda.grammar.frontends.cuda.parsed_text import load_cuda, read_cuda
from gi_cuda.grammar.frontends.llvm.parsed_text import read_llvm
from gi_cuda.grammar.frontends.ptx.parsed_text import read_ptx
from gi_cuda.grammar.interface import FrontEnd

FRONT_ENDS = (
    FrontEnd("source", "CUDA", (".cu", ".cuh"), read_cuda, load_cuda, count_branches),
    # Move and swap are two of GEVO's six mutations.
    FrontEnd("ptx", "PTX", (".ptx",), read_ptx, pairs=1 / 3),
    FrontEnd("llvm", "LLVM-IR", (".ll",), read_llvm, pairs=1 / 3),
)

LEVELS = tuple(dict.fromkeys(one.level for one in FRONT_ENDS))
"""Names of the levels that can evolve: a target's source, or the text a compiler makes of it."""


def front_end(level: str, suffix: str = "") -> FrontEnd:
    """Return the front end of a level for files of a suffix.

    If no front end of the level has the suffix, return the level's first front end.

    Raises:
        KeyError: there is no level of that name.
    """
    found = [one for one in FRONT_ENDS if one.level == level]
    if not found:
        raise KeyError(level)
    return next((one for one in found if suffix in one.suffixes), found[0])
