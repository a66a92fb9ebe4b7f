"""Certificates: a verdict with all its source texts, so that anybody can repeat it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from gi_cuda.analyze.judge.records import FORMAT, Hashes, Judged
from gi_cuda.analyze.rewrites.tree import Rewrite, Tree
from gi_cuda.errors import UserError
from gi_cuda.results.status import Status
from gi_cuda.spec import Target

_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.M)
_MOST_BYTES = 1 << 20
"""Largest file that a certificate contains, bytes. Larger files are listed with their hashes."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A verdict with all inputs to repeat it.

    Attributes:
        verdict: the verdict.
        backend: back end on which the rewrite ran.
        target: absolute path of the target's folder.
        source: absolute path of the original.
        files: texts of the target and of the original's tree, by absolute path.
        beside: hashes of files of the target that are too large or are no text, by path.
        folders: folders of headers outside the tree.
        rewrite: changes that the rewrite makes in the tree.
        format: version of the record's format.
    """

    verdict: Judged
    backend: str
    target: str
    source: str
    files: Mapping[str, str]
    beside: Mapping[str, str]
    folders: tuple[str, ...]
    rewrite: Rewrite
    format: int = FORMAT


def certificate(
    verdict: Judged, target: Target, tree: Tree, rewrite: Rewrite, hosts: Iterable[Path]
) -> Certificate:
    """Make the certificate of a verdict.

    Args:
        verdict: the verdict.
        target: the target.
        tree: the files around the original.
        rewrite: the rewrite.
        hosts: files that launch the original's kernels.

    Raises:
        UserError: a source is not UTF-8, so JSON cannot reproduce it.
    """
    files, beside = dict[str, str](), dict[str, str]()
    folder = target.file.resolve().parent
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        data = path.read_bytes()
        try:
            small = len(data) <= _MOST_BYTES
            text = data.decode("utf-8") if small else None
        except UnicodeDecodeError:
            text = None
        if text is None:
            beside[str(path)] = sha256(data).hexdigest()
        else:
            files[str(path)] = text
    kept = {str(tree.root / path): text for path, text in _needed(tree, rewrite, hosts)}
    for name, known in {**kept, **rewrite.changes}.items():
        if known is not None and known.encode("utf-8", "replace") != known.encode(
            "utf-8", "surrogateescape"
        ):
            raise UserError(
                "a certificate cannot hold this file: it is not UTF-8",
                where=name,
                hint="convert it, e.g. iconv -f latin1 -t utf-8",
            )
    outside = [one for one in target.build.include if not one.is_relative_to(tree.root)]
    return Certificate(
        verdict,
        verdict.machine.backend,
        str(folder),
        str(target.source),
        {**files, **kept},
        beside,
        tuple(map(str, outside)),
        rewrite,
    )


def _needed(tree: Tree, rewrite: Rewrite, hosts: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield the files of a tree that the original or the rewrite may include: path and text."""
    within = [one.resolve() for one in hosts]
    first = [
        one.relative_to(tree.root).as_posix() for one in within if one.is_relative_to(tree.root)
    ]
    waiting = [tree.main, *first, *rewrite.changes]
    texts = [text for text in rewrite.changes.values() if text]
    seen: set[str] = set()
    while waiting or texts:
        if waiting:
            path = waiting.pop()
            if path in seen or path not in tree.files:
                continue
            seen.add(path)
            text = tree.files[path]
            yield path, text
        else:
            text = texts.pop()
        for name in _INCLUDED.findall(text):
            tail = PurePosixPath(name).name
            waiting += [one for one in tree.files if PurePosixPath(one).name == tail]


def hashes_of(files: Mapping[str, str | None]) -> dict[str, str]:
    """Return the SHA-256 of texts, by path; deleted files (None) are left out."""
    return {
        path: sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
        for path, text in files.items()
        if text is not None
    }


def hashes(target: Target, tree: Tree, rewrite: Rewrite) -> Hashes:
    """Return the hashes of original, rewrite and target."""
    original = {
        path: tree.files[path] for path in {tree.main, *rewrite.changes} & tree.files.keys()
    }
    own = {
        path.name: path.read_text(encoding="utf-8", errors="surrogateescape")
        for path in (target.file, target.data)
    }
    return Hashes(hashes_of(original), hashes_of(rewrite.changes), hashes_of(own))


@dataclass(frozen=True, slots=True)
class Restored:
    """A certificate whose files were restored to a folder.

    Attributes:
        target: folder of the target.
        source: path of the original.
        backend: back end on which the rewrite ran.
        rewrite: changes that the rewrite makes.
        status: the verdict.
        inputs: hashes of the cases' inputs, by case.
        original: the user's name for the original.
    """

    target: Path
    source: Path
    backend: str
    rewrite: Rewrite
    status: Status
    inputs: Mapping[str, str]
    original: str


def restore(file: Path, folder: Path) -> Restored:
    """Write the files of a certificate into a folder.

    Raises:
        UserError: the file is no certificate, or files that it only names are missing or changed.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise UserError(
                f"a certificate of form {found['format']}, and this gi-cuda knows {FORMAT}",
                where=str(file),
                hint="take the version of gi-cuda that the certificate names",
            )
        for path, text in found["files"].items():
            place = _inside(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode("utf-8", "surrogateescape"))
        for path, known in found["beside"].items():
            _check(file, Path(path), known)
            _linked(folder, path)
        for path in found["folders"]:
            _linked(folder, path)
        rewrite = found["rewrite"]
        verdict = found["verdict"]
        return Restored(
            _inside(folder, found["target"]),
            _inside(folder, found["source"]),
            found["backend"],
            Rewrite(rewrite["kind"], rewrite["name"], rewrite["changes"]),
            Status(verdict["status"]),
            verdict["hashes"]["inputs"],
            verdict["original"],
        )
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            "this is no certificate of gi-cuda judge",
            where=str(file),
            hint="gi-cuda judge ORIGINAL REWRITTEN --certificate FILE writes one",
        ) from None


def _inside(folder: Path, path: str) -> Path:
    """Return the path in a folder at which a file with an absolute path is restored.

    Raises:
        ValueError: the path is not absolute or contains "..".
    """
    given = Path(path)
    if not given.is_absolute() or ".." in given.parts:
        raise ValueError(path)
    return folder / given.relative_to("/")


def _linked(folder: Path, path: str) -> None:
    place = _inside(folder, path)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(path)


def _check(file: Path, path: Path, known: str) -> None:
    if not path.is_file() or sha256(path.read_bytes()).hexdigest() != known:
        raise UserError(
            f"the certificate needs {path}, which is not there as it was",
            where=str(file),
            hint="data that was captured is not kept in certificates: bring the file back",
        )
