"""Kernel by kernel from LLVM-IR to PTX: an edit changes one, and the PTX of the others is known.

Every kernel is optimised with its own copies of the functions that it calls. These get names in the
variant's namespace, and with the kernel's number, so that no two kernels or variants have different
functions of one name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from gi_cuda.backends.cuda.llvm.lowering import lowered
from gi_cuda.backends.cuda.ptx.module import blocks, reached

KERNEL = re.compile(r"^define [^@\n]*\bptx_kernel [^@\n]*@([\w$]+)", re.M)
"""Finds the symbols of kernels."""

FUNCTION = re.compile(r"^define [^@\n]*@([-\w$.]+)", re.M)
"""Finds the symbols of functions with a body."""

_KNOWN = 512
"""Kernels whose PTX is kept: those of the reference, and of variants that have others' kernels."""

_BODY = re.compile(r"^define [^@\n]*@(?P<name>[-\w$.]+)\(.*?^\}\n", re.M | re.S)
_SYMBOL = re.compile(r"@([-\w$.]+)")


def optimised(text: str, architecture: str) -> str:
    """Return the PTX of a module after all optimisations.

    Args:
        text: LLVM-IR of the variant with the number 0.
        architecture: the GPU, e.g. ``sm_90``.

    Raises:
        UserError: LLVM does not compile it.
    """
    return _joined([_ptx(one, architecture) for one in split(text)])


@lru_cache(maxsize=_KNOWN)
def _ptx(text: str, architecture: str) -> str:
    return lowered(text, architecture, "optimised")


def split(text: str) -> Sequence[str]:
    """Cut a module into one for each kernel, if no variable points at a function."""
    bodies = {found["name"]: found[0] for found in _BODY.finditer(text)}
    named = {name: {*_SYMBOL.findall(body)} & bodies.keys() for name, body in bodies.items()}
    outside = _SYMBOL.findall(_BODY.sub("", text))
    groups = [reached(kernel, named) for kernel in KERNEL.findall(text)]
    if not bodies.keys().isdisjoint(outside):
        groups = [{*bodies}]
    return [_alone(text, group, number) for number, group in enumerate(groups)]


def _alone(text: str, functions: Collection[str], number: int) -> str:
    """Return a module with some of its functions; those that are no kernels get other names."""
    kept = _BODY.sub(lambda found: found[0] if found["name"] in functions else "", text)
    kernels = KERNEL.findall(kept)
    new = {name: _owned(f"{name}${number}") for name in functions if name not in kernels}
    return _SYMBOL.sub(lambda found: f"@{new.get(found[1], found[1])}", kept)


def _owned(name: str) -> str:
    """Return a name in the namespace of the variant with the number 0."""
    name = name.replace(".", "$")
    return name if name.startswith("_ZN2v0") else f"_ZN2v0{len(name)}{name}Ev"


def _joined(modules: Sequence[str]) -> str:
    """Put the modules of kernels into one; a text that several of them have comes once."""
    first = modules[0]
    found: dict[str, None] = {}
    for module in modules:
        found |= dict.fromkeys(module[begin.start() : end] for begin, end in blocks(module))
    head = first[: next(blocks(first))[0].start()]
    return "\n".join([head, *found, ""])
