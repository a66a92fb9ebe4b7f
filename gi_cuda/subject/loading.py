"""Load a target's source and its grammar."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.genome import Space
from gi_cuda.grammar import EDIT_SETS, FrontEnd, ParsedText, Source, Wanted, front_end
from gi_cuda.spec import ParameterKind, Target, load_target, usual_arguments
from gi_cuda.spec.toml_file.load import keys_of
from gi_cuda.subject.subject import Subject


def load_subject(
    path: Path,
    backend: str,
    *,
    bnf: Path | None = None,
    scope: Path | None = None,
    edits: str = "paper",
) -> Subject:
    """Load a target's source and its grammar.

    Args:
        path: the target's folder or its ``target.toml``.
        backend: ``host`` or ``cuda``.
        bnf, scope: files of an edited grammar, used instead of the converted one.
        edits: a name of :data:`gi_cuda.grammar.EDIT_SETS`.

    Raises:
        UserError: the target, the source or a grammar file is invalid.
    """
    return subject_of(load_target(path), backend, bnf=bnf, scope=scope, edits=edits)


def subject_of(
    target: Target,
    backend: str,
    *,
    bnf: Path | None = None,
    scope: Path | None = None,
    edits: str = "paper",
) -> Subject:
    """Read the source of a target and its grammar.

    Arguments and errors are those of :func:`load_subject`.
    """
    language = front_end("source", target.source.suffix)
    assert language.load is not None, "no compiler makes a target's source"
    source = language.load(target.source, target.headers, target.build.include)
    constants = (one.name for one in target.parameters if one.kind is ParameterKind.CONSTANT)
    source = replace(source, usual=usual_arguments(target), varied=frozenset(constants))
    if (bnf is None) != (scope is None):
        raise UserError(
            "a grammar is two files, and only one was given",
            hint="give both --bnf and --scope; `gi-cuda convert` writes them",
        )
    kernels, types = target.kernels, EDIT_SETS[edits]
    if bnf is not None and scope is not None:
        wanted = Wanted(kernels, types, None, (_text(bnf), _text(scope)), (str(bnf), str(scope)))
        program = language.read(source, wanted)
    else:
        program = _converted(language, source, target, Wanted(kernels, types))
    space = Space.from_target(target, backend)
    files = tuple(file.resolve() for file in (bnf, scope) if file is not None)
    return Subject(target, language, program, space, backend, edits, files)


def _converted(language: FrontEnd, source: Source, target: Target, wanted: Wanted) -> ParsedText:
    try:
        return language.read(source, wanted)
    except UserError as error:
        if error.where != source.name:
            raise
        # The error concerns the kernels that the target names, so point to that key.
        where = keys_of(target).at(("target", "kernels"))
        raise UserError(f"{source.name}: {error.what}", where=where, hint=error.hint) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
