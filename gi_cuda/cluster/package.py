"""Data that each worker gets once: a run's facts, its target's files and its reference's outputs.

Files keep their positions relative to each other, so relative paths in a target stay valid.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gi_cuda.backends.compile.caching.identity import of_tool
from gi_cuda.backends.protocol.backend import OpenBackend
from gi_cuda.errors import UserError
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import DATABASE, stored_grammar_files, stored_start, where_it_lies
from gi_cuda.spec.oracles import Python
from gi_cuda.store import Store
from gi_cuda.subject import Start

MOST = 2**31
"""Size limit of a package, in bytes."""

FACTS = ("target_hash", "grammar_hash", "backend", "edits", "level", "plan", "baseline")
"""Keys of the facts in a run's database that an evaluator needs."""
_SUFFIXES = frozenset(
    (
        *("", ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ".def"),
        *(".c", ".cc", ".cpp", ".cxx", ".cu"),
    )
)
"""Suffixes of files that a source may include."""

_SYSTEM = tuple(map(Path, ("/usr", "/opt")))
"""Folders of installed tools, whose headers each machine has already."""


@dataclass(frozen=True, slots=True)
class Package:
    """A run without its individuals.

    Attributes:
        files: contents by path, relative to the file system's root.
        links: target of each symbolic link, by path of the link.
        answers: the reference's recorded outputs, by path in the run's folder.
        target: the target's folder, relative to the root.
        grammar_files: files of the grammar, relative to the root; empty if it was converted.
        start: start of the run; None for the reference.
        facts: facts from the run's database.
        tools: versions that must be equal on all machines, by readable name.
        architecture: GPU architecture to compile for; "" if the device does not matter.
    """

    files: Mapping[str, bytes]
    links: Mapping[str, str]
    answers: Mapping[str, bytes]
    target: str
    grammar_files: tuple[str, ...]
    start: Start | None
    facts: Mapping[str, object]
    tools: Mapping[str, str]
    architecture: str = ""

    def unpacked(self, folder: Path, workers: int, jobs: int) -> Path:
        """Write the run's folder and its files below a folder; return the run's folder.

        Args:
            workers, jobs: measurements and compiler processes at a time.
        """
        root, run = folder / "files", folder / "run"
        for name, content in self.files.items():
            _write(root / name, content)
        for name, content in self.answers.items():
            _write(run / name, content)
        for name, real in self.links.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(root / real)
        facts = dict(self.facts)
        facts["plan"] = {**_mapping(facts["plan"]), "workers": workers, "jobs": jobs, "devices": ()}
        facts |= where_it_lies(root / self.target, [root / one for one in self.grammar_files], run)
        start = self.start
        if start is not None:
            files = tuple(str(root / name) for name in start.grammar_files)
            start = replace(start, grammar_files=files)
        make_run(run, facts, start)
        return run


def make_run(folder: Path, facts: Mapping[str, object], start: Start | None) -> None:
    """Create the folder of a run without individuals.

    Args:
        facts: facts for its database.
        start: start of the run; None for the reference.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Store(folder / DATABASE, create=True) as store:
        store.put(**facts, **({"start": asdict(start)} if start else {}))


def tools_of(backend: OpenBackend) -> dict[str, str]:
    """Return the device and the versions that must be equal on all machines that measure.

    They are keyed by readable name.
    """
    return {"device": backend.device(), **backend.versions(), "build": of_tool().hex()[:8]}


def package_of(run: Run) -> Package:
    """Return the package that another machine needs to evaluate individuals of a run.

    Raises:
        UserError: the package is larger than 2 GiB.
    """
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    size = 0
    for path in _files(run):
        real = os.path.realpath(path)
        if _from_root(real) not in files:
            content = Path(real).read_bytes()
            files[_from_root(real)], size = content, size + len(content)
        if real != str(path):
            links[_from_root(path)] = _from_root(real)
        if size > MOST:
            raise UserError(
                f"more than {MOST / 2**30:g} GiB would have to travel to the other machines",
                where=str(run.subject.target.folder),
                hint="keep in the target's folder nothing but what the target needs",
            )
    reference = run.tools.reference
    answers = {
        str(one.relative_to(run.folder)): one.read_bytes()
        for one in reference.rglob("*")
        if one.is_file()
    }
    store, start = run.store, stored_start(run.store)
    if start is not None:
        named = tuple(_from_root(os.path.realpath(one)) for one in start.grammar_files)
        start = replace(start, grammar_files=named)
    return Package(
        files,
        links,
        answers,
        _from_root(os.path.realpath(run.subject.target.folder)),
        tuple(_from_root(os.path.realpath(one)) for one in stored_grammar_files(store, run.folder)),
        start,
        {name: store.get(name) for name in FACTS},
        tools_of(run.tools.backend),
        run.tools.backend.architecture,
    )


def _files(run: Run) -> Iterator[Path]:
    """Yield all files that another machine may need.

    These are the target's folder, the files that the target names, and headers in the folders where
    the source includes them from.
    """
    target, start = run.subject.target, stored_start(run.store)
    folder = Path(os.path.realpath(target.folder))
    yield from _below(folder)
    yield from (target.source, *target.headers, target.data)
    yield from (one.file for one in target.oracle.checks if isinstance(one, Python))
    yield from stored_grammar_files(run.store, run.folder)
    yield from map(Path, start.grammar_files if start else ())
    for place in (target.source.parent, *target.build.include):
        if not place.is_relative_to(folder) and not any(map(place.is_relative_to, _SYSTEM)):
            yield from (one for one in _below(place) if one.suffix.lower() in _SUFFIXES)


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, without hidden folders and folders of runs; follow links."""
    seen = set()
    for where, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(where)
        if real in seen or DATABASE in names:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(one for one in folders if one[0] != "." and one != "__pycache__")
        yield from (Path(where, one) for one in sorted(names) if os.path.isfile(f"{where}/{one}"))


def _from_root(path: Path | str) -> str:
    return os.path.relpath(path, "/")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value
