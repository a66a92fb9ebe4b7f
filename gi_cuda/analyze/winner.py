"""A run's winner, and which individual a command is about: minimized, or as the search found it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from gi_cuda.analyze.interactions.algorithm import Interactions
from gi_cuda.analyze.minimization import Minimization
from gi_cuda.analyze.minimize import WrongWinner
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.evaluate.untested import untested_changes
from gi_cuda.genome import Change, Changed, Genotype, canonical, changes_of, with_changes
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.generation import Individual
from gi_cuda.results.verdict import is_certainly_slower, is_faster
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import open_store, stored_subject
from gi_cuda.spec import load_target
from gi_cuda.store import Store
from gi_cuda.subject import Start, Subject

FINALISTS = 5
"""Individuals that are validated at a time; the best one that holds is the winner."""

ROUNDS = 3
"""So many times, until one holds."""

AMONG = 1000
"""So many of the best are looked at for those."""

TWINS = 0.5
"""Share of the changes that either of two has which both have, from which on they are twins: what
is wrong with one is wrong with the other."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The best individual on the train cases that holds on the held-out ones.

    Attributes:
        ident: the individual's number.
        genotype: in notation, without edits that others of it overrule.
        validation: on the held-out cases.
    """

    ident: int
    genotype: str
    validation: Validation


Finalist = tuple[int, Genotype]
"""An individual's number, and what it is."""


def finalists(run: Run) -> list[Finalist]:
    """The best individuals on the train cases, best first; of twins only the better one, while
    there are others."""
    return different(_best(run), FINALISTS)


def _best(run: Run) -> list[Finalist]:
    """The best individuals of which every change is tested by some case, best first."""
    best = run.store.best(AMONG)
    found = [(one.ident, run.subject.read(one.genotype)) for one, _ in best]
    return [(ident, genotype) for ident, genotype in found if not _untested(run, genotype)]


def _untested(run: Run, genotype: Genotype) -> dict[str, str]:
    """What its search was not to change, and the genotype does."""
    effective = canonical(genotype, run.subject.order)
    return untested_changes(run.subject.untested, effective.edits)


def different(found: Sequence[Finalist], count: int) -> list[Finalist]:
    """So many of what was found, in its order: those that are no twins of earlier ones and, where
    these are too few, the first of the others."""
    chosen: list[int] = []
    changes = [frozenset(changes_of(genotype)) for _, genotype in found]
    for at, mine in enumerate(changes):
        if all(len(mine & changes[other]) < TWINS * len(mine | changes[other]) for other in chosen):
            chosen.append(at)
            if len(chosen) == count:
                break
    twins = [at for at in range(len(found)) if at not in chosen]
    return [found[at] for at in sorted([*chosen, *twins][:count])]


def less_suspect(
    found: Sequence[Finalist], failed: Sequence[Finalist], count: int
) -> list[Finalist]:
    """So many of what was found, in its order: those that share least with what did not hold.

    Each shares less with it than all that are better: what holds may be a change away, or have
    nothing to do with it.
    """
    suspects = frozenset[object]().union(*(changes_of(genotype) for _, genotype in failed))
    tried = {ident for ident, _ in failed}
    chosen: list[Finalist] = []
    least = len(suspects) + 1
    for ident, genotype in found:
        shared = len(suspects.intersection(changes_of(genotype)))
        if shared < least and ident not in tried:
            chosen.append((ident, genotype))
            least = shared
    return chosen[-count:]


def select_winner(run: Run) -> Winner | None:
    """Validate the best individuals beside a copy of the reference, and store the first of them
    that is correct and faster than that copy may seem.

    Of twins only the better one is validated, while there are others. Where none holds, the best
    ones follow that have no change which is wrong by itself, or else others that share less with
    those that failed. None where none of them holds either; what was stored before is then
    forgotten, and what spoke against the first of them is kept.
    """
    found = _best(run)
    failed: list[Finalist] = []
    refusals: list[str] = []
    winner = None
    for _ in range(ROUNDS):
        if winner is None and (entered := _next(run, found, failed)):
            winner = _validated(run, entered, refusals)
            failed += entered
    keep_winner(run.store, winner)
    run.store.put(refusal="" if winner or not refusals else refusals[0])
    return winner


def stored_refusal(store: Store) -> str:
    """What spoke against the best individual where none holds; "" where it was not faster."""
    return str(store.get("refusal", ""))


