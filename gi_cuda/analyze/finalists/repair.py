"""Repair individuals that are wrong on the held-out cases: remove the changes that are at fault.

If the train cases do not detect a wrong change, all the best individuals of a search may have it in
the end. Without it, they may be the best individuals that are right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TypeAlias, TypeVar

from gi_cuda.backends import cores
from gi_cuda.evaluate.candidates import Candidate, candidate
from gi_cuda.evaluate.scrutiny.objections import Look, Objection
from gi_cuda.genome import Change, Changed, Genotype, changes_of, with_changes
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Individual
from gi_cuda.runs.run import Run
from gi_cuda.search.recipes import Origin
from gi_cuda.store import Tabued

Finalist: TypeAlias = tuple[int, Genotype]
"""Number and genotype of an individual that is considered for the winner."""

T = TypeVar("T")

AreWrong: TypeAlias = Callable[[Sequence[Sequence[T]]], Sequence[bool]]
"""A function that tells which of several parts are wrong; it tests them all at once."""

LOOKS = 12
"""Largest number of tests whether a part of an individual is right."""

FEWER = 8
"""The same, if each test takes seconds."""

ROUNDS = 3
"""Largest number of rounds in which :func:`narrowed` makes a wrong part smaller."""


def repaired(
    run: Run,
    wrong: Sequence[Finalist],
    alone: Collection[Change],
    rejected: Mapping[int, Objection],
) -> list[int]:
    """Repair wrong individuals, and store the results as individuals of the run.

    From each individual, the changes are removed that are wrong by themselves. For the first
    individual, the remaining changes are also tested together. If they fail, it is reduced to those
    that pay, and then to a part that is right. The repaired individuals are evaluated on the train
    cases and stored, so that a resumed search has them.

    Args:
        run: the run.
        wrong: individuals to repair, the best first.
        alone: changes that are wrong by themselves.
        rejected: objections to individuals that are right on all cases, by number.

    Returns:
        Numbers of the repaired individuals that are certainly faster on the train cases, or that
        the run had already.
    """
    subject = run.subject
    parts: dict[int, Genotype] = {}
    for at, (ident, genotype) in enumerate(wrong):
        changed = Changed.of(genotype, subject.original, subject.order)
        left = [p for p in sorted(changed.all) if changed.changes[p] not in alone]
        if at == 0 and left:
            left = _right_of(run, changed, left, rejected.get(ident))
        if 0 < len(left) < len(changed.all):
            parts[ident] = changed.having(left)
    return _entered(run, parts)


def _right_of(
    run: Run, changed: Changed, left: Sequence[int], rejected: Objection | None
) -> list[int]:
    """Return a part of an individual's changes that is right together.

    The result is all changes, if they are right. Otherwise it is a part of those that pay, because
    changes that gain nothing may still be the wrong ones.

    Args:
        run: the run.
        changed: all changes of the individual.
        left: positions of the changes to choose from.
        rejected: objection to the individual, if it is right on all cases.
    """
    look: Look = rejected.look if rejected else _quick(run)
    looks = FEWER if rejected and not rejected.quick else LOOKS

    @cache
    def asked(positions: tuple[int, ...]) -> bool:
        return _is_right(run, changed, look, positions)

    if asked(tuple(left)):
        return list(left)
    return right_part(paying(run, changed, left), lambda part: asked(tuple(part)), looks)


def paying(run: Run, changed: Changed, positions: Sequence[int]) -> list[int]:
    """Return the changes without which the others are slower or wrong on the train cases.

    If all changes together are not faster, all are returned.
    """
    parts = [list(positions), *([p for p in positions if p != out] for out in positions)]
    some = [changed.having(part) for part in parts]
    evaluator, allows = run.evaluator(), run.subject.space.allows
    # Numbers begin at 1, because 0 is the reference's number.
    batch = {at: one for at, one in enumerate(some, 1) if allows(one.configuration)}
    found = dict(evaluator.evaluate(evaluator.prepare(batch)))
    whole = found.get(1)
    if whole is None or not whole.selectable or whole.ratio is None:
        return list(positions)
    enough = whole.ratio * (1 + run.baseline.floor / 2)

    def pays(number: int) -> bool:
        ratio = found[number].ratio if number in found else None
        return ratio is None or ratio > enough

    return [position for at, position in enumerate(positions) if pays(at + 2)]


def changes_alone(
    run: Run, finalists: Sequence[Finalist], known: Collection[Change] = ()
) -> dict[Change, Candidate]:
    """Make a candidate for each single change of some individuals.

    Changes that violate a constraint by themselves are left out.

    Args:
        run: the run.
        finalists: the individuals.
        known: changes to leave out.
    """
    every = dict.fromkeys(one for _, genotype in finalists for one in changes_of(genotype))
    alone = {one: with_changes(run.subject.original, [one]) for one in every if one not in known}
    return {
        one: candidate(run.subject, genotype)
        for one, genotype in alone.items()
        if genotype is not None
    }


def wrong_alone(run: Run, alone: Mapping[Change, Candidate]) -> frozenset[Change]:
    """Return the changes that are wrong by themselves on the held-out cases."""
    seen = run.judge(list(alone.values()))
    return frozenset(one for one, found in zip(alone, seen, strict=True) if not found.correct)


def _quick(run: Run) -> Look:
    """Return the function that applies the quick checks."""
    objection = run.tools.certification.quick_objection
    return lambda some: [objection(one) for one in some]


def rejected_alone(look: Look, alone: Mapping[Change, Candidate]) -> frozenset[Change]:
    """Return the changes to which a check objects if they are made by themselves."""
    said = look(list(alone.values()))
    return frozenset(one for one, objection in zip(alone, said, strict=True) if objection)


def shared(some: Sequence[Finalist]) -> list[Change]:
    """Return the changes that all individuals have, in the order of the first individual."""
    every = [changes_of(genotype) for _, genotype in some]
    return [one for one in every[0] if all(one in mine for mine in every)] if every else []


def less_suspect(
    found: Sequence[Finalist], failed: Sequence[Finalist], count: int
) -> list[Finalist]:
    """Choose individuals that share few changes with failed ones, keeping the order.

    Each chosen individual shares fewer changes with the failed ones than all better individuals do.
    So some differ from them by one change, and some have nothing in common with them.

    Args:
        found: individuals to choose from, the best first.
        failed: individuals that failed.
        count: largest number to choose; those that share least are preferred.
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


