"""Find the headers of a source, and those that its kernel does not need.

A header that is missing, or that the host back end lacks or cannot read, is left out if the
device code compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.compile.process import run
from gi_cuda.backends.cuda.toolkit import brings_header
from gi_cuda.backends.host.build.library import INCLUDE, NVCC_MACROS, find_compiler
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.complaints import is_of_cuda
from gi_cuda.grammar import ParsedText, Source, read_source
from gi_cuda.init.build.compilation import Compilation, of_project
from gi_cuda.init.build.repository import Repository, repository_of
from gi_cuda.init.source.conditions import check_defined, compiled_lines
from gi_cuda.init.source.diagnostics import Diagnostics, diagnose

_WORD = re.compile(r"[A-Za-z_]\w*")
_DEPENDENCY = re.compile(r"(?:\\ |[^\s\\]|\\(?!\r?\n))+")
_ERROR = re.compile(r"^(?:(?P<file>[^:\n]+):(?P<line>\d+):)?.*?error: (?P<what>.*)$", re.M)
_STDIN = "<stdin>"
_NOT_FOUND = "not found"
_LIMIT = 60.0
_ROUNDS = 8
"""Largest number of searches for headers that newly found headers include."""

_SLIP = re.compile(r"missing terminating|unterminated|without #if|after #else|expects .*FILENAME")
"""Preprocessor errors, of g++ and clang, that no macro definition fixes."""

_STANDARD = re.compile(r"option ['‘]-std|value '[^']*' in '-std")
"""Complaints of a C++ standard that a compiler does not know, as g++ and clang word them."""


class NotPreprocessed(UserError):
    """Error: the directives of a source or its headers cannot be preprocessed.

    Attributes:
        file, line: place of the error; line 0 if unknown.
    """

    def __init__(self, file: str, line: int, what: str) -> None:
        hint = "give the macros that it asks for as its build does: -D NAME or -D NAME=VALUE"
        if _SLIP.search(what):
            hint = "mend it; nothing is written"
        elif _STANDARD.search(what):
            hint = (
                "the build files ask for that standard: name a compiler that knows it in CXX, or"
                " ask for an older one there, at most c++20 with nvcc"
            )
        super().__init__(
            f"its directives cannot be preprocessed: {what}",
            where=f"{file}:{line}" if line else file,
            hint=hint,
        )
        self.file, self.line = file, line


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers that a source includes.

    Attributes:
        own: absolute paths of all but the system's.
        toolkit: needed headers of the CUDA toolkit that the host back end lacks.
        without: headers that are left out, as they are spelled, each with the reason.
    """

    own: tuple[Path, ...]
    toolkit: tuple[str, ...] = ()
    without: Mapping[str, str] = field(default_factory=dict)

    @property
    def not_found(self) -> list[str]:
        """Return the headers that are left out because they do not exist."""
        return [name for name, why in self.without.items() if why == _NOT_FOUND]


def as_built(path: Path, given: Compilation) -> Compilation:
    """Return a source's compiler options: the given ones, completed by those of the project.

    Raises:
        UserError: the source cannot be read, or its directives cannot be preprocessed.
    """
    repository = repository_of(path)
    found = located(path, of_project(path, given, repository), repository)
    text = read_source(path).text
    missing = missing_headers(path, read_source(path), found)
    return replace(found, compiled=compiled_lines(path, text, found, missing))


def located(path: Path, given: Compilation, repository: Repository) -> Compilation:
    """Add include folders for headers in the repository; drop unused folders and macros.

    Folders and macros that the user gave by hand stay.

    Args:
        path: the source's main file.
        given: options of the user and of build files.
    """
    text = read_source(path).text
    found = given
    for _ in range(_ROUNDS):
        folders: dict[Path, str] = {}
        for name in _missing(_listed(path, text, found, "-M")):
            if not brings_header(name) and (folder := _folder(name, path, repository)):
                folders.setdefault(folder, f"{name} is there")
        fresh = [folder for folder in folders if folder not in found.include]
        if not fresh:
            break
        origins = {**found.origins, **{str(f): folders[f] for f in fresh}}
        found = replace(found, include=(*found.include, *fresh), origins=origins)
    return _used(path, text, found)


def _folder(name: str, path: Path, repository: Repository) -> Path | None:
    """Return the include folder that leads from an include to a file of the repository, or None."""
    climbs = name.split("/").count("..")
    parts = [part for part in PurePosixPath(name).parts if part not in ("..", ".")]
    if climbs >= len(parts) + (climbs == 0) or name.startswith("/"):
        return None
    for file in repository.ending_in(name, path.resolve().parent):
        folder = file.parents[len(parts) - 1].joinpath(*parts[:climbs])
        if (folder / name).is_file():
            return folder
    return None


def _used(path: Path, text: str, compilation: Compilation) -> Compilation:
    """Drop include folders without an included header, and macros that no file mentions."""
    listed = _listed(path, text, compilation, "-MM")
    by_hand = [folder for folder in compilation.include if str(folder) not in compilation.origins]
    include = tuple(
        folder
        for folder in compilation.include
        if folder in by_hand or any(name.startswith(f"{folder}/") for name in listed)
    )
    files = [Path(name) for name in listed if Path(name).is_file()]
    texts = [text, *(read_source(file).text for file in files)]
    words = set().union(*map(_WORD.findall, texts))
    define = {
        name: value
        for name, value in compilation.define.items()
        if name not in compilation.origins or name in words
    }
    return replace(compilation, include=include, define=define)