def _next(run: Run, found: Sequence[Finalist], failed: Sequence[Finalist]) -> list[Finalist]:
    """Those that are validated after others failed."""
    if not failed:
        return different(found, FINALISTS)
    innocent = without(found, wrong_alone(run, failed), failed)
    if innocent:
        return different(innocent, FINALISTS)
    return less_suspect(found, failed, FINALISTS)


def wrong_alone(run: Run, finalists: Sequence[Finalist]) -> frozenset[Change]:
    """The changes of some that are wrong on the held-out cases with no other one beside them."""
    every = dict.fromkeys(one for _, genotype in finalists for one in changes_of(genotype))
    alone = {one: with_changes(run.subject.original, [one]) for one in every}
    singles = {one: genotype for one, genotype in alone.items() if genotype is not None}
    seen = run.glance([candidate(run.subject, genotype) for genotype in singles.values()])
    return frozenset(one for one, found in zip(singles, seen, strict=True) if not found.correct)


def without(
    found: Sequence[Finalist], changes: Collection[Change], tried: Sequence[Finalist]
) -> list[Finalist]:
    """Those of what was found that have none of some changes, and were not tried; none where there
    are no such changes."""
    known = {ident for ident, _ in tried}
    return [
        (ident, genotype)
        for ident, genotype in found
        if changes and ident not in known and not set(changes).intersection(changes_of(genotype))
    ]


def _validated(run: Run, entered: Sequence[Finalist], refusals: list[str]) -> Winner | None:
    """The first that holds.

    Args:
        refusals: what speaks against those that do not is added.
    """
    for ident, genotype in _hopeful(run, entered, refusals):
        one = candidate(run.subject, genotype)
        noise, measured = run.validate([unmodified(run.subject), one])
        validation = run.tools.certified(one, measured) if measured.faster else measured
        if validation.faster and noise.overall and is_faster(validation.overall, noise.overall):
            effective = canonical(genotype, run.subject.order)
            return Winner(ident, str(effective), validation)
        if validation.message:
            refusals.append(f"individual {ident}: {validation.message}")
    return None


def _hopeful(run: Run, entered: Sequence[Finalist], refusals: list[str]) -> Iterator[Finalist]:
    """Those that a short look does not dismiss: a validation takes many processes, one by one.

    Args:
        refusals: as of :func:`_validated`.
    """
    candidates = [candidate(run.subject, genotype) for _, genotype in entered]
    for finalist, one, seen in zip(entered, candidates, run.glance(candidates), strict=True):
        may_hold = seen.correct and seen.overall is not None and seen.overall.high > 1
        complaint = seen.message
        if may_hold:
            complaint = run.tools.doubt(one)
            if not complaint:
                yield finalist
        if complaint:
            refusals.append(f"individual {finalist[0]}: {complaint}")


def keep_winner(store: Store, winner: Winner | None) -> None:
    """Remember a run's winner, or that it has none."""
    store.put(champion=asdict(winner) if winner else None)


def stored_winner(store: Store) -> Winner | None:
    """The winner as it was stored last."""
    return store.load("champion", Winner)


@dataclass(frozen=True, slots=True)
class Minimized:
    """A minimization with its validation on the held-out cases.

    Attributes:
        minimization: what stayed and what went.
        validation: of what stayed.
        before: of all of it, in the same measurement; None in runs of before that was measured.
        confirmed_on: the cases that confirmed the minimization, in words; "" in runs of before
            there were such.
    """

    minimization: Minimization
    validation: Validation
    before: Validation | None = None
    confirmed_on: str = ""

    @property
    def loses(self) -> bool:
        """Whether what went pays on the held-out cases, for certain."""
        before = self.before.overall if self.before else None
        return is_certainly_slower(self.validation.overall, before)


@dataclass(frozen=True, slots=True)
class ChosenIndividual:
    """The individual that a command is about: the run's winner, or another one by its number.

    Attributes:
        found: the individual as it is stored.
        genotype: of it, without edits that others overrule; the minimized one where there is one.
        minimized: what minimizing it found; None where the genotype is the individual's own.
    """

    found: Individual
    genotype: Genotype
    minimized: Minimized | None

    @property
    def ident(self) -> int:
        """The individual's number."""
        return self.found.ident

    def __str__(self) -> str:
        return f"individual {self.ident}" + (", minimized" if self.minimized else "")

    def changes(self, subject: Subject) -> Changed:
        """What it changes; the numbers that commands show are positions in this, from 1."""
        return Changed.of(self.genotype, subject.original, subject.order)


def keep_minimized(store: Store, ident: int, minimized: Minimized) -> None:
    """Remember what an individual was minimized to."""
    store.put(**{f"minimized/{ident}": asdict(minimized)})


