"""Store and load a run's winner and its minimization, and choose the individual of a command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from gi_cuda.analyze.interactions.algorithm import Interactions
from gi_cuda.analyze.minimizing.minimization import Minimization
from gi_cuda.analyze.minimizing.minimize import WrongWinner
from gi_cuda.errors import UserError
from gi_cuda.genome import Changed, Genotype, canonical
from gi_cuda.grammar import front_end
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.generation import Individual
from gi_cuda.results.kinds import Objective
from gi_cuda.results.verdict import is_certainly_slower
from gi_cuda.runs.stored import Plan, open_store, stored_plan, stored_subject
from gi_cuda.spec import load_target
from gi_cuda.store import Store
from gi_cuda.subject import Start, Subject


def what_it_takes(plan: Plan) -> tuple[str, ...]:
    """Return further options of a command that measures for a run.

    A run on several kinds of machines needs a cluster, whose address is not stored.
    """
    return () if plan.objective is Objective.EACH else ("--cluster", "ADDRESS")


@dataclass(frozen=True, slots=True)
class Winner:
    """The best individual on the train cases that holds on the held-out ones.

    Attributes:
        ident: number of the individual.
        genotype: genotype in notation, without changes that do not affect the machine code.
        validation: validation on the held-out cases.
    """

    ident: int
    genotype: str
    validation: Validation


def keep_winner(store: Store, winner: Winner | None) -> None:
    """Store a run's winner, or that it has none."""
    store.put(champion=asdict(winner) if winner else None)


def stored_winner(store: Store) -> Winner | None:
    """Load a run's winner; None if it has none."""
    return store.load("champion", Winner)


def is_validated(store: Store) -> bool:
    """Tell whether the validation of a run's best individuals was completed."""
    winner = stored_winner(store)
    return store.has("champion") and not (winner and winner.validation.provisional)


def keep_refusal(store: Store, refusal: str) -> None:
    """Store the reason why the best individual does not hold, if none holds."""
    store.put(refusal=refusal)


def stored_refusal(store: Store) -> str:
    """Load the reason why the best individual does not hold; "" if it was right but not faster."""
    return str(store.get("refusal", ""))


@dataclass(frozen=True, slots=True)
class Minimized:
    """A minimization with its validation on the held-out cases.

    Attributes:
        minimization: changes that stay and changes that were dropped.
        validation: validation of the minimized genotype.
        before: validation of the genotype before minimization, in the same measurement; None in
            runs of older versions.
        confirmed_on: description of the confirm cases; "" in runs of older versions.
    """

    minimization: Minimization
    validation: Validation
    before: Validation | None = None
    confirmed_on: str = ""

    @property
    def loses(self) -> bool:
        """Tell whether the dropped changes certainly pay on the held-out cases."""
        before = self.before.overall if self.before else None
        return is_certainly_slower(self.validation.overall, before)


@dataclass(frozen=True, slots=True)
class ChosenIndividual:
    """The individual that a command works on: the run's winner, or one given by its number.

    Attributes:
        found: the stored individual.
        genotype: the minimized genotype if there is one, else the individual's genotype without
            edits that other edits override; the winner's also without changes that do not affect
            the machine code.
        minimized: result of minimizing it; None if it was not minimized, or is used as found.
    """

    found: Individual
    genotype: Genotype
    minimized: Minimized | None

    @property
    def ident(self) -> int:
        """Number of the individual."""
        return self.found.ident

    def __str__(self) -> str:
        return f"individual {self.ident}" + (", minimized" if self.minimized else "")

    def changes(self, subject: Subject) -> Changed:
        """Return its changes. Numbers of changes in commands are positions in it, from 1."""
        return Changed.of(self.genotype, subject.original, subject.order)


def keep_minimized(store: Store, ident: int, minimized: Minimized) -> None:
    """Store the minimization of an individual."""
    store.put(**{f"minimized/{ident}": asdict(minimized)})


