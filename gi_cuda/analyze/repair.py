"""What is left of individuals that are wrong on held-out cases, without the changes that make them
so.

Train cases that let something wrong pass let the best individuals of a search have it, all of them
at the end; what is right of these may be the best there is.
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
"""An individual's number, and what it is."""

T = TypeVar("T")

AreWrong: TypeAlias = Callable[[Sequence[Sequence[T]]], Sequence[bool]]
"""Which of some parts of something are wrong; they are looked at at once."""

LOOKS = 12
"""So often it is asked whether a part of an individual is right."""

FEWER = 8
"""The same where each time takes seconds."""

ROUNDS = 3
"""So often what is wrong is made smaller, where dozens can be looked at at once."""


def repaired(
    run: Run,
    wrong: Sequence[Finalist],
    alone: Collection[Change],
    rejected: Mapping[int, Objection],
) -> list[int]:
    """What is right of individuals that are not, as individuals of the run: without the changes
    that are wrong by themselves; of the first one no more than is seen to be right together.

    They are stored with what they measure as on the train cases, so that a search that goes on has
    them.

    What there is no objection to without the faulty ones stays whole; else only what pays is left.

    Args:
        wrong: what is to be repaired, the best first.
        alone: changes that are wrong by themselves.
        rejected: what stands against those that are right on all cases, by number.

    Returns:
        Their numbers; new ones that are not certainly faster on the train cases are left out.
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
    """What is seen to be right of what is left of an individual's changes: all; or else of those
    that pay, as what has no part in the gain has as large a one in what may be wrong.

    Args:
        rejected: what stands against all together, where they are right on all cases.
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
    """Those of some changes without which the others are slower on the train cases, or wrong there;
    all, where all together are no faster."""
    parts = [list(positions), *([p for p in positions if p != out] for out in positions)]
    some = [changed.having(part) for part in parts]
    evaluator, allows = run.evaluator(), run.subject.space.allows
    # 0 is the reference's number.
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
    """The reference with each change of some by itself, but for those that a constraint forbids.

    Args:
        known: changes that are not asked about.
    """
    every = dict.fromkeys(one for _, genotype in finalists for one in changes_of(genotype))
    alone = {one: with_changes(run.subject.original, [one]) for one in every if one not in known}
    return {
        one: candidate(run.subject, genotype)
        for one, genotype in alone.items()
        if genotype is not None
    }


def wrong_alone(run: Run, alone: Mapping[Change, Candidate]) -> frozenset[Change]:
    """Those of some changes that are wrong on the held-out cases with no other one beside them."""
    seen = run.judge(list(alone.values()))
    return frozenset(one for one, found in zip(alone, seen, strict=True) if not found.correct)


def _quick(run: Run) -> Look:
    """The quick checks."""
    objection = run.tools.certification.quick_objection
    return lambda some: [objection(one) for one in some]


def rejected_alone(look: Look, alone: Mapping[Change, Candidate]) -> frozenset[Change]:
    """Those to which a check objects so."""
    said = look(list(alone.values()))
    return frozenset(one for one, objection in zip(alone, said, strict=True) if objection)


def shared(some: Sequence[Finalist]) -> list[Change]:
    """The changes that individuals all have, in the order of the first."""
    every = [changes_of(genotype) for _, genotype in some]
    return [one for one in every[0] if all(one in mine for mine in every)] if every else []


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


def rejected_part(run: Run, changes: Sequence[Change], look: Look) -> list[Change]:
    """The smallest part of some changes found to which a check objects with no other change beside
    it, though it is right on all cases; none where not even all are together.

    Args:
        look: the check; each time takes seconds, whatever the number of those looked at.
    """
    return wrong_part(changes, rejecting(run, look), max(2, cores() // 4))


def rejecting(run: Run, look: Look) -> AreWrong[Change]:
    """Of parts of individuals asks to which a check objects."""

    def rejected(parts: Sequence[Sequence[Change]]) -> list[bool]:
        original, subject = run.subject.original, run.subject
        found = [with_changes(original, part) for part in parts]
        some = [candidate(subject, genotype) for genotype in found if genotype is not None]
        said = iter(look(some))
        return [genotype is not None and bool(next(said)) for genotype in found]

    return rejected


def wrong_part(some: Sequence[T], are_wrong: AreWrong[T], ways: int = 2) -> list[T]:
    """The smallest part found, by splitting what is wrong, that is wrong by itself; none where not
    even all are together.

    Args:
        are_wrong: is asked.
        ways: into so many parts all are split; into halves, where none of these is wrong.
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
    """What is left of something wrong without what it is as wrong without: where two of many are
    wrong together, halves may be right that have one of them each.

    Args:
        are_wrong: is asked.
        rounds: so often two looks are taken at most; with enough of them nothing can be left out.
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
    """As many parts of about the same size, none of them empty."""
    ends = [len(some) * at // ways for at in range(ways + 1)]
    return [list(some[a:b]) for a, b in pairwise(ends) if a < b]


def _first(pieces: Sequence[list[T]], wrong: Sequence[bool]) -> list[T] | None:
    return next((one for one, is_wrong in zip(pieces, wrong, strict=True) if is_wrong), None)


def right_part(
    positions: Sequence[int], is_right: Callable[[Sequence[int]], bool], looks: int = LOOKS
) -> list[int]:
    """As many positions as are right together, found by halving what is not.

    Delta debugging (Zeller and Hildebrandt, TSE 2002) the other way round: it does not shrink what
    is wrong, it lets grow what is right.

    Args:
        is_right: whether some are right together.
        looks: so often that is asked.
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
    """Whether some changes are right on the held-out cases, and a check has no objection."""
    genotype = changed.having(positions)
    if not run.subject.space.allows(genotype.configuration):
        return False
    one = candidate(run.subject, genotype)
    (seen,) = run.judge([one])
    return seen.correct and not any(look([one]))


def _entered(run: Run, parts: Mapping[int, Genotype]) -> list[int]:
    """Evaluate parts of individuals on the train cases, and store those that are certainly faster.

    Args:
        parts: by the number of what each is a part of.

    Returns:
        The numbers of those, and of the individuals that there already were in the place of others.
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
        else:  # of those that are the same in the end, the first
            new.setdefault(trials[at].key, at)
    for at, evaluation in evaluator.evaluate({at: trials[at] for at in new.values()}):
        if evaluation.selectable:
            parent = allowed[at]
            numbers.append(_stored(run, parent, parts[parent], trials[at].key, evaluation))
    return numbers


def _stored(
    run: Run, parent: int, genotype: Genotype, phenotype: bytes | None, evaluation: Evaluation
) -> int:
    """The number of a part of an individual, once it is one itself."""
    store, key = run.store, run.subject.key(genotype)
    ident, newest = store.next_ident(), store.generations()[-1].number
    words = str(genotype), key, phenotype, Origin.REPAIR, (parent,)
    phenotypes = frozenset([phenotype] if phenotype else [])
    tabu = Tabued(frozenset([key]), phenotypes)
    store.add_evaluated(Individual(ident, newest, *words), evaluation, tabu)
    return ident
