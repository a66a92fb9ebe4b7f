"""Read the files around an original, and copy them with the changes of a rewrite."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from gi_cuda.analyze.rewrites.diffs import applied, file_diffs
from gi_cuda.errors import SOURCES, UserError, no_source

_COPIED = frozenset({*SOURCES, ".inc", ".def", ".tpp", ".ipp"})
_MOST_FILES = 4000
_MOST_BYTES = 1 << 20
_WORK_TREE = ".git"
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)


@dataclass(frozen=True)
class Tree:
    """The sources of the repository, or the folder, that contains an original.

    Attributes:
        root: absolute path of the top folder.
        main: path of the original, relative to `root`.
    """

    root: Path
    main: str

    @classmethod
    def of(cls, source: Path, named: Path | None = None) -> Tree:
        """Make the tree of a source: its git work tree, or its folder without one.

        Args:
            source: path of the source.
            named: a folder that contains the source, to use instead of its own folder.
        """
        source = source.resolve()
        folder = source.parent if named is None else named.resolve()
        if not source.is_relative_to(folder):
            folder = source.parent
        above = (one for one in source.parents if (one / _WORK_TREE).exists())
        root = next(above, folder)
        return cls(root, source.relative_to(root).as_posix())

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Texts by path relative to the root; of a large tree, only files beside or below the
        original."""
        for top in (self.root, (self.root / self.main).parent):
            paths = list(_sources(top))
            if len(paths) <= _MOST_FILES:
                break
        return {path.relative_to(self.root).as_posix(): read(path) for path in paths}

    def copied(self, changes: Mapping[str, str | None], folder: Path) -> Path:
        """Write the tree with changes into a folder, and return the path of the source there.

        Args:
            changes: new texts by path; None for a deleted file.
            folder: the folder.
        """
        for path, text in {**self.files, **changes}.items():
            if text is not None:
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(text.encode("utf-8", "surrogateescape"))
        if (self.root / _WORK_TREE).exists():
            (folder / _WORK_TREE).mkdir(exist_ok=True)
        return folder / self.main

    def inside(self, path: Path, folder: Path) -> Path:
        """Return the path in a copy of a file or folder of the tree; other paths are unchanged."""
        path = path.resolve()
        return folder / path.relative_to(self.root) if path.is_relative_to(self.root) else path


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The changes that a rewrite makes to the original.

    Attributes:
        kind: "file", "folder" or "diff".
        name: path that the user named.
        changes: new texts by path relative to the tree's root; None for a deleted file.
        notes: remarks about decisions during reading.
    """

    kind: str
    name: str
    changes: Mapping[str, str | None]
    notes: tuple[str, ...] = field(default=())


def read_rewrite(word: Path, tree: Tree, original: Path | None = None) -> Rewrite:
    """Read the changes that a whole file, a folder or a diff makes in a tree.

    Args:
        word: path of the file, folder or diff.
        tree: the files around the original.
        original: the folder that a rewritten folder replaces; None: the folder of the source.

    Raises:
        UserError: the path cannot be read, is none of these, or does not fit the tree.
    """
    if word.is_dir():
        top = (tree.root / tree.main).parent if original is None else original.resolve()
        if not top.is_relative_to(tree.root):
            raise UserError(
                f"the original, {tree.root / tree.main}, is not in this folder", where=str(original)
            )
        return Rewrite("folder", str(word), _of_folder(word, tree, top))
    if not word.exists():
        raise no_source(word)
    text = read(word)
    if "\0" in text:
        raise UserError("this is no text", where=str(word), hint=_WANTED)
    diffs = file_diffs(text)
    if word.suffix in SOURCES:
        return Rewrite("file", str(word), _of_file(word, text, tree))
    if not diffs:
        raise UserError("neither a CUDA source nor a unified diff", where=str(word), hint=_WANTED)
    # Changes to files that are no sources do not affect a kernel.
    diffs = [one for one in diffs if _may_be_source(one.old) or _may_be_source(one.new)]
    return Rewrite("diff", str(word), applied(diffs, tree.files, tree.main, str(word)))


def _may_be_source(name: str) -> bool:
    """Tell whether a name in a diff may be a source: ``k.cu``, ``k.cu.orig``, ``/dev/fd/63``."""
    suffixes = Path(name).suffixes
    return name != "/dev/null" and (not suffixes or not _COPIED.isdisjoint(suffixes))


_WANTED = (
    "give the rewritten file (.cu, .cuh), its folder, or what `git diff` or"
    " `diff -u ORIGINAL REWRITTEN` prints"
)


def _of_file(file: Path, text: str, tree: Tree) -> dict[str, str | None]:
    """Return the changes of a rewritten file: the file, and headers beside it that it includes."""
    changes: dict[str, str | None] = {tree.main: text}
    if file.resolve().parent == (tree.root / tree.main).parent:
        return changes
    waiting = [(file.resolve(), PurePosixPath(tree.main))]
    while waiting:
        path, place = waiting.pop()
        for name in _INCLUDED.findall(read(path)):
            header = (path.parent / name).resolve()
            target = Path(os.path.normpath(tree.root / place.parent / name))
            if not header.is_file() or not target.is_relative_to(tree.root):
                continue
            inner = target.relative_to(tree.root).as_posix()
            if inner not in changes:
                changes[inner] = read(header)
                waiting.append((header, PurePosixPath(inner)))
    return changes


def _of_folder(folder: Path, tree: Tree, top: Path) -> dict[str, str | None]:
    """Return the changes of a rewritten folder: its files replace those of the folder `top`."""
    folder = folder.resolve()
    base = top.relative_to(tree.root)
    new = {(base / path.relative_to(folder)).as_posix(): read(path) for path in _sources(folder)}
    if tree.main not in new:
        name = (tree.root / tree.main).relative_to(top)
        raise UserError(
            f"there is no {name} in this folder",
            where=str(folder),
            hint=f"it takes the place of {top}, whose kernel is in {name}",
        )
    inside = "" if base == Path() else f"{base.as_posix()}/"
    gone = (path for path in tree.files if path.startswith(inside) and path not in new)
    return {**dict.fromkeys(gone), **new}


def read(path: Path) -> str:
    """Return a file's text.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None


def _sources(top: Path) -> Iterator[Path]:
    """Yield sources and headers below a folder; stop after one more than `_MOST_FILES`."""
    count = 0
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            small = path.is_file() and path.stat().st_size <= _MOST_BYTES
            if path.suffix in _COPIED and small:
                yield path
                count += 1
                if count > _MOST_FILES:
                    return
