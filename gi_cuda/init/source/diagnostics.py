"""Check, before there is a target, if device code compiles on the host back end."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.compile.process import run
from gi_cuda.backends.compile.pruning.left_out import stand_ins
from gi_cuda.backends.compile.pruning.namespaces import namespaces
from gi_cuda.backends.compile.source import reach_of
from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.backends.host.build.library import INCLUDE, NVCC_MACROS, find_compiler
from gi_cuda.backends.protocol.variants import BuildFailure, Variant
from gi_cuda.grammar import ParsedText, Source
from gi_cuda.grammar.frontends.cuda.text.includes import IncludingText
from gi_cuda.init.build.compilation import Compilation

_LIMIT = 60.0
_ERROR = re.compile(r"^([^:\n]+):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.M)
_OPENED = re.compile(r"^(\.+) (.+)$", re.M)
_QUOTED = r"['‘`\"]([A-Za-z_][\w:]*)[^'’\"]*['’\"]"
_UNDECLARED = re.compile(
    rf"{_QUOTED} (?:was not declared|does not name a type|has not been declared|is not a)"
    rf"|(?:undeclared identifier|unknown type name|no template named) {_QUOTED}"
)


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Compiler messages about device code.

    Attributes:
        own: messages about the device code itself, each with its line.
        undeclared: names that are not declared.
        unread: the source's includes that have errors, in the file or in files it includes, as they
            are spelled, each with the first message.
    """

    own: frozenset[str] = frozenset()
    undeclared: frozenset[str] = frozenset()
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Tell whether there are no errors."""
        return not self.own and not self.unread


def compiler_of(
    path: Path,
    program: ParsedText,
    kernels: Sequence[str],
    compilation: Compilation,
    without: Collection[str],
) -> HostCompiler:
    """Return the host back end's compiler for kernels and the code they reach.

    The arguments are those of :func:`diagnose`.
    """
    source = program.grammar.source
    folders = [stand_ins(without), *compilation.include, path.resolve().parent]
    return HostCompiler(
        file_name=source.name,
        front=prelude(source.text, compilation.define, without),
        options=(f"-std={compilation.standard}", *(f"-I{folder}" for folder in folders)),
        jobs=1,
        cxx=find_compiler(),
        namespaces=namespaces(source.text),
        reach=reach_of(program.grammar, kernels),
    )


def diagnose(
    path: Path,
    program: ParsedText,
    kernels: Sequence[str],
    compilation: Compilation,
    without: frozenset[str],
) -> Diagnostics:
    """Compile kernels and the code they reach for the host back end, without generating code.

    Args:
        path: the source's main file.
        program: the source, with the headers that evolve in place.
        kernels: their names.
        without: headers that are left out, as they are spelled.
    """
    source = program.grammar.source
    compiler = compiler_of(path, program, kernels, compilation, without)
    variant = Variant(0, program.text, compilation.define, ("-fsyntax-only",))
    read = compiler.preprocess([variant])[0]
    if isinstance(read, BuildFailure):
        messages = read.message
    else:
        with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
            finished = compiler.compile_object([read], Path(scratch) / "reference")
        if finished.ok:
            return Diagnostics()
        messages = finished.stderr
    # List which header includes which.
    command = [compiler.cxx, "-x", "c++", "-E", "-H", *NVCC_MACROS, f"-I{INCLUDE}"]
    opened = run([*command, *compiler.options, "-"], limit=_LIMIT, stdin=compiler.front).stderr
    return _said(messages, opened, source, without)


def _said(messages: str, opened_by: str, source: Source, without: frozenset[str]) -> Diagnostics:
    found = _ERROR.findall(messages)
    undeclared = frozenset(a or b for _, _, e in found for a, b in _UNDECLARED.findall(e))
    unread: dict[str, str] = {}
    top = ""
    above: dict[str, str] = {}
    for depth, file in _OPENED.findall(opened_by):
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
    return Diagnostics(frozenset(own or ([] if unread else [messages])), undeclared, unread)
