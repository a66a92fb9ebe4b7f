"""What takes part in a comparison: winners of runs, genotypes, patches."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.analyze.replicates import Candidate, candidate
from gi_cuda.analyze.winner import find_winner
from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.grammar import Source
from gi_cuda.patch import by_path, defined_value
from gi_cuda.run import DATABASE, open_store
from gi_cuda.store import Store
from gi_cuda.stored import stored_plan, stored_subject
from gi_cuda.subject import Subject
from gi_cuda.target import ParameterKind
from gi_cuda.upstream import apply_in_scratch

_MAIL = re.compile(r"From [0-9a-f]{40} ")


@dataclass(frozen=True, slots=True)
class Milestone:
    """How far a search was at the end of a generation.

    Attributes:
        evaluations: finished until then.
        seconds: of wall time until then.
        speed_up: what the best individual surely reached on the train cases, the lower end of its
            95 % interval; None while none was faster.
    """

    evaluations: int
    seconds: float
    speed_up: float | None


@dataclass(frozen=True, slots=True)
class Search:
    """What a run spent, and what it had for it.

    Attributes:
        kind: preset and edits; runs of one kind differ in their seeds.
        seed: its own.
        milestones: one for each generation.
    """

    kind: str
    seed: int
    milestones: tuple[Milestone, ...]


@dataclass(frozen=True, slots=True)
class Contestant:
    """One of those that are compared.

    Attributes:
        name: as the user gave it.
        what: the genotype in notation, or what else it is.
        candidate: what is compiled and launched.
        changes: how many it makes; None where nobody knows.
        search: what it comes from, if that is a run.
    """

    name: str
    what: str
    candidate: Candidate
    changes: int | None
    search: Search | None = None


def is_run(word: str) -> bool:
    """Whether a word names a run's folder."""
    return (Path(word) / DATABASE).is_file()


def read_contestant(word: str, subject: Subject) -> Contestant:
    """A run's winner, a patch, or a genotype, whatever a word names.

    Args:
        word: a run's folder, a file with a diff or a mail, or a genotype in notation.
        subject: of the target that all are about.

    Raises:
        UserError: it is none of them, or of another target.
    """
    path = Path(word)
    if is_run(word):
        return _of_run(path, subject)
    if path.is_dir():
        raise UserError("no run is stored here", where=word)
    if path.is_file():
        return _of_patch(path, subject)
    if "<" not in word and "=" not in word:
        raise UserError(
            "neither a run, nor a patch, nor a genotype",
            where=word,
            hint="name a run's folder, a file that `gi-cuda patch` wrote, or a genotype such as"
            " 'BLOCK=128 <_kernel.cu_12>'",
        )
    genotype = subject.read(word)
    return _of_genotype(word, genotype, subject)


def _of_genotype(name: str, genotype: Genotype, subject: Subject) -> Contestant:
    changes = len(genotype.configuration.changed) + len(genotype.edits)
    return Contestant(name, str(genotype), candidate(subject, genotype), changes)


def _of_run(folder: Path, subject: Subject) -> Contestant:
    with open_store(folder) as store:
        own = stored_subject(store, folder)
        if not isinstance(own, Subject):
            raise UserError(
                "runs that evolve PTX cannot be compared with others yet", where=str(folder)
            )
        if own.target.file.resolve() != subject.target.file.resolve():
            raise UserError(
                f"the run is of another target: {own.target.folder}",
                where=str(folder),
                hint=f"all contestants must be of one target, here {subject.target.folder}",
            )
        winner = find_winner(store, own, folder, None, as_found=False)
        search = _search(store, own)
    one = _of_genotype(str(folder), winner.genotype, own)
    return Contestant(one.name, one.what, one.candidate, one.changes, search)


def _search(store: Store, subject: Subject) -> Search:
    plan = stored_plan(store)
    evaluations, seconds = 0, 0.0
    best: float | None = None
    milestones = []
    for generation in store.generations():
        records = store.evaluations(generation.number).values()
        evaluations += len(records)
        seconds += generation.phases.wall
        faster = [one.sure_ratio for one in records if one.selectable and one.sure_ratio]
        best = min([*faster, *([best] if best else [])], default=None)
        milestones.append(Milestone(evaluations, seconds, 1 / best if best else None))
    return Search(f"{plan.preset}, {subject.edits} edits", plan.seed, tuple(milestones))


def _of_patch(file: Path, subject: Subject) -> Contestant:
    """A file as a patch leaves it, launched as its own new defaults say."""
    source = subject.grammar.source
    if source.parts:
        raise UserError(
            "patches of sources in several files cannot be compared yet",
            where=str(file),
            hint="give the run or the genotype instead",
        )
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    before = by_path(source, subject.target.source)
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        folder = Path(scratch) / "repository"
        folder.mkdir()
        try:
            mailed = bool(_MAIL.match(text))
            (after,) = apply_in_scratch(before, [text], folder, mailed=mailed).values()
        except UserError as error:
            raise UserError(error.what, where=str(file), hint=error.hint) from None
    if after == source.text:
        raise UserError(
            "the patch changes nothing in the target's source",
            where=str(file),
            hint=f"it must be against {subject.target.source}",
        )
    genotype = subject.read(" ".join(_new_defaults(subject, source.text, after)))
    macros = subject.upstream_macros(genotype)
    device = subject.device_text(Source(source.name, after))
    patched = Candidate(device, genotype.configuration, macros)
    return Contestant(str(file), "patch", patched, None)


def _new_defaults(subject: Subject, before: str, after: str) -> Sequence[str]:
    """Values of parameters that a changed text defines otherwise, in notation."""
    found = []
    for parameter in subject.target.parameters:
        kinds = (ParameterKind.MACRO, ParameterKind.FLAG)
        old, new = (defined_value(text, parameter.name) for text in (before, after))
        if parameter.kind in kinds and old != new:
            is_flag = parameter.kind is ParameterKind.FLAG
            found.append(f"{parameter.name}={int(new is not None) if is_flag else new}")
    return found
