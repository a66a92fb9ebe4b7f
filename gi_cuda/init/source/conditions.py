"""Find the code of a source that is compiled, according to its preprocessor.

Code under an ``#if`` that does not hold declares nothing: no type, no kernel, no macro. The host
back end's preprocessor decides, with all macros that files and options define.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gi_cuda.backends.compile.process import run
from gi_cuda.backends.compile.pruning.left_out import stand_ins
from gi_cuda.backends.host.build.library import INCLUDE, NVCC_MACROS, find_compiler
from gi_cuda.errors import UserError
from gi_cuda.grammar import LineIndex, Source, read_source
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text
from gi_cuda.grammar.presence import Directive, Presence, read_presence
from gi_cuda.init.build.compilation import Compilation, Compiled

_LIMIT = 60.0
_PLACE = re.compile(r'#(?: line)? (\d+) "((?:\\.|[^"\\])*)"')
_NO_MACRO = re.compile(r"defined|true|false|__\w*|_[A-Z]\w*|CUDA_VERSION|CUDART_VERSION")
"""Words of conditions that a build does not define."""
_VISIBLE = re.compile(r"\S")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LINE_OF_CODE = re.compile(r"^[ \t]*(\S)", re.M)
_OPENS = frozenset({"if", "ifdef", "ifndef"})
_STRUCTURE = _OPENS | frozenset({"elif", "elifdef", "elifndef", "else", "endif"})


def compiled_lines(
    path: Path, text: str, compilation: Compilation, missing: Collection[str]
) -> Compiled:
    """Return the lines of a source and its headers that preprocessing keeps; nothing if it fails.

    Args:
        text: the text of the main file.
        missing: headers that do not exist.
    """
    found: dict[str, set[int]] = {}
    lines, number = set[int](), 0
    for line in _preprocessed(path, text, compilation, missing).split("\n"):
        place = _PLACE.match(line)
        if place is not None:
            number = int(place[1])
            lines = found.setdefault(place[2], set())
        else:
            if line and not line.isspace():
                lines.add(number)
            number += 1
    return {
        Path(name).resolve(): frozenset(some)
        for name, some in found.items()
        if name.startswith("/") and not name.startswith("/usr/")
    }


def _preprocessed(path: Path, text: str, compilation: Compilation, missing: Collection[str]) -> str:
    """Return a source after preprocessing for the host back end; "" if it fails."""
    folders = [stand_ins(missing), *compilation.include, path.resolve().parent]
    command = [find_compiler(), "-x", "c++", "-E", "-dD", f"-std={compilation.standard}"]
    command += [*(f"-I{folder}" for folder in folders), "-isystem", str(INCLUDE), *NVCC_MACROS]
    command += [f"-D{name}={value}" for name, value in compilation.define.items()]
    main = path.resolve()
    finished = run([*command, "-"], limit=_LIMIT, stdin=f'#line 1 "{main}"\n{text}')
    return finished.stdout if finished.ok else ""


def macros_asked(condition: str) -> list[str]:
    """Return the macros in a condition that a build may define."""
    return [w for w in dict.fromkeys(_WORD.findall(condition)) if not _NO_MACRO.fullmatch(w)]


def what_to_define(names: Sequence[str]) -> str:
    """Return a hint to define macros as a build does."""
    return f"say what its build defines ({', '.join(names)}): -D NAME or -D NAME=VALUE"


def written(conditions: Sequence[Directive]) -> str:
    """Return directives as they are written in a source."""
    return ", ".join(f"#{one.word} {one.rest.strip()}".strip() for one in conditions)


def check_defined(names: Collection[str], files: Iterable[Path]) -> None:
    """Refuse a source that needs a macro whose definition is under a condition that does not hold.

    Args:
        names: names that a compiler found undeclared.
        files: the source and its headers.

    Raises:
        UserError: one of the names is such a macro.
    """
    for file in files:
        text = read_source(file).text
        presence = read_presence(text)
        for macro in presence.macros():
            conditions = presence.conditions(macro.directive.region)
            asked = macros_asked(" ".join(one.rest for one in conditions))
            if macro.name in names and asked:
                line = text.count("\n", 0, macro.directive.start) + 1
                raise UserError(
                    f"{macro.name}, which the kernel needs, is defined only under"
                    f" {written(conditions)}",
                    where=f"{file}:{line}",
                    hint=what_to_define(asked),
                )


def without_dead_code(source: Source, path: Path, compiled: Compiled) -> Source:
    """Return a source with code that is not compiled replaced by blanks; offsets stay the same.

    Conditions stay, except those within parentheses, such as in lists of parameters. Definitions
    under ``#ifndef`` of their own macro stay as well.

    Args:
        path: the main file.
    """
    files = {name: (path.parent / name).resolve() for name in source.names}
    if compiled.keys().isdisjoint(files.values()):
        return source
    presence = read_presence(source.text)
    defaults = tuple(_defaults(presence))
    places = LineIndex(source)
    alive: dict[int, bool] = {}
    for at in _code(source.text, presence, defaults):
        file, line = places.at(at)
        known, region = compiled.get(files[file]), presence.region(at)
        alive[region] = alive.get(region, False) or known is None or line in known
    dead = {region for region, lives in alive.items() if not lives}
    enclosed = [
        d for d in _enclosed(source.text, presence) if files[places.at(d.start).file] in compiled
    ]
    blank = [
        *_stretches(presence, dead, defaults, len(source.text)),
        *((directive.start, directive.end) for directive in enclosed),
    ]
    parts, last = [], 0
    for start, end in sorted(blank):
        parts += [source.text[last:start], _VISIBLE.sub(" ", source.text[start:end])]
        last = end
    return replace(source, text="".join([*parts, source.text[last:]]))


def _defaults(presence: Presence) -> Iterator[Directive]:
    """Yield definitions of macros under the condition that they are not defined yet."""
    conditions = [d for d in presence.directives if d.word in _STRUCTURE]
    for directive in presence.directives:
        name = _WORD.search(directive.rest)
        if directive.word == "define" and name is not None:
            before = [d for d in conditions if d.start < directive.start]
            if before and before[-1].word in _OPENS and name[0] in _WORD.findall(before[-1].rest):
                yield directive


def _enclosed(text: str, presence: Presence) -> Iterator[Directive]:
    """Yield conditions within parentheses: variants must not change which parameters a function
    has.
    """
    bare, depth, last = bare_text(text), 0, 0
    for directive in presence.directives:
        between = bare[last : directive.start]
        depth += between.count("(") - between.count(")")
        last = directive.end
        if depth > 0 and directive.word in _STRUCTURE:
            yield directive


def _code(text: str, presence: Presence, defaults: Collection[Directive]) -> Iterator[int]:
    """Yield the offsets of lines that leave text after preprocessing if they are compiled."""
    for match in _LINE_OF_CODE.finditer(bare_text(text)):
        yield match.start(1)
    for directive in presence.directives:
        if directive.word == "define" and directive not in defaults:
            yield (
                directive.start
                + len(text[directive.start : directive.end])
                - len(text[directive.start : directive.end].lstrip())
            )


def _stretches(
    presence: Presence, dead: Collection[int], defaults: Collection[Directive], size: int
) -> Iterator[tuple[int, int]]:
    """Yield the spans of dead regions, without conditions and definitions of defaults."""
    kept = [d for d in presence.directives if d.word in _STRUCTURE or d in defaults]
    ends = [*(d.start for d in kept), size]
    for start, end in zip([0, *(d.end for d in kept)], ends, strict=True):
        if start < end and presence.region(start) in dead:
            yield start, end
