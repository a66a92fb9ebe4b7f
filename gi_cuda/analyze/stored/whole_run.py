"""Load a run with all stored results about it; no device is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.analyze.explain.explanation import Explanation, kind_of, sentences, stored_explanations
from gi_cuda.analyze.finalists.shortfall import Shortfall, stored_shortfall
from gi_cuda.analyze.finalists.winner import (
    ChosenIndividual,
    choose_individual,
    stored_dependencies,
)
from gi_cuda.analyze.interactions.algorithm import Interactions
from gi_cuda.analyze.minimizing.minimization import KeptChange
from gi_cuda.analyze.stored.history import History, tell, words
from gi_cuda.analyze.stored.milestones import Search, search_of
from gi_cuda.analyze.stored.records import (
    IndividualRecord,
    RunRecord,
    individual_record,
    readable_subject,
    run_record,
)
from gi_cuda.errors import UserError
from gi_cuda.runs.stored import open_store
from gi_cuda.store import Store
from gi_cuda.subject import Subject

BEST = 10
"""Number of best individuals in the record."""

DRAWN = 300
"""Default number of individuals with diffs, the winner's ancestors and the best first."""

LONGEST = 160
"""Largest number of characters of a rule's text."""


@dataclass(frozen=True, slots=True)
class ChangeTold:
    """One change of the winner, with the stored facts about it.

    Attributes:
        number: number of the change, from 1.
        change: the change in notation.
        sentence: its kind in words.
        diff: diff of the change, on top of all other changes.
        worth: its gain; None if neither ``minimize`` nor ``explain`` was run.
        explained: result of ``explain``; None if it was not run.
    """

    number: int
    change: str
    sentence: str
    diff: str
    worth: KeptChange | None
    explained: Explanation | None


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A run with all stored results about it.

    Attributes:
        record: the record of ``show --json``.
        target: name of the target.
        source: name of the main source file; "" if the target cannot be read.
        search: effort and progress of the search.
        individuals: all individuals, in order.
        diffs: diffs of the most interesting individuals, by number.
        rules: place and text of every rule, by name.
        sentences: description of each change of an individual, by notation.
        changes: changes of the winner.
        interactions: dependencies between these changes; None if ``interactions`` was not run.
        history: history of the search.
        short: the best individual that was right but not faster on the held-out cases, if there is
            no winner.
        unreadable: reason why the target cannot be read, so that diffs, rules and changes are
            missing; "" if it can be read.
    """

    record: RunRecord
    target: str
    source: str
    search: Search
    individuals: tuple[IndividualRecord, ...]
    diffs: Mapping[int, str]
    rules: Mapping[str, tuple[str, str]]
    sentences: Mapping[str, str]
    changes: tuple[ChangeTold, ...]
    interactions: Interactions | None
    history: History
    short: Shortfall | None
    unreadable: str

    @property
    def folder(self) -> str:
        """Folder of the run, as the user named it."""
        return self.record.run


def whole_run(folder: Path, drawn: int = DRAWN) -> WholeRun:
    """Load a run and all stored results about it.

    Args:
        folder: folder of the run.
        drawn: number of individuals with diffs.

    Raises:
        UserError: there is no run in the folder.
    """
    with open_store(folder) as store:
        subject, why = readable_subject(store, folder)
        record = run_record(store, folder, BEST, subject)
        last = max((n for n, one in enumerate(record.generations, 1) if one.outcomes), default=0)
        record = replace(record, generations=record.generations[:last])
        individuals, evaluations = store.individuals(), store.evaluations()
        winner = record.winner
        chosen = None
        if subject is not None and winner is not None:
            chosen = choose_individual(store, subject, folder, None, as_found=False)
        named = None
        if winner is not None:
            named = (winner.individual, words(winner.genotype))
        begun = {one.generation for one in record.generations}
        bred = [one for one in individuals if one.generation in begun]
        history = tell(store.generations()[:last], bred, evaluations, named)
        first = [one.ident for one in history.family]
        first += [one.ident for one, _ in store.best(DRAWN)]
        wanted = list(dict.fromkeys([*first, *(one.ident for one in individuals)]))
        by_number = {one.ident: one.genotype for one in individuals}
        return WholeRun(
            record,
            subject.target.name if subject else Path(record.target).name,
            subject.grammar.source.name if subject else "",
            search_of(store),
            tuple(individual_record(one, evaluations.get(one.ident)) for one in individuals),
            _diffs(subject, by_number, wanted[:drawn]) if subject else {},
            _rules(subject) if subject else {},
            _sentences(subject, by_number.values()) if subject else {},
            _changes(store, subject, chosen) if subject and chosen else (),
            stored_dependencies(store, chosen) if chosen else None,
            history,
            stored_shortfall(store),
            why,
        )


def _diffs(
    subject: Subject, genotypes: Mapping[int, str], wanted: Sequence[int]
) -> Mapping[int, str]:
    return {ident: subject.diff(subject.read(genotypes[ident])) for ident in wanted}


def _sentences(subject: Subject, genotypes: Iterable[str]) -> Mapping[str, str]:
    """Describe each change of genotypes, by notation.

    Changes that are valid only together with others are left out.
    """
    found: dict[str, str] = {}
    for word in dict.fromkeys(word for one in genotypes for word in words(one)):
        with suppress(UserError):
            found |= sentences(subject, subject.read(word))
    return found


def _rules(subject: Subject) -> Mapping[str, tuple[str, str]]:
    grammar = subject.grammar
    text = grammar.source.text
    rules = {
        one.name: (f"{one.file}:{one.line}", _short(text[one.start : one.end]))
        for one in grammar.rules
    }
    return rules | {name: ("", _short(text)) for name, text in grammar.specials.items()}


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _changes(store: Store, subject: Subject, chosen: ChosenIndividual) -> tuple[ChangeTold, ...]:
    changed = chosen.changes(subject)
    explained = {one.change: one for one in stored_explanations(store, chosen) or ()}
    kept = chosen.minimized.minimization.kept if chosen.minimized else ()
    worth = {one.change: one for one in kept}
    worth |= {name: one.worth for name, one in explained.items()}
    return tuple(
        ChangeTold(
            at + 1,
            str(change),
            kind_of(subject, changed.changes, at),
            subject.difference(changed.having(changed.all - {at}), changed.whole),
            worth.get(str(change)),
            explained.get(str(change)),
        )
        for at, change in enumerate(changed.changes)
    )
