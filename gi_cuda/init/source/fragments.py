"""Find the source of a file that is compiled only as part of another file.

A kernel in an included file can have a target. Its source is the file that is compiled, and the
included file evolves with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.complaints import is_of_cuda
from gi_cuda.grammar import Wanted
from gi_cuda.grammar.frontends.cuda.parsed_text import read_cuda
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.build.repository import Repository, repository_of
from gi_cuda.init.source.diagnostics import diagnose
from gi_cuda.init.source.headers import as_built, missing_headers
from gi_cuda.init.source.hidden import check_kernels
from gi_cuda.init.source.sources import kernels_in, read_whole

_INCLUDE = r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:[^>\"\n]*/)?{})[>\"]"
_COMPILED = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c"})
_MOST_TRIED = 3
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Built:
    """A source file and its compiler options.

    Attributes:
        source: the file itself, or a file that includes it.
        compilation: compiler options of the source.
    """

    source: Path
    compilation: Compilation

    def lines(self) -> Iterator[str]:
        """Yield a message if another file is taken as the source."""
        fragment = self.compilation.fragment
        if fragment is not None:
            yield f"{fragment.name} says what it does not declare: taken as a part of {self.source}"


def find_source(path: Path, given: Compilation) -> Built:
    """Return the file itself, or, if it does not compile alone, a file that includes it.

    Raises:
        UserError: the file cannot be read, its directives cannot be preprocessed, or none of its
            kernels is compiled.
    """
    alone = Built(path, as_built(path, given))
    file = path.resolve()
    including = [*islice(_including(file, repository_of(path)), _MOST_TRIED)]
    if including and _stands(alone, file):
        return alone
    for one in including:
        try:
            found = Built(one, replace(as_built(one, given), fragment=file))
            if _stands(found, file):
                return found
        except UserError:
            continue
    check_kernels(path, alone.compilation)
    return alone


def _stands(built: Built, file: Path) -> bool:
    """Tell whether a file's kernels are fully declared when it is read as part of a source."""
    code = read_whole(built.source, built.compilation)
    names = sorted({kernel.name for kernel in kernels_in(code, file)})
    if not names:
        return False
    program = read_cuda(code.source, Wanted(tuple(names)))
    missing = frozenset(missing_headers(built.source, code.source, built.compilation))
    found = diagnose(built.source, program, names, built.compilation, missing)
    return all(map(is_of_cuda, found.undeclared))


def _including(file: Path, repository: Repository) -> Iterator[Path]:
    """Yield compiled files that include a file, directly or through others, the nearest first."""
    seen, frontier = {file}, [file]
    for _ in range(_DEPTH):
        further = []
        for one in frontier:
            pattern = re.compile(_INCLUDE.format(re.escape(one.name)), re.M)
            for other in repository.sources(file.parent):
                if other in seen:
                    continue
                names = pattern.findall(_text(other))
                if any(_leads(other, name, one) for name in names):
                    seen.add(other)
                    further.append(other)
        yield from (one for one in further if one.suffix in _COMPILED)
        frontier = further


def _leads(includer: Path, name: str, file: Path) -> bool:
    """Tell whether an include may refer to a file."""
    beside = includer.parent / name
    if beside.is_file():
        return beside.resolve() == file
    parts = tuple(part for part in Path(name).parts if part != "..")
    return file.parts[-len(parts) :] == parts


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
