"""Whether device code compiles on the host back end, before there is a target."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gi_cuda.backends.compile.left_out import empty_headers
from gi_cuda.backends.compile.namespaces import namespaces
from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.host.compiler import HostCompiler
from gi_cuda.backends.host.library import find_compiler
from gi_cuda.backends.protocol.variants import BuildFailure, Variant
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.includes import IncludingText
from gi_cuda.init.compilation import Compilation

_ERROR = re.compile(r"^([^:\n]+):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.M)
_OPENED = re.compile(r"^(\.+) (.+)$", re.M)
_QUOTED = r"['‘`\"]([A-Za-z_][\w:]*)[^'’\"]*['’\"]"
_UNDECLARED = re.compile(
    rf"{_QUOTED} (?:was not declared|does not name a type|has not been declared|is not a)"
    rf"|(?:undeclared identifier|unknown type name|no template named) {_QUOTED}"
)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a compiler says of device code.

    Attributes:
        own: the messages about the device code itself, each with its line.
        undeclared: names that it knows nothing of.
        unread: of the source's includes those in which, or below which, there are errors: as they
            are spelled, with the first message.
    """

    own: frozenset[str] = frozenset()
    undeclared: frozenset[str] = frozenset()
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.own and not self.unread


def rehearse(
    path: Path, source: Source, device: str, compilation: Compilation, without: frozenset[str]
) -> Rehearsed:
    """Have the host back end's compiler read device code; no code is made.

    Args:
        path: where the source's main file is.
        source: with the headers that evolve in place.
        device: its device code.
        without: headers that are left out, as they are spelled.
    """
    folders = [empty_headers(without), *compilation.include, path.resolve().parent]
    compiler = HostCompiler(
        file_name=source.name,
        front=prelude(source.text, compilation.define, without),
        options=(f"-std={compilation.standard}", *(f"-I{folder}" for folder in folders)),
        jobs=1,
        cxx=find_compiler(),
        namespaces=namespaces(source.text),
    )
    variant = Variant(0, device, compilation.define, ("-fsyntax-only", "-H"))
    read = compiler.preprocess([variant])[0]
    if isinstance(read, BuildFailure):
        return _said(read.message, source, without)
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        finished = compiler.compile_object([read], Path(scratch) / "reference")
    return Rehearsed() if finished.ok else _said(finished.stderr, source, without)


def _said(messages: str, source: Source, without: frozenset[str]) -> Rehearsed:
    found = _ERROR.findall(messages)
    undeclared = frozenset(a or b for _, _, e in found for a, b in _UNDECLARED.findall(e))
    unread: dict[str, str] = {}
    top = ""
    above: dict[str, str] = {}
    for depth, file in _OPENED.findall(messages):
        top = file if len(depth) == 1 else top
        above.setdefault(file, top)
    names = [include.name for include in IncludingText(source.text).includes]
    own = set()
    for file, line, text in found:
        opened = above.get(file, "")
        spelled = [n for n in names if opened == n or opened.endswith(f"/{n}")]
        if spelled and spelled[0] not in without:
            unread.setdefault(max(spelled, key=len), text)
        else:
            own.add(f"{line}: {text}")
    return Rehearsed(frozenset(own or ([] if unread else [messages])), undeclared, unread)
