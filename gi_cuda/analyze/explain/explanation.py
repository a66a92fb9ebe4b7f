"""Explain each change of a winner: its effect on source, compiled kernel and speed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from gi_cuda.analyze.explain.coverage import coverage
from gi_cuda.analyze.explain.quotes import Quote, Quotes, in_words
from gi_cuda.analyze.finalists.winner import ChosenIndividual, stored_dependencies
from gi_cuda.analyze.interactions.algorithm import Interactions
from gi_cuda.analyze.minimizing.minimization import KeptChange, kept_change
from gi_cuda.analyze.stored.resources import resources
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.genome import Change, Changed, Genotype, Setting
from gi_cuda.grammar.rule import Rule
from gi_cuda.grammar.rule_types import type_of
from gi_cuda.runs.run import Run
from gi_cuda.spec import CaseRole
from gi_cuda.store import Store
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of one change.

    Attributes:
        number: number of the change in commands, from 1.
        change: the change in notation.
        kind: kind of change and types of its rules, in words.
        worth: gain on top of the others, and alone.
        partners: changes that it depends on, or that depend on it; None if ``interactions`` was not
            run.
        executed: whether its place is reached in the original under the winner's configuration, by
            case; None if unknown.
        true: whether the condition that it modifies is ever true there, by case; None if it
            modifies no condition.
        resources: resources of the compiled kernels, instructions by class and occupancy that
            differ: value without the change and value with it, by name.
        diff: diff of source or PTX, on top of all other changes.
        quotes: for PTX, the instructions that the change concerns.
    """

    number: int
    change: str
    kind: str
    worth: KeptChange
    partners: tuple[str, ...] | None
    executed: Mapping[str, bool] | None
    true: Mapping[str, bool] | None
    resources: Mapping[str, tuple[int, int]]
    diff: str
    quotes: tuple[Quote, ...] = ()


def explain(run: Run, winner: ChosenIndividual) -> list[Explanation]:
    """Explain every change of a winner, in the order of the changes' numbers."""
    subject = run.subject
    changed = winner.changes(subject)
    quotes = Quotes(subject)
    cases = (*run.tools.train(), *run.tools.held_out())
    reached = coverage(run, winner.genotype.configuration, changed.changes, cases)
    worth = _worth(run, winner, changed)
    taken = _resources(run, changed)
    dependencies = stored_dependencies(run.store, winner)

    return [
        Explanation(
            number + 1,
            str(change),
            kind_of(subject, changed.changes, number),
            worth[number],
            _partners(dependencies, str(change)),
            reached[number].executed,
            reached[number].true,
            taken[number],
            subject.difference(changed.having(changed.all - {number}), changed.whole),
            quotes.of(change),
        )
        for number, change in enumerate(changed.changes)
    ]


@dataclass(frozen=True, slots=True)
class KeptExplanations:
    """Stored result of ``explain`` for a genotype.

    Attributes:
        genotype: the genotype in notation.
        changes: explanation of each change.
    """

    genotype: str
    changes: tuple[Explanation, ...]


def keep_explanations(
    store: Store, chosen: ChosenIndividual, explanations: Sequence[Explanation]
) -> None:
    """Store the explanations of an individual's changes, for use without a device."""
    kept = KeptExplanations(str(chosen.genotype), tuple(explanations))
    store.put(**{f"explained/{chosen.ident}": asdict(kept)})


def stored_explanations(store: Store, chosen: ChosenIndividual) -> tuple[Explanation, ...] | None:
    """Load the explanations of an individual's changes; None if they are not stored.

    Explanations that were stored for another genotype of the individual do not count.
    """
    stored = store.load(f"explained/{chosen.ident}", KeptExplanations)
    return stored.changes if stored and stored.genotype == str(chosen.genotype) else None


def _partners(dependencies: Interactions | None, change: str) -> tuple[str, ...] | None:
    if dependencies is None:
        return None
    group = next(one.changes for one in dependencies.groups if change in one.changes)
    return tuple(other for other in group if other != change)


def sentences(subject: Subject, genotype: Genotype) -> dict[str, str]:
    """Return the kind of each change of a genotype in words, by notation."""
    changes = Changed.of(genotype, subject.original, subject.order).changes
    return {str(one): kind_of(subject, changes, at) for at, one in enumerate(changes)}