def stored_minimized(store: Store, ident: int) -> Minimized | None:
    """Load the minimization of an individual, if its result is right on the held-out cases."""
    minimized = store.load(f"minimized/{ident}", Minimized)
    return minimized if minimized and minimized.validation.correct else None


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Stored result of ``interactions`` for a genotype.

    Attributes:
        genotype: the genotype in notation.
        found: dependencies between its changes.
    """

    genotype: str
    found: Interactions


def keep_dependencies(store: Store, chosen: ChosenIndividual, found: Interactions) -> None:
    """Store the dependencies between an individual's changes."""
    kept = Dependencies(str(chosen.genotype), found)
    store.put(**{f"interactions/{chosen.ident}": asdict(kept)})


def stored_dependencies(store: Store, chosen: ChosenIndividual) -> Interactions | None:
    """Load the dependencies between an individual's changes; None if they are not stored.

    Dependencies that were stored for another genotype of the individual do not count.
    """
    stored = store.load(f"interactions/{chosen.ident}", Dependencies)
    return stored.found if stored and stored.genotype == str(chosen.genotype) else None


def choose_individual(
    store: Store, subject: Subject, folder: Path, individual: int | None, *, as_found: bool
) -> ChosenIndividual:
    """Return the run's validated winner, or a given individual.

    Args:
        store: database of the run.
        subject: subject of the run.
        folder: folder of the run, for messages.
        individual: number of the individual; None: the winner.
        as_found: ignore a minimization.

    Raises:
        UserError: there is no such individual, or no winner.
    """
    found, winner = _find(store, folder, individual), stored_winner(store)
    minimized = None if as_found else stored_minimized(store, found.ident)
    text = winner.genotype if winner and winner.ident == found.ident else found.genotype
    text = minimized.minimization.genotype if minimized else text
    genotype = canonical(subject.read(text), subject.order)
    return ChosenIndividual(found, genotype, minimized)


@contextmanager
def refuse_wrong(chosen: ChosenIndividual, folder: Path) -> Iterator[None]:
    """Turn the error that an individual is wrong on the train cases into a message for the user.

    Args:
        chosen: the individual.
        folder: folder of the run, for the message.

    Raises:
        UserError: in place of :class:`~gi_cuda.analyze.minimizing.minimize.WrongWinner`.
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
    """Return the command that continues a stored run.

    A finished run needs more generations; a run on several kinds of machines needs a cluster.
    """
    plan = stored_plan(store)
    planned = plan.settings.generations
    generations = store.generations()
    done = len(generations) >= planned and all(one.finished for one in generations)
    more = ["--generations", str(2 * planned)] if done else []
    return shlex.join(["gi-cuda", "resume", str(folder), *more, *what_it_takes(plan)])


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
    return find_individual(store, folder, individual)


def find_individual(store: Store, folder: Path, individual: int) -> Individual:
    """Return an individual by its number.

    Args:
        store: database of the run.
        folder: folder of the run, for messages.
        individual: number of the individual.

    Raises:
        UserError: the run has no individual of that number.
    """
    found = store.individual(individual)
    if found is None:
        raise UserError(
            f"the run has no individual {individual}: it has 1 to {store.next_ident() - 1}",
            where=str(folder),
            hint=f"to list the best: gi-cuda show {folder}",
        )
    return found


def predecessor(folder: Path, target: Path) -> Start:
    """The winner of a run, minimized where it was, as the start of another run on its target.

    Args:
        folder: the run's.
        target: the target's folder or its ``target.toml``.

    Raises:
        UserError: there is no such run, it has no winner, its target is another one or has
            changed, or it evolves no source.
    """
    with open_store(folder) as store:
        level = str(store.get("level", "source"))
        if level != "source":
            raise UserError(
                f"this run evolves {front_end(level).name} itself, and only source can be started"
                " from",
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
    return Start(
        f"{winner} of {folder}", str(winner.genotype), own.edits, files, str(folder), own.ideas
    )
