"""What is left of individuals that are wrong on held-out cases, without the changes that make them
so.

Train cases that let something wrong pass let the best individuals of a search have it, all of them
at the end; what is right of these may be the best there is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from gi_cuda.evaluate.candidates import Candidate, candidate
from gi_cuda.genome import Change, Changed, Genotype, changes_of, with_changes
from gi_cuda.results.generation import Individual
from gi_cuda.runs.run import Run
from gi_cuda.search.recipes import Origin
from gi_cuda.store import Tabued

Finalist: TypeAlias = tuple[int, Genotype]
"""An individual's number, and what it is."""

LOOKS = 12
"""So often it is asked whether a part of an individual is right."""

FEWER = 8
"""The same where threads may race in it."""


def repaired(
    run: Run, wrong: Sequence[Finalist], alone: Collection[Change], doubted: Collection[int]
) -> list[int]:
    """What is right of individuals that are not, as individuals of the run: without the changes
    that are wrong by themselves; of the first one no more than is seen to be right together.

    They are stored with what they measure as on the train cases, so that a search that goes on has
    them.

    Args:
        wrong: what is to be repaired, the best first.
        alone: changes that are wrong by themselves.
        doubted: numbers of those that are right on all cases, and wrong all the same.

    Returns:
        Their numbers; those that are not certainly faster on the train cases are left out.
    """
    subject = run.subject
    parts: dict[int, Genotype] = {}
    for at, (ident, genotype) in enumerate(wrong):
        changed = Changed.of(genotype, subject.original, subject.order)
        left = [p for p in sorted(changed.all) if changed.changes[p] not in alone]
        if at == 0:
            # Looking for races takes seconds: it is done where they may be what is wrong.
            doubts = run.tools.doubts
            look, looks = (doubts.seen, FEWER) if ident in doubted else (doubts.told_soon, LOOKS)
            left = right_part(left, partial(_is_right, run, changed, look), looks)
        if 0 < len(left) < len(changed.all):
            parts[ident] = changed.having(left)
    return _entered(run, parts)


def wrong_alone(run: Run, finalists: Sequence[Finalist]) -> frozenset[Change]:
    """The changes of some that are wrong on the held-out cases with no other one beside them."""
    every = dict.fromkeys(one for _, genotype in finalists for one in changes_of(genotype))
    alone = {one: with_changes(run.subject.original, [one]) for one in every}
    singles = {one: genotype for one, genotype in alone.items() if genotype is not None}
    seen = run.glance([candidate(run.subject, genotype) for genotype in singles.values()])
    return frozenset(one for one, found in zip(singles, seen, strict=True) if not found.correct)


def told_alone(run: Run, changes: Iterable[Change]) -> frozenset[Change]:
    """Those of some changes that somebody tells wrong, though they are right on all cases, with no
    other one beside them. Each takes seconds."""
    alone = {one: with_changes(run.subject.original, [one]) for one in changes}
    seen = run.tools.doubts.seen
    return frozenset(
        one
        for one, genotype in alone.items()
        if genotype is not None and seen(candidate(run.subject, genotype))
    )


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


def _is_right(
    run: Run, changed: Changed, look: Callable[[Candidate], str], positions: Sequence[int]
) -> bool:
    """Whether nothing stands against some changes on the held-out cases, nor who looks at them."""
    genotype = changed.having(positions)
    if not run.subject.space.allows(genotype.configuration):
        return False
    one = candidate(run.subject, genotype)
    (seen,) = run.glance([one])
    return seen.correct and not look(one)


def _entered(run: Run, parts: dict[int, Genotype]) -> list[int]:
    """Evaluate parts of individuals on the train cases, and store those that are certainly faster.

    Args:
        parts: by the number of what each is a part of.

    Returns:
        The numbers of those, or of the individuals that there already are in their place.
    """
    store, subject = run.store, run.subject
    allowed = {p: one for p, one in parts.items() if subject.space.allows(one.configuration)}
    evaluator, first = run.evaluator(), store.next_ident()
    parents = dict(enumerate(allowed, first))
    trials = evaluator.prepare({ident: allowed[parent] for ident, parent in parents.items()})
    keys = {i: (subject.key(allowed[p]), trials[i].key) for i, p in parents.items()}
    known = {ident: store.individual_like(*keys[ident]) for ident in parents}
    # Of those that are the same in the end, the first.
    firsts = {trials[ident].key: ident for ident in reversed(parents)}.values()
    new = {ident: trials[ident] for ident in firsts if known[ident] is None}
    numbers = [ident for ident in known.values() if ident is not None]
    newest = store.generations()[-1].number
    for ident, evaluation in evaluator.evaluate(new) if new else ():
        genotype_key, phenotype_key = keys[ident]
        if not evaluation.selectable:
            continue
        parent = parents[ident]
        one = Individual(
            store.next_ident(),
            newest,
            str(allowed[parent]),
            genotype_key,
            phenotype_key,
            Origin.REPAIR,
            (parent,),
        )
        phenotypes = frozenset([phenotype_key] if phenotype_key else [])
        store.add_evaluated(one, evaluation, Tabued(frozenset([genotype_key]), phenotypes))
        numbers.append(one.ident)
    return numbers
