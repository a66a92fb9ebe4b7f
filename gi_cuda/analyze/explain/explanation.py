"""What each change of a winner does: to the source, to the compiled kernel, to the speed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from gi_cuda.analyze.explain.coverage import coverage
from gi_cuda.analyze.explain.quotes import Quote, Quotes, in_words
from gi_cuda.analyze.interactions.algorithm import Interactions
from gi_cuda.analyze.minimization import KeptChange, kept_change
from gi_cuda.analyze.resources import resources
from gi_cuda.analyze.winner import ChosenIndividual, stored_dependencies
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
    """What one change does.

    Attributes:
        number: by which commands name it, from 1.
        change: in notation.
        kind: the kind of change and the rule types involved, in words.
        worth: its gain on top of the others, and alone.
        partners: the changes that it depends on, or that depend on it; None where
            ``interactions`` was not asked.
        executed: by case, whether the place is reached in the original under the winner's
            configuration; None where that cannot be told.
        true: by case, whether the condition that it changes is ever true there; None where it
            changes none.
        resources: what the compiled kernels take, how many instructions of each class they have,
            and their occupancy: without the change and with it, where the two differ.
        diff: what it changes in the source or PTX, with all the others made.
        quotes: of PTX, the instructions that it is about.
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
    """Explain every change of a winner, in the order of their numbers."""
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
    """What ``explain`` found of a genotype, which is in notation."""

    genotype: str
    changes: tuple[Explanation, ...]


def keep_explanations(
    store: Store, chosen: ChosenIndividual, explanations: Sequence[Explanation]
) -> None:
    """Remember what an individual's changes do, for those who have no device at hand."""
    kept = KeptExplanations(str(chosen.genotype), tuple(explanations))
    store.put(**{f"explained/{chosen.ident}": asdict(kept)})


def stored_explanations(store: Store, chosen: ChosenIndividual) -> tuple[Explanation, ...] | None:
    """What an individual's changes do, if that is known of its genotype here."""
    stored = store.load(f"explained/{chosen.ident}", KeptExplanations)
    return stored.changes if stored and stored.genotype == str(chosen.genotype) else None


def _partners(dependencies: Interactions | None, change: str) -> tuple[str, ...] | None:
    if dependencies is None:
        return None
    group = next(one.changes for one in dependencies.groups if change in one.changes)
    return tuple(other for other in group if other != change)


def sentences(subject: Subject, genotype: Genotype) -> dict[str, str]:
    """What a genotype changes: each change in notation, and its kind in words."""
    changes = Changed.of(genotype, subject.original, subject.order).changes
    return {str(one): kind_of(subject, changes, at) for at, one in enumerate(changes)}


def kind_of(subject: Subject, changes: tuple[Change, ...], number: int) -> str:
    """The kind of one of several changes and the types of its rules, in words."""
    if subject.compiled:
        return in_words(subject.grammar, changes, number)
    return describe(subject, changes[number])


def describe(subject: Subject, change: Change) -> str:
    """The kind of a change of source and the types of its rules, in words."""
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
    """Say where a hunk of a patch comes from."""
    number, hunk = map(int, donor.rpartition("K")[2].split("h"))
    idea = subject.ideas[number - 1]
    return f"takes change {hunk} of {len(idea.hunks)} of {idea.name}"


def _special(rule: Rule, own: str, text: str) -> str:
    """What a donor that stands for no place in the source does: it may be the first of its kind.

    Args:
        own: the rule's own text.
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
    """Return which rule it is: "the statement on line 43"."""
    words = re.sub(r"^(an?|the) ", "", rule.type.kind.words)
    return f"the {words} on {line}"


def _donor(subject: Subject, place: str, donor: str) -> str:
    line = _line(subject, donor)
    same = type_of(place) is type_of(donor)
    return f"a copy of {line if same else _the(subject.grammar.rule(donor), line)}"


def _worth(run: Run, winner: ChosenIndividual, changed: Changed) -> Sequence[KeptChange]:
    """What minimizing found; where the winner was not minimized, readings of each change."""
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
    """For each change what differs in the resources of the compiled kernels."""
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
