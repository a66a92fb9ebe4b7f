"""Make candidates of rewrites, compiled with their own headers and launched by their host code."""

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
from gi_cuda.spec.launching.own_launches import OwnLaunches
from gi_cuda.subject import Subject, subject_of
from gi_cuda.subject.patches import new_defaults


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewrite that can run.

    Attributes:
        rewrite: the changes that it makes.
        candidate: the code that is compiled and launched.
        files: folder with its files.
        notes: descriptions of its launches, if they differ from the original's.
    """

    rewrite: Rewrite
    candidate: Candidate
    files: Path
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rewrites:
    """A reader of rewrites of a target's source.

    Attributes:
        subject: subject of the original.
        folder: folder for files of rewrites, which must exist as long as the candidates.
        original: the folder that a rewritten folder replaces, if the user named one.
    """

    subject: Subject
    folder: Path
    original: Path | None = None
    _numbers: count[int] = field(default_factory=count, repr=False, compare=False)

    @cached_property
    def tree(self) -> Tree:
        """Files around the original."""
        return Tree.of(self.subject.target.source, self.original)

    @property
    def hosts(self) -> tuple[Path, ...]:
        """Files that launch the original's kernels."""
        return tuple(one.code.path for one in self._old.hosts)

    @cached_property
    def _old(self) -> HostReading:
        """Launches in the original's host code."""
        return self._reading(self.subject.target.source, None)

    def read(self, word: Path) -> Rewritten:
        """Read a rewrite from a whole file, a folder or a diff, and make a candidate of it.

        Raises:
            UserError: the path is none of these, or does not fit the original.
            Refused: the rewrite cannot run.
        """
        return self.of(self.changes(word))

    def changes(self, word: Path) -> Rewrite:
        """Read the changes of a whole file, a folder or a diff.

        Raises:
            UserError: the path is none of these, or does not fit the original.
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
            Refused: the rewrite cannot run.
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
        """Tell whether a rewrite can be compiled as a variant of the original.

        It must include the same files, and change only files that are compiled in place.
        """
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
        """Return the launches in the host code of a source.

        Args:
            source: path of the source.
            folder: folder of the copy that contains the source; None: the original.
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
        """Replace paths in the copy by the user's names in an error."""
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
    """Yield descriptions of a rewrite's launches, if they are not the target's."""
    for step in (s for one in launches.launches for s in one.steps) if launches else ():
        grid, block = (", ".join(one.text for one in some) for some in (step.grid, step.block))
        shared = f", {step.shared.text} bytes shared" if step.shared.text != "0" else ""
        yield (
            f"{step.kernel}<<<({grid}), ({block}){shared}>>>({', '.join(step.args)}), as its own"
            " host code says"
        )
