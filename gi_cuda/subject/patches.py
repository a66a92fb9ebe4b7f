"""Application of external patches: the patched source, and the parameter values that it sets."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar import Source, read_files
from gi_cuda.grammar.macro_values import constants_said, in_force, said
from gi_cuda.spec import ParameterKind
from gi_cuda.subject.definitions import number_said
from gi_cuda.subject.diffs import by_path, patch_root
from gi_cuda.subject.scratch import apply_in_scratch
from gi_cuda.subject.subject import Subject

_MAIL = re.compile(r"From [0-9a-f]{40} ")


def patched_source(text: str, subject: Subject, where: str) -> Source:
    """Return the source of a target after a patch.

    Args:
        text: a diff, or a mail.
        where: name of the patch in error messages.

    Raises:
        UserError: git rejects the patch, or it changes nothing in the source's files.
    """
    source = subject.grammar.source
    texts = _applied(text, subject, where)
    if texts == source.files:
        raise UserError(
            "the patch changes nothing in the target's source",
            where=where,
            hint=f"it must be against {subject.target.source}",
        )
    return changed_source(texts, subject, where)


def changed_source(texts: Mapping[str, str], subject: Subject, where: str) -> Source:
    """Return the source of a target with new texts of its files, by file name.

    The files may also include other files than before.

    Raises:
        UserError: the changed source cannot be read.
    """
    target = subject.target
    folder = target.source.resolve().parent
    main = subject.grammar.source.name
    changed = {
        target.source if name == main else folder / name: text for name, text in texts.items()
    }
    try:
        return read_files(target.source, target.headers, target.build.include, changed).source
    except UserError as error:
        place = f"{where}, applied: {error.where}" if error.where else where
        raise UserError(error.what, where=place, hint=error.hint) from None


def _applied(text: str, subject: Subject, where: str) -> dict[str, str]:
    """Return the texts of the source's files after a patch, by file name."""
    source = subject.grammar.source
    before = by_path(source, subject.target.source)
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        folder = Path(scratch) / "repository"
        folder.mkdir()
        try:
            after = apply_in_scratch(before, [text], folder, mailed=bool(_MAIL.match(text)))
        except UserError as error:
            root = patch_root(source, subject.target.source)
            hint = error.hint or (
                f"it must be against the target's source; paths in it start at {root}:"
                f" {', '.join(before)}"
            )
            raise UserError(error.what, where=where, hint=hint) from None
    return dict(zip(source.files, after.values(), strict=True))


def new_defaults(subject: Subject, after: Source) -> Iterator[str]:
    """Yield the parameter values that changed files set, in notation."""
    old, new = (_said(subject, one) for one in (subject.grammar.source, after))
    for parameter in subject.target.parameters:
        name = parameter.name
        if parameter.kind is ParameterKind.FLAG and (name in old) != (name in new):
            yield f"{name}={int(name in new)}"
        elif parameter.kind is not ParameterKind.OPTION and old.get(name, ()) != new.get(name, ()):
            before = old.get(name, ())
            others = [one for one in new.get(name, ()) if one not in before]
            yield f"{name}={number_said(others[0]) if others else parameter.default}"


def _said(subject: Subject, source: Source) -> dict[str, list[str]]:
    """Return the texts of a source's active definitions, by macro or constant."""
    found: dict[str, list[str]] = {}
    parameters = {one.name for one in subject.target.parameters}
    define = subject.target.build.define
    for macro in in_force(source.text, {n: v for n, v in define.items() if n not in parameters}):
        found.setdefault(macro.name, []).append(said(macro.body))
    for one in constants_said(source.text):
        found.setdefault(one.name, []).append(one.value)
    return found
