"""What travels to another machine once: a run's facts, its target's files, its reference's answers.

Files keep their places relative to each other, so what a target names by a relative path is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gi_cuda.backends.compile.identity import of_tool
from gi_cuda.backends.protocol.backend import OpenBackend
from gi_cuda.errors import UserError
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import DATABASE, stored_grammar_files, stored_start, where_it_lies
from gi_cuda.spec.oracles import Python
from gi_cuda.store import Store
from gi_cuda.subject import Start

MOST = 2**31
"""Bytes that may travel."""

FACTS = ("target_hash", "grammar_hash", "backend", "edits", "level", "plan", "baseline")
"""What a run's database says that an evaluator needs."""
_SUFFIXES = frozenset(
    (
        *("", ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ".def"),
        *(".c", ".cc", ".cpp", ".cxx", ".cu"),
    )
)
"""Of files that a source may include."""

_SYSTEM = tuple(map(Path, ("/usr", "/opt")))
"""Where headers belong to tools, which each machine has for itself."""


@dataclass(frozen=True, slots=True)
class Package:
    """A run without its individuals.

    Attributes:
        files: contents by path, from the root.
        links: paths of symbolic links, and those of the files that they lead to.
        answers: files of the reference's recorded answers, by their path in the run's folder.
        target: the target's folder; it and those of grammar files are paths from the root, too.
        grammar_files: the grammar's, if it was read from files.
        start: what the run started from, if not from the reference.
        facts: what the run's database says besides.
        tools: what has to be the same on all machines, by names for people.
        architecture: what is compiled for, where that is the device's to say.
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
        """Make the run's folder below another one.

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
    """Make the folder of a run that has no individuals.

    Args:
        facts: what its database says.
        start: what the run started from, if not from the reference.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Store(folder / DATABASE, create=True) as store:
        store.put(**facts, **({"start": asdict(start)} if start else {}))


def tools_of(backend: OpenBackend) -> dict[str, str]:
    """What has to be the same on all machines that measure for a search, by names for people."""
    return {"device": backend.device(), **backend.versions(), "build": of_tool().hex()[:8]}


def package_of(run: Run) -> Package:
    """What another machine needs to evaluate individuals of a run.

    Raises:
        UserError: it is too much.
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
    """All files that another machine may need: the target's folder, what the target names, and
    headers from where the source finds them."""
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
    """The files below a folder but hidden ones and those of runs; links are followed."""
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
