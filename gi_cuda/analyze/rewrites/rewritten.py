"""Rewrites as candidates: compiled with their own includes, launched as their host code says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path

from gi_cuda.analyze.rewrites.host_readings import HostReading
from gi_cuda.analyze.rewrites.launches import LaunchReader
from gi_cuda.analyze.rewrites.refusals import Refused, of_error, refused
from gi_cuda.analyze.rewrites.tree import Rewrite, Tree, read_rewrite
from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.init import Compilation
from gi_cuda.spec import KernelStep
from gi_cuda.spec.own_launches import OwnLaunches
from gi_cuda.subject import Subject, subject_of
from gi_cuda.subject.patches import new_defaults


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewrite that can be run.

    Attributes:
        rewrite: what it changes.
        candidate: what is compiled and launched.
        files: where its files are, to be read by people and programs.
        notes: how it is launched, where that is not as the original.
    """

    rewrite: Rewrite
    candidate: Candidate
    files: Path
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rewrites:
    """Reads rewrites of a target's source.

    Attributes:
        subject: the original.
        folder: where their files may be written; they are needed as long as the candidates are.
        original: the folder that a folder takes the place of, if one was named.
    """

    subject: Subject
    folder: Path
    original: Path | None = None
    _numbers: count[int] = field(default_factory=count, repr=False, compare=False)

    @cached_property
    def tree(self) -> Tree:
        """The files around the original."""
        return Tree.of(self.subject.target.source, self.original)

    @property
    def hosts(self) -> tuple[Path, ...]:
        """The files that launch the original's kernels."""
        return tuple(one.code.path for one in self._old.hosts)

    @cached_property
    def _old(self) -> HostReading:
        """The launches in the original's host code."""
        return self._reading(self.subject.target.source, None)

    def read(self, word: Path) -> Rewritten:
        """Read a whole file, a folder or a diff.

        Raises:
            UserError: it is none of these, or does not fit.
            Refused: it cannot be run.
        """
        return self.of(self.changes(word))

    def changes(self, word: Path) -> Rewrite:
        """Read what a whole file, a folder or a diff changes.

        Raises:
            UserError: it is none of these, or does not fit.
        """
        rewrite = read_rewrite(word, self.tree, self.original)
        if not rewrite.changes:
            raise UserError(
                "the diff changes no source",
                where=str(word),
                hint=f"it must be against {self.subject.target.source}, or files beside it",
            )
        return rewrite

    def of(self, rewrite: Rewrite) -> Rewritten:
        """Make a candidate of changes.

        Raises:
            Refused: it cannot be run.
        """
        folder = (self.folder / str(next(self._numbers))).resolve()
        source = self.tree.copied(rewrite.changes, folder)
        try:
            candidate, notes = self._candidate(rewrite, source, folder)
        except UserError as error:
            raise self._named(of_error(error), rewrite, folder) from None
        except Refused as error:
            raise self._named(error, rewrite, folder) from None
        return Rewritten(rewrite, candidate, folder, notes)

    def _candidate(
        self, rewrite: Rewrite, source: Path, folder: Path
    ) -> tuple[Candidate, tuple[str, ...]]:
        subject, target = self.subject, self.subject.target
        if not source.is_file():
            raise refused("no-source", "the file with the kernel is gone", source)
        reader = LaunchReader(target, self._old, self._reading(source, folder))
        launches = reader.read()
        own_target = launches.of(target) if launches else target
        build = target.build
        own_target = replace(
            own_target,
            source=source,
            headers=tuple(self.tree.inside(one, folder) for one in target.headers),
            build=replace(
                build, include=tuple(self.tree.inside(one, folder) for one in build.include)
            ),
        )
        own = subject_of(own_target, subject.backend, edits=subject.edits)
        genotype = subject.read(" ".join(new_defaults(subject, own.grammar.source)))
        configuration = genotype.configuration
        candidate = Candidate(
            own.reference,
            configuration,
            subject.upstream_macros(genotype),
            subject.options(configuration),
        )
        notes = tuple(_notes(launches, target.launches[0].steps[0]))
        if launches is None and self._is_in_place(rewrite, own):
            return candidate, notes
        return replace(candidate, own=own), notes

    def _is_in_place(self, rewrite: Rewrite, own: Subject) -> bool:
        """Tell whether a rewrite can be compiled as a variant of the original: it includes the same
        files, and changes only files that are compiled in place."""
        before, after = self.subject.grammar.source, own.grammar.source
        folder = (self.tree.root / self.tree.main).parent
        names = {(folder / name).resolve() for name in before.files}
        changed = {
            (self.tree.root / path).resolve()
            for path in rewrite.changes
            if self._is_new(rewrite, path)
        }
        return (
            changed <= names
            and before.files.keys() == after.files.keys()
            and prelude(before.text) == prelude(after.text)
        )

    def _is_new(self, rewrite: Rewrite, path: str) -> bool:
        return rewrite.changes[path] != self.tree.files.get(path)

    def _reading(self, source: Path, folder: Path | None) -> HostReading:
        """Return the launches in the host code.

        Args:
            folder: of the copy that the source is in.
        """
        build = self.subject.target.build
        include = build.include
        given: tuple[Path, ...] = ()
        if folder is not None:
            include = tuple(self.tree.inside(one, folder) for one in include)
            outside = (host.code.path.resolve() for host in self._old.hosts[1:])
            given = tuple(one for one in outside if not one.is_relative_to(self.tree.root))
        parameters = {one.name: str(one.default) for one in self.subject.target.parameters}
        compilation = Compilation(include, {**build.define}, build.standard)
        return HostReading(source, compilation, frozenset(parameters), given)

    def _named(self, error: Refused, rewrite: Rewrite, folder: Path) -> Refused:
        """An error that names files of the copy as the user knows them."""
        main = rewrite.name if rewrite.kind == "file" else self.tree.main
        refusal = error.refusal
        texts: Mapping[str, str] = {
            str(folder / self.tree.main): main,
            f"{folder}/": "" if rewrite.kind != "folder" else f"{rewrite.name}: ",
        }
        said, where = refusal.said, refusal.where
        for copy, name in texts.items():
            said, where = said.replace(copy, name), where.replace(copy, name)
        if rewrite.kind == "diff" and where:
            where = f"{rewrite.name}, applied: {where}"
        return Refused(replace(refusal, said=said, where=where))


def _notes(launches: OwnLaunches | None, first: KernelStep) -> Iterator[str]:
    """Describe the launch of a rewrite, if it is not the target's."""
    for step in (s for one in launches.launches for s in one.steps) if launches else ():
        grid, block = (", ".join(one.text for one in some) for some in (step.grid, step.block))
        shared = f", {step.shared.text} bytes shared" if step.shared.text != "0" else ""
        yield (
            f"{step.kernel}<<<({grid}), ({block}){shared}>>>({', '.join(step.args)}), as its own"
            " host code says"
        )
