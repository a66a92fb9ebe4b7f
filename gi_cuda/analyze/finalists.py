"""From the best individuals on the train cases to the one that holds on the held-out ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gi_cuda.analyze.winner import Winner, keep_refusal, keep_winner
from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.evaluate.untested import untested_changes
from gi_cuda.genome import Change, Genotype, canonical, changes_of, with_changes
from gi_cuda.results.verdict import is_faster
from gi_cuda.runs.run import Run

FINALISTS = 5
"""Individuals that are validated at a time; the best one that holds is the winner."""

ROUNDS = 3
"""So many times, until one holds."""

AMONG = 1000
"""So many of the best are looked at for those."""

TWINS = 0.5
"""Share of the changes that either of two has which both have, from which on they are twins: what
is wrong with one is wrong with the other."""

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
    keep_refusal(run.store, "" if winner or not refusals else refusals[0])
    return winner


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
        # What else there is to doubt was asked before.
        validation = (
            run.tools.doubts.races.certified(one, measured) if measured.faster else measured
        )
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
            complaint = run.tools.doubts.told_soon(one)
            if not complaint:
                yield finalist
        if complaint:
            refusals.append(f"individual {finalist[0]}: {complaint}")