def kind_of(subject: Subject, changes: tuple[Change, ...], number: int) -> str:
    """Describe the kind of one of several changes and the types of its rules."""
    if subject.compiled:
        return in_words(subject.grammar, changes, number)
    return describe(subject, changes[number])


def describe(subject: Subject, change: Change) -> str:
    """Describe the kind of a change of source and the types of its rules."""
    if isinstance(change, Setting):
        name, value = change.name, change.value
        parameter = subject.space.parameters[subject.space.index[name]]
        said = f"{parameter.kind} {name}: {parameter.default} becomes {value}"
        return f"{said} ({parameter.help})" if parameter.help else said
    place, donor = change.place, change.donor
    text = None if donor is None else subject.grammar.specials.get(donor)
    rule = subject.grammar.rule(place)
    if text is not None and rule.type.kind.transforms:
        known = rule.type.kind.specials.get(donor or "")
        return known.format(function=rule.function) if known else _from_idea(subject, donor or "")
    if text is not None and rule.type.special:
        return _special(rule, subject.grammar.text(place), text)
    other = text or ("" if donor is None else _donor(subject, place, donor))
    line = _line(subject, place)
    return change.words.source.format(place=_the(rule, line), donor=other, line=line)


def _from_idea(subject: Subject, donor: str) -> str:
    """Describe the origin of a change that was taken from an idea's patch."""
    number, hunk = map(int, donor.rpartition("K")[2].split("h"))
    idea = subject.ideas[number - 1]
    return f"takes change {hunk} of {len(idea.hunks)} of {idea.name}"


def _special(rule: Rule, own: str, text: str) -> str:
    """Describe a change whose donor is a special text without a place in the source.

    Args:
        rule: the changed rule.
        own: the rule's own text.
        text: the donor's text, which is added or replaces the rule's text.
    """
    spans = rule.sites or ((rule.start, rule.end),)
    if all(start == end for start, end in spans):
        return f"adds {text} {rule.type.kind.added.format(function=rule.function)}"
    replaced = own if rule.type.kind.stepped else rule.type.kind.words
    return f"replaces {replaced} by {text}"


def _line(subject: Subject, name: str) -> str:
    rule = subject.grammar.rule(name)
    return f"line {rule.line}" + (
        f" of {rule.file}" if rule.file != subject.grammar.source.name else ""
    )


def _the(rule: Rule, line: str) -> str:
    """Name a rule: "the statement on line 43"."""
    words = re.sub(r"^(an?|the) ", "", rule.type.kind.words)
    return f"the {words} on {line}"


def _donor(subject: Subject, place: str, donor: str) -> str:
    line = _line(subject, donor)
    same = type_of(place) is type_of(donor)
    return f"a copy of {line if same else _the(subject.grammar.rule(donor), line)}"


def _worth(run: Run, winner: ChosenIndividual, changed: Changed) -> Sequence[KeptChange]:
    """Return the gain of each change, from the minimization or else from new readings."""
    if winner.minimized:
        return winner.minimized.minimization.kept
    positions = sorted(changed.all)
    without = [changed.having(changed.all - {at}) for at in positions]
    alone = [changed.having([at]) for at in positions]
    whole, *readings = run.measurer(CaseRole.TRAIN)([changed.whole, *without, *alone])
    both = zip(readings[: len(positions)], readings[len(positions) :], strict=True)
    return [
        kept_change(str(change), whole, rest, one)
        for change, (rest, one) in zip(changed.changes, both, strict=True)
    ]


def _resources(run: Run, changed: Changed) -> list[Mapping[str, tuple[int, int]]]:
    """Return the resources of the compiled kernels that differ without and with each change."""
    genotypes = [changed.whole, *(changed.having(changed.all - {at}) for at in sorted(changed.all))]
    taken = resources(run.tools, [candidate(run.subject, genotype) for genotype in genotypes])
    whole = taken[0]
    return [
        {
            name: (one.get(name, 0), whole.get(name, 0))
            for name in dict.fromkeys((*one, *whole))
            if one and whole and one.get(name, 0) != whole.get(name, 0)
        }
        for one in taken[1:]
    ]