def rejected_part(run: Run, changes: Sequence[Change], look: Look) -> list[Change]:
    """Search for the smallest part of some changes to which a check objects by itself.

    Args:
        run: the run.
        changes: the changes.
        look: the check; a call takes seconds, regardless of the number of candidates.

    Returns:
        The part; empty if the check accepts all changes together.
    """
    return wrong_part(changes, rejecting(run, look), max(2, cores() // 4))


def rejecting(run: Run, look: Look) -> AreWrong[Change]:
    """Turn a check of candidates into a test of parts of changes, for :func:`wrong_part`."""

    def rejected(parts: Sequence[Sequence[Change]]) -> list[bool]:
        original, subject = run.subject.original, run.subject
        found = [with_changes(original, part) for part in parts]
        some = [candidate(subject, genotype) for genotype in found if genotype is not None]
        said = iter(look(some))
        return [genotype is not None and bool(next(said)) for genotype in found]

    return rejected


def wrong_part(some: Sequence[T], are_wrong: AreWrong[T], ways: int = 2) -> list[T]:
    """Search for a small part that is wrong by itself, by repeated splitting.

    Args:
        some: all items.
        are_wrong: tells which of several parts are wrong.
        ways: number of pieces to split a wrong part into; if no piece is wrong, halves are tried.

    Returns:
        The part; empty if all items together are right.
    """
    part = list(some) if some and all(are_wrong([some])) else []
    while len(part) > 1:
        pieces = _split(part, ways)
        found = _first(pieces, are_wrong(pieces))
        if found is None and len(pieces) > 2:
            pieces = _split(part, 2)
            found = _first(pieces, are_wrong(pieces))
        if found is None:
            break
        part = found
    return part


def narrowed(
    part: Sequence[T],
    are_wrong: AreWrong[T],
    rounds: int = ROUNDS,
) -> list[T]:
    """Remove single items from a wrong part as long as it stays wrong.

    This finds two items that are wrong only together, which :func:`wrong_part` cannot separate if
    each half has one of them.

    Args:
        part: a wrong part.
        are_wrong: tells which of several parts are wrong.
        rounds: largest number of rounds, with up to two calls of `are_wrong` each. With enough
            rounds, no item of the result can be removed.
    """
    left = list(part)
    for _ in range(rounds):
        rests = [[*left[:at], *left[at + 1 :]] for at in range(len(left))] if len(left) > 1 else []
        spare = [at for at, wrong in enumerate(are_wrong(rests) if rests else []) if wrong]
        if not spare:
            break
        rest = [one for at, one in enumerate(left) if at not in spare]
        left = rest if len(spare) > 1 and rest and any(are_wrong([rest])) else rests[spare[0]]
    return left


def _split(some: Sequence[T], ways: int) -> list[list[T]]:
    """Split items into at most `ways` non-empty parts of about the same size."""
    ends = [len(some) * at // ways for at in range(ways + 1)]
    return [list(some[a:b]) for a, b in pairwise(ends) if a < b]


def _first(pieces: Sequence[list[T]], wrong: Sequence[bool]) -> list[T] | None:
    return next((one for one, is_wrong in zip(pieces, wrong, strict=True) if is_wrong), None)


def right_part(
    positions: Sequence[int], is_right: Callable[[Sequence[int]], bool], looks: int = LOOKS
) -> list[int]:
    """Search for a large part that is right, by halving parts that are wrong.

    This is delta debugging (Zeller and Hildebrandt, TSE 2002) in reverse: it grows a right part
    instead of shrinking a wrong one.

    Args:
        positions: all positions.
        is_right: tells whether some positions are right together.
        looks: largest number of calls of `is_right`.
    """
    kept: list[int] = []
    left = [list(positions)] if positions else []
    for _ in range(looks):
        if not left:
            break
        some = left.pop()
        if is_right(together := sorted([*kept, *some])):
            kept = together
        elif len(some) > 1:
            middle = len(some) // 2
            left += [some[middle:], some[:middle]]
    return kept


def _is_right(run: Run, changed: Changed, look: Look, positions: Sequence[int]) -> bool:
    """Tell whether some changes are right on the held-out cases and pass a check."""
    genotype = changed.having(positions)
    if not run.subject.space.allows(genotype.configuration):
        return False
    one = candidate(run.subject, genotype)
    (seen,) = run.judge([one])
    return seen.correct and not any(look([one]))


def _entered(run: Run, parts: Mapping[int, Genotype]) -> list[int]:
    """Evaluate parts of individuals on the train cases, and store those that are certainly faster.

    Args:
        run: the run.
        parts: genotypes of the parts, by the number of the individual that each is a part of.

    Returns:
        Numbers of the stored individuals, and of existing individuals that equal a part.
    """
    fit = (p for p, one in parts.items() if run.subject.space.allows(one.configuration))
    allowed = dict(enumerate(fit, run.store.next_ident()))
    evaluator = run.evaluator()
    trials = evaluator.prepare({at: parts[parent] for at, parent in allowed.items()})
    numbers: list[int] = []
    new: dict[bytes | None, int] = {}
    for at, parent in allowed.items():
        known = run.store.individual_like(run.subject.key(parts[parent]), trials[at].key)
        if known is not None:
            numbers.append(known)
        else:  # the first of those with the same phenotype
            new.setdefault(trials[at].key, at)
    for at, evaluation in evaluator.evaluate({at: trials[at] for at in new.values()}):
        if evaluation.selectable:
            parent = allowed[at]
            numbers.append(_stored(run, parent, parts[parent], trials[at].key, evaluation))
    return numbers


def _stored(
    run: Run, parent: int, genotype: Genotype, phenotype: bytes | None, evaluation: Evaluation
) -> int:
    """Store a part of an individual as a new individual and return its number."""
    store, key = run.store, run.subject.key(genotype)
    ident, newest = store.next_ident(), store.generations()[-1].number
    words = str(genotype), key, phenotype, Origin.REPAIR, (parent,)
    phenotypes = frozenset([phenotype] if phenotype else [])
    tabu = Tabued(frozenset([key]), phenotypes)
    store.add_evaluated(Individual(ident, newest, *words), evaluation, tabu)
    return ident
