"""Read contestants of a comparison: winners of runs, genotypes, patches, files of machine code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from os.path import isdir, isfile
from pathlib import Path

from gi_cuda.analyze.compare.imports import Importer, as_import
from gi_cuda.analyze.finalists.winner import choose_individual
from gi_cuda.analyze.rewrites.refusals import Refusal, Refused
from gi_cuda.analyze.rewrites.rewritten import Rewrites
from gi_cuda.analyze.stored.milestones import Search, search_of
from gi_cuda.backends.compile.caching.cached import keeping
from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.table import open_compiler
from gi_cuda.errors import SOURCES, UserError, no_run
from gi_cuda.evaluate.candidates import Candidate, candidate, unmodified
from gi_cuda.evaluate.levels import backends_for, compiled_subject
from gi_cuda.genome import Genotype, changes_of
from gi_cuda.grammar import FRONT_ENDS
from gi_cuda.runs.stored import DATABASE, open_store, stored_subject
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Contestant:
    """A run, genotype, patch or file that takes part in a comparison.

    Attributes:
        name: text by which the user named it.
        kind: kind of contestant, in words.
        what: genotype in notation; for a file of machine code, the configuration; "" for a rewrite.
        candidate: the code that is compiled and launched.
        changes: number of its changes; None if unknown.
        search: effort and progress of its run, if it comes from a run.
        winner: whether it is the winner of its run.
        refusal: reason why it cannot run; the candidate is then the reference.
    """

    name: str
    kind: str
    what: str
    candidate: Candidate
    changes: int | None
    search: Search | None = None
    winner: bool = False
    refusal: Refusal | None = None


def as_run(word: str) -> tuple[Path, int | None] | None:
    """Parse a run's folder, or ``RUN:123`` with the number of an individual; None: no run."""
    # A genotype may be too long for a path; isfile() then returns False.
    if isfile(Path(word) / DATABASE):
        return Path(word), None
    folder, colon, number = word.rpartition(":")
    if colon and number.isdecimal() and isfile(Path(folder) / DATABASE):
        return Path(folder), int(number)
    return None


@dataclass(frozen=True)
class Reader:
    """A reader of contestants.

    Attributes:
        subject: subject of the target of all contestants.
        folder: folder for binaries, which must exist as long as the contestants.
        jobs: number of parallel compiler processes.
        cache: cache of compiled code, if there is one.
    """

    subject: Subject
    folder: Path
    jobs: int
    cache: CodeCache | None = None

    @cached_property
    def _importer(self) -> Importer:
        return Importer(self.subject, self.folder)

    @cached_property
    def _rewrites(self) -> Rewrites:
        return Rewrites(self.subject, self.folder / "rewrites")

    @cached_property
    def _compiled(self) -> Callable[[str], Subject]:
        return cache(partial(compiled_subject, self.subject))

    def read(self, word: str) -> Contestant:
        """Read the contestant that a word names.

        The word is a run (its winner), an individual of a run, a patch, a rewritten file or folder,
        a file of machine code, or a genotype.

        Raises:
            UserError: the word is none of them, or the contestant does not fit the target.
        """
        if (run := as_run(word)) is not None:
            return self._of_run(word, *run)
        if isdir(word) and not any(Path(word).rglob("*.cu*")):
            raise no_run(Path(word))
        if (imported := as_import(word)) is not None:
            candidate, genotype = self._importer.candidate(imported)
            return Contestant(word, imported.kind, str(genotype), candidate, None)
        if isfile(word) or isdir(word):
            return self._rewrite(word)
        if "<" not in word and "=" not in word:
            raise UserError(
                "neither a run, nor a patch, nor PTX, a cubin or LLVM-IR, nor a genotype",
                where=word,
                hint="name a run's folder, a file that `gi-cuda patch` wrote, a file such as"
                " fast.ptx, or a genotype such as 'BLOCK=128 <_kernel.cu_12>'",
            )
        own = self._named_in(word)
        return self._of_genotype(word, own.read(word), own)

    def _rewrite(self, word: str) -> Contestant:
        kind = "file" if Path(word).suffix in SOURCES else "folder" if isdir(word) else "patch"
        try:
            found = self._rewrites.read(Path(word))
        except Refused as error:
            reference = unmodified(self.subject)
            return Contestant(word, kind, "", reference, None, refusal=error.refusal)
        return Contestant(word, kind, "", found.candidate, None)

    def _named_in(self, word: str) -> Subject:
        """Return the subject with the rules that a genotype names: source or compiled code."""
        main = Path(self.subject.grammar.source.name)
        for one in FRONT_ENDS:
            name = main.with_suffix(one.suffixes[0]).name
            if one.compiled and self.subject.backend in backends_for(one) and f"_{name}_" in word:
                return self._compiled(one.level)
        return self.subject

    def _of_genotype(self, name: str, genotype: Genotype, own: Subject) -> Contestant:
        changes = len(changes_of(genotype))
        one, kind = candidate(own, genotype), "genotype"
        if own.compiled:
            one = replace(one, compiler=keeping(open_compiler(own, self.jobs), self.cache))
            kind = f"{own.front_end.name} genotype"
        return Contestant(name, kind, str(genotype), one, changes)

    def _of_run(self, word: str, folder: Path, individual: int | None) -> Contestant:
        with open_store(folder) as store:
            own = stored_subject(store, folder)
            if own.target.file.resolve() != self.subject.target.file.resolve():
                here = self.subject.target.folder
                raise UserError(
                    f"the run is of another target: {own.target.folder}",
                    where=str(folder),
                    hint=f"all contestants must be of one target, here {here}",
                )
            backends = backends_for(own.front_end)
            if self.subject.backend not in backends:
                raise UserError(
                    f"the run evolves {own.front_end.name}, which the {self.subject.backend} back"
                    " end does not run",
                    where=str(folder),
                    hint=f"add --backend {backends[0]}, or leave the run out",
                )
            winner = choose_individual(store, own, folder, individual, as_found=False)
            search = search_of(store)
        one = self._of_genotype(word, winner.genotype, own)
        kind = f"{own.front_end.name} run" if own.compiled else "run"
        return replace(one, kind=kind, search=search, winner=individual is None)
