"""The levels below source: one row for each text that a compiler makes and a search changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gi_cuda.backends.cuda.compile.cubin import name_parts, owner
from gi_cuda.backends.cuda.llvm.clang import ir_of, source_ir
from gi_cuda.backends.cuda.llvm.kernels import FUNCTION, KERNEL, optimised
from gi_cuda.backends.cuda.ptx.batch import ptx_of, source_ptx
from gi_cuda.backends.cuda.ptx.joining import in_namespace

if TYPE_CHECKING:
    from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
    from gi_cuda.backends.protocol.variants import Variant


@dataclass(frozen=True, slots=True)
class CompiledLevel:
    """A level that a compiler makes the text of.

    Attributes:
        made: the text of a variant with the number 0.
        alone: the text of the same source on its own, not in a namespace.
        to_ptx: makes PTX of the text; None: the text is PTX.
        kernel: finds the symbols of kernels in the text.
        function: finds those of functions with a body.
    """

    made: Callable[[NvccCompiler, Variant], str]
    alone: Callable[[NvccCompiler, Variant], str]
    to_ptx: Callable[[str, str], str] | None
    kernel: re.Pattern[str]
    function: re.Pattern[str]

    def ptx(self, text: str, architecture: str) -> str:
        """Return the PTX of a text.

        Raises:
            UserError: there is none.
        """
        return self.to_ptx(text, architecture) if self.to_ptx else text

    def kernels_in(self, text: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the symbols of a variant's kernels: those of the names given.

        Args:
            text: of the variant with the number 0.
            names: as a target gives them. Without any, or where one is more than an identifier, all
                kernels are meant.
        """
        ours = [one for one in self.kernel.findall(text) if owner(name_parts(one)) == 0]
        found = {symbol: name for symbol in ours if (name := name_parts(symbol)[-1]) in names}
        return tuple(found if names and set(found.values()) == set(names) else ours)

    def own_functions(self, text: str) -> frozenset[str]:
        """Return the symbols of a variant's functions, without those of headers."""
        return frozenset(name for name in self.function.findall(text) if in_namespace(name))


COMPILED_LEVELS: Mapping[str, CompiledLevel] = {
    "ptx": CompiledLevel(
        ptx_of,
        source_ptx,
        None,
        re.compile(r"\.entry\s+([\w$]+)"),
        re.compile(r"\.func\s+(?:\([^()]*\)\s*)?([\w$]+)"),
    ),
    "llvm": CompiledLevel(
        ir_of,
        source_ir,
        optimised,
        KERNEL,
        FUNCTION,
    ),
}
"""Rows by the names that :data:`gi_cuda.grammar.LEVELS` has for levels."""
