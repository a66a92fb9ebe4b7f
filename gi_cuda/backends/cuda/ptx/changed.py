"""The kernels of a PTX variant that are not those of the reference, as a module of their own.

As with sources (:mod:`gi_cuda.backends.compile.borrowed_kernels`), kernels that an edit does not
touch are launched from the reference's binary, and need not be assembled again. Kernels that reach
a variable of the module are never lent, since two copies of such a kernel would not share it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import xxhash

from gi_cuda.backends.cuda.compile.cubin import name_parts
from gi_cuda.backends.cuda.ptx.module import blocks, reached, unnumbered
from gi_cuda.backends.protocol.variants import Phenotype
from gi_cuda.spec.launching.kernel_names import is_plain

_WORD = re.compile(r"[\w$]+")
_NAME = re.compile(r"\.(?:entry|func)\s+(?:\([^()]*\)\s*)?([\w$]+)|([\w$]+)(?:\[[^\]]*\])*\s*[=;]")
_VARIABLE = re.compile(r"(?:\.visible )?\.(?:global|const)\b")
_VARIABLE = re.compile(r"(?:\.(?:visible|weak|common)\s+)?\.(?:global|const)\b")
_TABLE = "switch_$_table"
"""Part of the names of tables that LLVM makes of a ``switch``; nobody writes to them."""


@dataclass(frozen=True, slots=True)
class _Module:
    """A module's functions and variables.

    Attributes:
        head: what stands before them.
        items: their texts by their names, in order.
        kernels: symbols by the names of kernels in the source.
        needs: by symbol of a kernel, names of all that it reaches, itself among them.
    """

    head: str
    items: Mapping[str, str]
    kernels: Mapping[str, str]
    needs: Mapping[str, frozenset[str]]

    def said(self, kernel: str) -> list[str]:
        """Return the texts that a kernel consists of, without its place in the module."""
        return [unnumbered(self.items[name]) for name in sorted(self.needs[kernel])]

    def lendable(self, kernel: str) -> bool:
        """Tell whether a kernel reaches no variable that threads or the host may write to."""
        return not any(
            _VARIABLE.match(self.items[name]) and "2v0" in name and _TABLE not in name
            for name in self.needs[kernel]
        )


def changed(
    phenotype: Phenotype, reference: Phenotype, kernels: Sequence[str]
) -> Sequence[Phenotype]:
    """Return a variant without the kernels that it leaves to the reference; none if it has all.

    Args:
        phenotype, reference: with names of the variant with the number 0.
        kernels: of the target, as C++ has them.
    """
    if len(kernels) < 2 or phenotype.options != reference.options:
        return ()
    own, other = _read(phenotype.text), _read(reference.text)
    names = set(kernels)
    if (
        not all(map(is_plain, names))
        or names != own.kernels.keys()
        or names != other.kernels.keys()
    ):
        return ()
    lent = [
        name
        for name in names
        if own.lendable(own.kernels[name])
        and own.said(own.kernels[name]) == other.said(other.kernels[name])
    ]
    if not lent or len(lent) == len(names):
        return ()
    return (_without(phenotype, own, lent),)


def _without(phenotype: Phenotype, module: _Module, lent: Collection[str]) -> Phenotype:
    kept = [needs for symbol, needs in module.needs.items() if name_parts(symbol)[-1] not in lent]
    reached = frozenset[str]().union(*kept)
    text = [one for name, one in module.items.items() if name in reached or not _is_code(one)]
    key = xxhash.xxh3_128_digest("\n".join(map(unnumbered, [*text, *sorted(lent)])).encode())
    whole = "\n".join([module.head, *text, ""])
    return replace(phenotype, text=whole, key=key, lent=frozenset(lent))


def _is_code(item: str) -> bool:
    return ".entry" in item[:40] or ".func" in item[:40]


@lru_cache(maxsize=4)
def _read(text: str) -> _Module:
    items: dict[str, str] = {}
    kernels: dict[str, str] = {}
    first = len(text)
    for begin, end in blocks(text):
        first = min(first, begin.start())
        item = text[begin.start() : end]
        found = _NAME.search(item)
        name = (found[1] or found[2]) if found else str(begin.start())
        if begin["function"] and name in items:
            item = f"{items[name]}\n{item}"  # a declaration, and its body
        items[name] = item
        if begin["function"] == ".entry":
            kernels[name_parts(name)[-1]] = name
    said = {name: items.keys() & set(_WORD.findall(item)) for name, item in items.items()}
    needs = {symbol: frozenset(reached(symbol, said)) for symbol in kernels.values()}
    return _Module(text[:first], items, kernels, needs)
