"""Find changes of a winner at places that no case tests, by mutation testing.

See DeMillo, Lipton and Sayward, "Hints on test data selection", Computer 1978. If random values at
the place of a change are right on all cases, no case tests this place. Then the right answers of
the winner do not show that its change is right. The code there may be useless, and changing it a
real gain; or it may be needed for data that no case has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from random import Random

from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.replicates import NOT_COMPILED
from gi_cuda.genome import Change, Configuration, Delete, Edit, Genotype, Replace, Setting
from gi_cuda.grammar import Operation, Rules, RuleType
from gi_cuda.runs.run import Run
from gi_cuda.subject import Subject, load_subject

MUTANTS = 5
"""Number of mutants of a change that must be right for the change to count as untested."""

TRIES = 8
"""Largest number of mutants that are tried, because some do not compile."""

_VALUES = (RuleType.RHS, RuleType.OP, RuleType.COND, RuleType.IF)
"""Types of rules that are values, so that a mutant changes only a computed value."""


def surviving(run: Run, changes: Iterable[Change]) -> dict[str, str]:
    """Return the changes whose mutants are right on the held-out cases, too.

    The result maps the notation of a change to a sentence. Changes of PTX, insertions, and changes
    without a value at their place are not tested.
    """
    if run.subject.compiled:
        return {}
    some = list(changes)
    settings = {one.name: one.value for one in some if isinstance(one, Setting)}
    subject = _with_values(run.subject)
    configuration = subject.original.configuration.having(settings)
    if not subject.space.allows(configuration):
        return {}
    waiting = {
        str(edit): iter(_mutants(subject, configuration, edit))
        for edit in some
        if isinstance(edit, Edit)
    }
    survived = dict.fromkeys(waiting, 0)
    for _ in range(TRIES):
        drawn = {one: next(mutants, None) for one, mutants in waiting.items()}
        mutants = {one: mutant for one, mutant in drawn.items() if mutant is not None}
        right = _right(run, subject, configuration, mutants)
        for one, told in right.items():
            survived[one] += told is True
        waiting = {
            one: waiting[one]
            for one in mutants
            if right[one] is not False and survived[one] < MUTANTS
        }
        if not waiting:
            break
    return {one: _SAID for one, count in survived.items() if count >= MUTANTS}


_SAID = (
    f"in its place {MUTANTS} others are right on the held-out cases as well, so that these do not"
    " tell whether it is: is what stands there needed for other data?"
)


def _with_values(subject: Subject) -> Subject:
    """Return the subject with the full set of rules, which includes rules for values."""
    if subject.edits == "full":
        return subject
    full = load_subject(subject.target.folder, subject.backend, edits="full")
    return replace(full, untested=subject.untested)


def _mutants(subject: Subject, configuration: Configuration, edit: Edit) -> Iterator[Replace]:
    """Yield mutants of an edit: random other values at the places that it changes."""
    grammar = subject.grammar
    view, rng = grammar.under(configuration.macros), Random(str(edit))
    changed = [s.place for s in edit.steps if s.operation in (Delete.operation, Replace.operation)]
    places = [inner for place in changed for inner in _values_in(grammar, place)]
    places = [
        one
        for one in dict.fromkeys(places)
        if one in view.mutable and Operation.REPLACE in view.operations(one)
    ]
    known = {edit}
    for _ in range(TRIES if places else 0):
        mutant = Replace.draw(rng.choice(places), grammar, view, rng)
        if mutant is not None and mutant not in known:
            known.add(mutant)
            yield mutant


def _values_in(grammar: Rules, place: str) -> list[str]:
    """Return the rules for values at or within a rule; empty if the grammar lacks the rule."""
    if place not in grammar:
        return []
    whole = grammar.rule(place)
    return [
        one.name
        for one in grammar.rules
        if one.type in _VALUES
        and one.file == whole.file
        and whole.start <= one.start
        and one.end <= whole.end
    ]


def _right(
    run: Run, subject: Subject, configuration: Configuration, mutants: Mapping[str, Replace]
) -> dict[str, bool | None]:
    """Tell for each mutant whether it is right on the held-out cases; None: does not compile."""
    texts = [candidate(subject, Genotype(configuration, (one,))) for one in mutants.values()]
    return {
        name: None if seen.message.startswith(NOT_COMPILED) else seen.correct
        for name, seen in zip(mutants, run.glance(texts), strict=True)
    }
