"""Macros that nobody gave and without which a source is not compiled, or none of its kernels.

An ``#error`` asks for one, or the kernels stand under an ``#if`` that holds only where the build
says so. What the build files say is tried first, then what the conditions themselves have; the
preprocessor decides.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar import Function, read_source
from gi_cuda.grammar.frontends.cuda.file import CudaFile, KernelSource, kernels
from gi_cuda.grammar.presence import Presence, read_presence
from gi_cuda.grammar.source import line_starts
from gi_cuda.init.build.build_files import said_in
from gi_cuda.init.build.build_options import is_of_elsewhere
from gi_cuda.init.build.compilation import Compilation, definition
from gi_cuda.init.build.repository import Repository, repository_of
from gi_cuda.init.source.conditions import macros_defined
from gi_cuda.init.source.headers import Headers, NotPreprocessed, as_built
from gi_cuda.init.source.sources import read_whole

_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"\b\d{1,9}\b")
_NO_MACRO = re.compile(r"defined|true|false|__\w*|_[A-Z]\w*|CUDA_VERSION|CUDART_VERSION")
"""Words of conditions that no build defines."""

_CONDITIONS = frozenset({"if", "ifdef", "ifndef", "elif"})
_CONSTANT = re.compile(r"-?\d+[uUlL]*|0[xX][0-9a-fA-F]+[uUlL]*|true|false")
_MOST_NAMES = 4
_MOST_TRIED = 4


def as_asked(path: Path, given: Compilation) -> Compilation:
    """How a source is compiled, with the macros for which an ``#error`` asks.

    Raises:
        UserError: the source cannot be read, or its directives cannot be preprocessed, whatever
            macros are defined.
    """
    why: dict[str, str] = {}
    while True:
        try:
            found = as_built(path, given)
            return replace(found, origins={**found.origins, **why})
        except NotPreprocessed as error:
            macros = _without_error(path, error, given.define)
            if not macros:
                raise
            values = {name: value for name, (value, _) in macros.items()}
            given = replace(given, define={**given.define, **values})
            why |= {name: place for name, (_, place) in macros.items()}


def _without_error(
    path: Path, error: NotPreprocessed, known: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Macros with which an ``#error`` is not reached, each with its value and where that is from;
    none where there are no such ones."""
    file = Path(error.file)
    if not file.is_file():
        return {}
    text = read_source(file).text
    presence = read_presence(text)
    places = line_starts(text)
    for directive in presence.directives:
        if directive.word == "error" and bisect_right(places, directive.start) == error.line:
            said = _said(path, repository_of(path))
            for macros in _combinations(presence, directive.region, known, said):
                if not presence.active({**known, **macros})[directive.region]:
                    asked = f"{file.name}:{error.line} asks for it"
                    return {n: (v, said.get(n, {}).get(v, asked)) for n, v in macros.items()}
    return {}


def with_kernels(path: Path, given: Compilation, found: Compilation) -> Compilation:
    """How a source is compiled such that one of its kernels is.

    Args:
        given: what was said by hand.
        found: how it is compiled as far as its project tells. That is the answer where a kernel is
            compiled, or the source has none.

    Raises:
        UserError: no macro was found with which a kernel is compiled.
    """
    if kernels(read_whole(path, found)):
        return found
    whole = read_whole(path, replace(found, compiled={}))
    every = kernels(whole)
    if not every:
        return found
    said = _said(path, repository_of(path))
    for macros in islice(_revealing(whole, every, found.define, said), _MOST_TRIED):
        try:
            built = as_asked(path, replace(given, define={**given.define, **macros}))
        except UserError:
            continue
        if kernels(read_whole(path, built)):
            why = "without it none of its kernels is compiled"
            origins = {name: said.get(name, {}).get(value, why) for name, value in macros.items()}
            return replace(built, origins={**built.origins, **origins})
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
    names = [name for one in deciding for name in _macros(one.rest) if name not in own]
    if not names:
        return given
    known = macros_defined(path, read_source(path).text, given, headers.without)
    define = {name: known[name] for name in names if _CONSTANT.fullmatch(known.get(name, "?"))}
    why = dict.fromkeys(define, "as a header defines it; what stands under its #if evolves")
    return replace(given, define={**given.define, **define}, origins={**given.origins, **why})


def _said(path: Path, repository: Repository) -> dict[str, dict[str, str]]:
    """By macro the values that build files give it, the nearest first, each with its place."""
    values: dict[str, dict[str, str]] = {}
    for folder in repository.folders_up(path.resolve().parent):
        for one in said_in(folder, repository):
            if one.option == "-D":
                name, value = definition(one.value)
                values.setdefault(name, {}).setdefault(value, one.place)
    return values


def _revealing(
    code: CudaFile,
    every: Sequence[KernelSource],
    known: Mapping[str, str],
    said: Mapping[str, Mapping[str, str]],
) -> Iterator[dict[str, str]]:
    """Macros with which a kernel may be compiled."""
    presence = code.presence
    for region in dict.fromkeys(presence.region(k.definition.node.start_byte) for k in every):
        for macros in _combinations(presence, region, known, said):
            if presence.active({**known, **macros})[region]:
                yield macros


def _combinations(
    presence: Presence,
    region: int,
    known: Mapping[str, str],
    said: Mapping[str, Mapping[str, str]],
) -> list[dict[str, str]]:
    """Values for macros of the conditions around a region that have none, the fewest first, and
    those of builds for other devices last."""
    text = " ".join(one.rest for one in presence.conditions(region))
    names = [name for name in _macros(text) if name not in known][:_MOST_NAMES]
    values = [
        [None, *dict.fromkeys([*said.get(name, ()), "1", *_NUMBER.findall(text)])] for name in names
    ]
    found = (
        {name: value for name, value in zip(names, chosen, strict=True) if value is not None}
        for chosen in product(*values)
    )
    return sorted(
        (macros for macros in found if macros),
        key=lambda macros: (any(map(is_of_elsewhere, macros)), len(macros)),
    )


def _macros(condition: str) -> list[str]:
    return [w for w in dict.fromkeys(_WORD.findall(condition)) if not _NO_MACRO.fullmatch(w)]


def _nothing_compiled(code: CudaFile, kernel: KernelSource) -> UserError:
    at = kernel.definition.node.start_byte
    conditions = [*code.presence.conditions(code.presence.region(at))]
    texts = [f"#{one.word} {one.rest.strip()}".strip() for one in conditions]
    names = _macros(" ".join(one.rest for one in conditions))
    hint = (
        f"say what its build defines ({', '.join(names)}): -D NAME or -D NAME=VALUE"
        if names
        else "take it out from there, or name another file"
    )
    return UserError(
        f"no kernel of this file is compiled: {kernel.shown} stands under {', '.join(texts)}",
        where=code.where(kernel.definition.node),
        hint=hint,
    )
