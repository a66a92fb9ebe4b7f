"""Kernels that stand under an ``#if``: which macros decide whether they are compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar import Function, read_source
from gi_cuda.grammar.frontends.cuda.file import CudaFile, KernelSource, kernels
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.source.conditions import (
    macros_asked,
    macros_defined,
    what_to_define,
    written,
)
from gi_cuda.init.source.headers import Headers
from gi_cuda.init.source.sources import read_whole

_CONDITIONS = frozenset({"if", "ifdef", "ifndef", "elif"})
_CONSTANT = re.compile(r"-?\d+[uUlL]*|0[xX][0-9a-fA-F]+[uUlL]*|true|false")


def check_kernels(path: Path, built: Compilation) -> None:
    """Refuse a source of which no kernel is compiled, though it has some.

    Args:
        built: how it is compiled.

    Raises:
        UserError: all of its kernels stand under conditions that do not hold.
    """
    if kernels(read_whole(path, built)):
        return
    whole = read_whole(path, replace(built, compiled={}))
    if every := kernels(whole):
        raise _nothing_compiled(whole, every[0])


def as_headers_have(
    path: Path, code: CudaFile, functions: Sequence[Function], given: Compilation, headers: Headers
) -> Compilation:
    """With the macros of headers that decide whether functions, or parts of them, are compiled.

    A grammar is read of the source alone: what it does not see defined it takes for undefined, and
    changes nothing that stands under it.

    Args:
        path: where the main file is.
        functions: with their spans in the source's text.
    """
    presence = code.presence
    deciding = [one for f in functions for one in presence.conditions(presence.region(f.start))] + [
        one
        for one in presence.directives
        if one.word in _CONDITIONS and any(f.start <= one.start < f.end for f in functions)
    ]
    own = {macro.name for macro in presence.macros()} | given.define.keys()
    names = [name for one in deciding for name in macros_asked(one.rest) if name not in own]
    if not names:
        return given
    known = macros_defined(path, read_source(path).text, given, headers.without)
    define = {name: known[name] for name in names if _CONSTANT.fullmatch(known.get(name, "?"))}
    why = dict.fromkeys(define, "as a header defines it; what stands under its #if evolves")
    return replace(given, define={**given.define, **define}, origins={**given.origins, **why})


def _nothing_compiled(code: CudaFile, kernel: KernelSource) -> UserError:
    at = kernel.definition.node.start_byte
    conditions = [*code.presence.conditions(code.presence.region(at))]
    names = macros_asked(" ".join(one.rest for one in conditions))
    hint = what_to_define(names) if names else "take it out from there, or name another file"
    return UserError(
        f"no kernel of this file is compiled: {kernel.shown} stands under {written(conditions)}",
        where=code.where(kernel.definition.node),
        hint=hint,
    )
