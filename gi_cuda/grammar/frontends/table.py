"""The front ends: a language is one folder here, and one row of this table."""

from __future__ import annotations

from gi_cuda.grammar.frontends.cuda.branches import count_branches
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
"""What can be evolved: a target's source, or what a compiler makes of it."""


def front_end(level: str, suffix: str = "") -> FrontEnd:
    """The front end of a level for files of a suffix; the level's first where none claims that.

    Raises:
        KeyError: there is no such level.
    """
    found = [one for one in FRONT_ENDS if one.level == level]
    if not found:
        raise KeyError(level)
    return next((one for one in found if suffix in one.suffixes), found[0])
