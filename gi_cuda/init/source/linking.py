"""Find the files of a repository that define device code which a source only declares.

``nvcc -rdc=true`` links these files. Here they are appended to the source, and evolve with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar import Grammar
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, read_cuda_file
from gi_cuda.grammar.frontends.cuda.text.inclusions import COMPILED
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text, block_end
from gi_cuda.init.build.repository import Repository

_WORD = re.compile(r"[A-Za-z_]\w*")
_FUNCTION = re.compile(
    r"__device__\b[^;{}()=]*?\b(?P<name>[A-Za-z_]\w*)\s*\([^;{}]*\)"
    r"\s*(?:const\b\s*)?(?:noexcept\b\s*)?;"
)
_VARIABLE = re.compile(
    r"(?P<extern>\bextern\s+)?__(?:constant|device)__\b[^;{}()=\[\]]*\b(?P<name>[A-Za-z_]\w*)"
    r"\s*(?:\[[^;{}()]*)?(?:=[^;]*)?;"
)

_CLASS = re.compile(r"\b(?:struct|class)\s+(?P<name>[A-Za-z_]\w*)\b[^;{}()]*\{")


def defining(code: CudaFile, grammar: Grammar, repository: Repository) -> Iterator[Path]:
    """Yield the nearest files that define names which a source's functions use and it only
    declares.

    Args:
        code: the source with all headers of its tree.
        grammar: its grammar; the names are those used in the grammar's functions.
    """
    bare = bare_text(grammar.source.text)
    used = {word for f in grammar.functions for word in _WORD.findall(bare[f.start : f.end])}
    known = {one.name for one in code.definitions}
    used = with_members(bare, used)
    functions = {match["name"] for match in _FUNCTION.finditer(bare)} & used - known
    variables = {m["name"] for m in _VARIABLE.finditer(bare) if m["extern"]} & used
    missing = functions | variables - _variables(bare)
    own = {(code.path.parent / name).resolve() for name in code.source.names}
    for path in repository.sources(code.path.resolve().parent) if missing else ():
        if missing and path.suffix in COMPILED and path not in own:
            found = _defined(path, missing, code)
            missing -= found
            if found:
                yield path


def with_members(bare: str, used: set[str]) -> set[str]:
    """Return names that some functions use, and all names that their classes use in turn.

    Args:
        bare: a text without comments and literals, which declares the classes.
        used: the names that the functions use.
    """
    classes = [(m["name"], m.end()) for m in _CLASS.finditer(bare)]
    bodies = {name: bare[at : block_end(bare, at - 1)] for name, at in classes}
    waiting, found = [*used], set(used)
    while waiting:
        new = set(_WORD.findall(bodies.pop(waiting.pop(), ""))) - found
        found |= new
        waiting += new
    return found


def _variables(bare: str) -> set[str]:
    """Return the device variables that a text defines."""
    return {m["name"] for m in _VARIABLE.finditer(bare) if not m["extern"]}


def _defined(path: Path, missing: set[str], code: CudaFile) -> set[str]:
    """Return which of some names a file defines; none if it cannot be appended to the source.

    A file that defines a function of the source again belongs to another program.
    """
    try:
        text = path.read_text("utf-8", "surrogateescape")
        if not missing & set(_WORD.findall(text)):
            return set()
        other = read_cuda_file(path)
    except (OSError, UserError):
        return set()
    functions = [one for one in other.definitions if one.device]
    own = {one.qualified for one in code.definitions if one.device}
    if own & {one.qualified for one in functions}:
        return set()
    return missing & ({one.name for one in functions} | _variables(bare_text(other.text)))
