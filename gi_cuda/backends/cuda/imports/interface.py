"""The kernels, parameters and variables that imported code must have to replace a target's kernels.

They are read from the PTX that nvcc makes of the target's source on its own, outside of a variant's
namespace. So the symbols are those of a user who compiles the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.backends.cuda.compile.cubin import plain_name
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.imports.signature import Signature, in_ptx
from gi_cuda.backends.cuda.ptx.batch import source_ptx
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.spec.launching.kernel_names import is_plain

_POINTER = re.compile(r"\bgi_(?P<what>kernel|symbol)_(?P<number>\d+)\s*=\s*(?:generic\()?(\w+)")
_VARIABLE = re.compile(
    r"^(?:\.(?:visible|weak|extern|common)\s+)*\.(?:global|const)\b[^;={\n]*?"
    r"(?P<name>[\w$]+)\s*(?:\[\d*\]\s*)*(?:=|;)",
    re.M,
)


@dataclass(frozen=True, slots=True)
class Interface:
    """A target's kernels and variables as nvcc makes them of its source.

    Attributes:
        symbols: symbol of each kernel, by its name in the target.
        signatures: signature of each kernel, by its name in the target.
        variables: symbols of the variables that the target sets or reads, by their names in it.
    """

    symbols: Mapping[str, str]
    signatures: Mapping[str, Signature]
    variables: Mapping[str, str]


def interface(compiler: NvccCompiler, variant: Variant) -> Interface:
    """Compile a source on its own, and return the interface of its kernels.

    Raises:
        UserError: it does not compile.
    """
    ptx = source_ptx(compiler, variant)
    pointed = {(m["what"], int(m["number"])): m[3] for m in _POINTER.finditer(ptx)}
    signatures = in_ptx(ptx)
    symbols = _found("kernel", compiler.kernels, signatures, pointed)
    there = [m["name"] for m in _VARIABLE.finditer(ptx)]
    variables = _found("symbol", compiler.symbols, there, pointed)
    return Interface(
        symbols, {name: signatures[symbol] for name, symbol in symbols.items()}, variables
    )


def _found(
    what: str,
    names: Sequence[str],
    symbols: Mapping[str, Signature] | Sequence[str],
    pointed: Mapping[tuple[str, int], str],
) -> dict[str, str]:
    by_name = {plain_name(symbol): symbol for symbol in symbols}
    return {
        name: by_name[name] if is_plain(name) else pointed[what, number]
        for number, name in enumerate(names)
        # The compiler may have removed a variable that no kernel uses.
        if not is_plain(name) or name in by_name
    }
