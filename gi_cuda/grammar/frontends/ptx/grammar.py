"""A PTX module as a grammar."""

from __future__ import annotations

from collections.abc import Collection

from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar, convert
from gi_cuda.grammar.frontends.ptx.loops import loops_of
from gi_cuda.grammar.frontends.ptx.syntax import read_functions
from gi_cuda.grammar.source import Source


def convert_ptx(
    source: Source, kernels: Collection[str] | None = None, functions: Collection[str] | None = None
) -> InstructionGrammar:
    """Read PTX as a grammar; see :func:`gi_cuda.grammar.frontends.instructions.grammar.convert`."""
    read = read_functions(source.text)
    return convert(source, "PTX", read, kernels, functions, loops_of)