def find_headers(
    path: Path, program: ParsedText, kernels: Sequence[str], compilation: Compilation
) -> Headers:
    """Find the headers that a source includes, as a compiler does.

    Args:
        path: the source's main file.
        program: the source; headers that are part of its text are not returned.
        kernels: names of the wanted kernels.

    Raises:
        UserError: a missing header is needed, or a needed macro is defined under a condition that
            does not hold.
    """
    source = program.grammar.source
    text = source.text
    own = [Path(n).resolve() for n in _listed(path, text, compilation, "-MM") if Path(n).exists()]
    missing = _missing(_listed(path, text, compilation, "-M"))
    if not own and not missing:
        return Headers(())
    toolkit = tuple(name for name in missing if brings_header(name))
    without = dict.fromkeys(missing, _NOT_FOUND)
    without |= dict.fromkeys(toolkit, "the host back end has none")

    def tried(names: Iterable[str]) -> Diagnostics:
        return diagnose(path, program, kernels, compilation, frozenset(names))

    first = last = tried(without)
    unread: dict[str, str] = {}
    while fresh := {n: e for n, e in last.unread.items() if n not in unread}:
        unread |= fresh
        last = tried([*without, *unread])
    if last.own <= first.own:
        reasons = {name: f"the host back end cannot read it: {e}" for name, e in unread.items()}
        without |= reasons
    else:
        last = first
    if last.ok:
        return Headers(tuple(own), (), without)
    lost = [name for name in missing if name not in toolkit]
    needed = sorted(name for name in last.undeclared if not is_of_cuda(name))
    check_defined(needed, (path, *own))
    if lost and needed and not toolkit:
        raise _not_found(path, source, lost, needed)
    return Headers(tuple(own), toolkit, {n: why for n, why in without.items() if n not in toolkit})


def _not_found(path: Path, source: Source, lost: list[str], needed: list[str]) -> UserError:
    others = f" (nor {', '.join(lost[1:])})" if lost[1:] else ""
    return UserError(
        f"the header {lost[0]!r} is not found{others}, and what the kernel needs of it:"
        f" {', '.join(needed[:5])}",
        where=_line(path, source, lost[0]),
        hint=where_to_look(path, lost[0]),
    )


def where_to_look(path: Path, header: str) -> str:
    """Return a hint for a header that is not found.

    Args:
        path: the source that includes it.
    """
    name = f"{PurePosixPath(header).name}.in"
    root = repository_of(path).root
    if (template := next(root.rglob(name), None)) is not None:
        return (
            f"the project's build writes it ({template.relative_to(root)} is what it makes it of):"
            " configure the project, then say where it is: -I DIR, or --compile-commands"
            " compile_commands.json"
        )
    return "say where it is: -I DIR, or --compile-commands compile_commands.json"


def missing_headers(path: Path, source: Source, compilation: Compilation) -> list[str]:
    """Return the headers that a source includes and that are not found or that the host back end
    lacks.
    """
    return _missing(_listed(path, source.text, compilation, "-M"))


def _missing(listed: Iterable[str]) -> list[str]:
    return [name for name in listed if not Path(name).exists()]


def _listed(source: Path, text: str, compilation: Compilation, how: str) -> list[str]:
    """Return the files that a compiler lists as included.

    Args:
        how: ``-M`` for all files, ``-MM`` for all but the system's.
    """
    command = [find_compiler(), "-x", "c++", how, "-MG", f"-std={compilation.standard}"]
    command += [f"-I{folder}" for folder in (*compilation.include, source.parent.resolve())]
    command += ["-isystem", str(INCLUDE), *NVCC_MACROS, "-"]
    directives = prelude(text, compilation.define)
    finished = run(command, limit=_LIMIT, stdin=directives)
    if not finished.ok:
        raise _not_preprocessed(source, text, directives, finished.stderr)
    _, _, names = finished.stdout.replace("\\\n", " ").partition(":")
    found = [name.replace("\\ ", " ") for name in _DEPENDENCY.findall(names)]
    return [name for name in found if name != "-"]


def _not_preprocessed(source: Path, text: str, directives: str, said: str) -> NotPreprocessed:
    """Return a preprocessor's error, at the source's own line.

    Args:
        directives: the preprocessed text, made from `text`.
        said: the preprocessor's messages.
    """
    error = _ERROR.search(said)
    what = said.strip() if error is None else error["what"]
    file, line = str(source), 0
    if error is not None and error["file"]:
        file, line = error["file"], int(error["line"])
    if file == _STDIN:
        # The prelude shifts lines: look for the line's text in the source.
        wanted = directives.splitlines()[line - 1].strip()
        lines = [one.strip() for one in text.splitlines()]
        file, line = str(source), lines.index(wanted) + 1 if wanted in lines else 0
    return NotPreprocessed(file, line, what)


def _line(path: Path, source: Source, header: str) -> str:
    for file, text in source.files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(rf"\s*#\s*include\s*[<\"]{re.escape(header)}[>\"]", line):
                return f"{path if file == source.name else path.parent / file}:{number}"
    return str(path)
