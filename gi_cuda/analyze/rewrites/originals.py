"""Find the original that a rewrite replaces, and its target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.analyze.rewrites.diffs import file_diffs
from gi_cuda.analyze.rewrites.tree import read
from gi_cuda.errors import TARGET_FILE, UserError, folders_with, no_source
from gi_cuda.grammar.frontends.cuda.declarations.file import kernels, read_cuda_file
from gi_cuda.spec import load_target

_UP = 3
"""Number of folders above an original that are searched for targets."""


@dataclass(frozen=True, slots=True)
class Original:
    """The source of which a rewrite exists.

    Attributes:
        source: path of the source file.
        target: folder of its target; None if it has none yet.
        folder: the folder that the user named instead of the file, if any.
    """

    source: Path
    target: Path | None = None
    folder: Path | None = None


def find_original(word: Path, rewritten: Path, target: Path | None) -> Original:
    """Find the source that the user names by a file, a folder or a target's folder.

    Args:
        word: the path that the user named.
        rewritten: the rewrite; it decides which file of a folder is the original.
        target: the target, if the user names it.

    Raises:
        UserError: there is no source, or the choice is ambiguous.
    """
    if not rewritten.exists():
        raise no_source(rewritten)
    if target is None and (word / TARGET_FILE).is_file():
        target = word
    if target is not None:
        source = load_target(target).source
        if word.is_file() and word.resolve() != source.resolve():
            raise UserError(
                f"the target is of another source: {source}",
                where=str(word),
                hint="name that file, or another --target, or leave --target out",
            )
        # A rewritten folder replaces a folder with sources, but not a target's folder.
        named = word if word.is_dir() and not (word / TARGET_FILE).is_file() else None
        return Original(source, target, named)
    if word.is_file():
        return Original(word, _known(word))
    if not word.is_dir():
        raise no_source(word)
    source = _in_folder(word, rewritten)
    return Original(source, _known(source), word)


def _in_folder(folder: Path, rewritten: Path) -> Path:
    """Return the file with kernels in a folder that a rewrite changes."""
    found = [one for one in sorted(folder.rglob("*.cu")) if one.is_file() and _has_kernels(one)]
    changed = [one for one in found if _is_changed(one, one.relative_to(folder), rewritten)]
    if len(changed) == 1 or len(found) == 1:
        return (changed or found)[0]
    if not found:
        raise no_source(folder)
    names = ", ".join(str(one) for one in (changed or found)[:4])
    what = "the rewrite changes several files with kernels" if changed else "no kernel is changed"
    raise UserError(what, where=str(folder), hint=f"name the file that is meant: {names}")


def _has_kernels(file: Path) -> bool:
    with suppress(UserError):
        return bool(kernels(read_cuda_file(file)))
    return False


def _is_changed(file: Path, inner: Path, rewritten: Path) -> bool:
    if rewritten.is_dir():
        other = rewritten / inner
        return not other.is_file() or read(other) != read(file)
    if rewritten.suffix == file.suffix:
        return rewritten.name == file.name
    names = {name for one in file_diffs(read(rewritten)) for name in (one.old, one.new)}
    return any(Path(name).name == file.name for name in names)


def _known(source: Path) -> Path | None:
    """Return the folder of the target of a source; None if there is none.

    Raises:
        UserError: there are several.
    """
    found = list(dict.fromkeys(_of_source(source.resolve())))
    if len(found) > 1:
        raise UserError(
            "several targets are of this source",
            where=str(source),
            hint=f"name one with --target: {', '.join(map(str, found[:4]))}",
        )
    return found[0] if found else None


def _of_source(source: Path) -> Iterator[Path]:
    above = [one for one in source.parents if len(one.parts) > 1][:_UP]
    root = next((at for at, one in enumerate(above) if (one / ".git").exists()), len(above))
    places = [*above[: root + 1], Path.cwd()]
    roots = [inner for one in places for inner in (one, one / "targets")]
    for name in folders_with(TARGET_FILE, *roots):
        with suppress(UserError):
            if load_target(Path(name)).source.resolve() == source:
                yield Path(name).resolve()