def stored_minimized(store: Store, ident: int) -> Minimized | None:
    """What an individual was minimized to, if that is right on the held-out cases."""
    minimized = store.load(f"minimized/{ident}", Minimized)
    return minimized if minimized and minimized.validation.correct else None


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What ``interactions`` found of a genotype.

    Attributes:
        genotype: in notation.
        found: how its changes depend on each other.
    """

    genotype: str
    found: Interactions


def keep_dependencies(store: Store, chosen: ChosenIndividual, found: Interactions) -> None:
    """Remember how an individual's changes depend on each other."""
    kept = Dependencies(str(chosen.genotype), found)
    store.put(**{f"interactions/{chosen.ident}": asdict(kept)})


def stored_dependencies(store: Store, chosen: ChosenIndividual) -> Interactions | None:
    """How an individual's changes depend on each other, if that is known of its genotype here."""
    stored = store.load(f"interactions/{chosen.ident}", Dependencies)
    return stored.found if stored and stored.genotype == str(chosen.genotype) else None


def choose_individual(
    store: Store, subject: Subject, folder: Path, individual: int | None, *, as_found: bool
) -> ChosenIndividual:
    """The run's validated winner, or a given individual.

    Args:
        folder: the run's, for messages.
        individual: its number; None: the winner.
        as_found: as the search found it, even if it was minimized.

    Raises:
        UserError: there is no such individual, or no winner.
    """
    found = _find(store, folder, individual)
    minimized = None if as_found else stored_minimized(store, found.ident)
    text = minimized.minimization.genotype if minimized else found.genotype
    genotype = canonical(subject.read(text), subject.order)
    return ChosenIndividual(found, genotype, minimized)


@contextmanager
def refuse_wrong(chosen: ChosenIndividual, folder: Path) -> Iterator[None]:
    """Say of an individual that it is wrong on the train cases, and what can be done.

    Args:
        folder: the run's, for the message.

    Raises:
        UserError: in place of :class:`~gi_cuda.analyze.minimize.WrongWinner`.
    """
    try:
        yield
    except WrongWinner as error:
        raise UserError(
            f"without loop guards it fails on the train cases: {error}",
            where=str(chosen),
            hint=f"choose another with --individual (gi-cuda show {folder} lists the best)",
        ) from None


def how_to_go_on(store: Store, folder: Path) -> str:
    """The command that searches further in a stored run: one that is done needs generations."""
    planned: int = store.get("plan")["settings"]["generations"]
    generations = store.generations()
    done = len(generations) >= planned and all(one.finished for one in generations)
    more = ["--generations", str(2 * planned)] if done else []
    return shlex.join(["gi-cuda", "resume", str(folder), *more])


def _find(store: Store, folder: Path, individual: int | None) -> Individual:
    if individual is None:
        winner = stored_winner(store)
        if winner is None:
            raise UserError(
                "the run has no validated winner",
                where=str(folder),
                hint=f"search further ({how_to_go_on(store, folder)}), or name an individual"
                f" (--individual N; for compare {folder}:N)",
            )
        individual = winner.ident
    found = store.individual(individual)
    if found is None:
        raise UserError(
            f"the run has no individual {individual}",
            where=str(folder),
            hint=f"gi-cuda show {folder} lists the best",
        )
    return found


def predecessor(folder: Path, target: Path) -> Start:
    """The winner of a run, minimized where it was, as the start of another run on its target.

    Args:
        folder: the run's.
        target: the target's folder or its ``target.toml``.

    Raises:
        UserError: there is no such run, it has no winner, its target is another one or has
            changed, or it evolves PTX.
    """
    with open_store(folder) as store:
        if store.get("level", "source") != "source":
            raise UserError(
                "this run evolves PTX itself, and only source can be started from",
                where=str(folder),
                hint=f"go on with it: gi-cuda resume {folder} --generations N",
            )
        own = stored_subject(store, folder)
        if own.target.file.resolve() != load_target(target).file.resolve():
            raise UserError(
                f"the run is of another target: {own.target.folder}",
                where=str(folder),
                hint=f"gi-cuda evolve {own.target.folder} starts from it",
            )
        if stored_winner(store) is None:
            raise UserError(
                "the run has no validated winner to start from",
                where=str(folder),
                hint=f"search further (gi-cuda resume {folder}), or leave --from out",
            )
        winner = choose_individual(store, own, folder, None, as_found=False)
    files = tuple(map(str, own.grammar_files))
    return Start(f"{winner} of {folder}", str(winner.genotype), own.edits, files, str(folder))
