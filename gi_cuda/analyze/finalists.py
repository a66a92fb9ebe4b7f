"""From the best individuals on the train cases to the one that holds on the held-out ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from gi_cuda.analyze.repair import Finalist, repaired, wrong_alone
from gi_cuda.analyze.winner import Winner, keep_refusal, keep_winner
from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.evaluate.untested import untested_changes
from gi_cuda.genome import Change, Genotype, canonical, changes_of
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

NOT_FASTER = 3
"""After so many that are right on the held-out cases, seemed faster and were not, there is none:
what is left was not as good on the train cases, and a validation takes many processes."""


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
    ones follow that have no change which is wrong by itself, among them what is right of those that
    failed; or else others that share less with these. None where none of them holds either; what
    was stored before is then forgotten, and what spoke against the first of them is kept.
    """
    final = _Final(run)
    failed: list[Finalist] = []
    entered = finalists(run)
    winner = None
    for _ in range(ROUNDS):
        winner = final.winner(entered)
        failed += entered
        if winner or final.over or not entered:
            break
        entered = _next(run, failed, final.wrong(entered))
    keep_winner(run.store, winner)
    keep_refusal(run.store, "" if winner else final.refusal)
    return winner


def _next(run: Run, failed: Sequence[Finalist], wrong: Sequence[Finalist]) -> list[Finalist]:
    """Those that are validated after others failed.

    Args:
        wrong: those that failed last, and not because they are no faster.
    """
    alone = wrong_alone(run, failed)
    # Machines of other kinds would have to say how fast what is new is.
    mended = repaired(run, wrong, alone) if wrong and run.others is None else ()
    new = set(mended).difference(ident for ident, _ in failed)
    found = _best(run)
    innocent = without(found, alone, failed)
    if new or innocent:
        fit = new.union(ident for ident, _ in innocent)
        return different([one for one in found if one[0] in fit], FINALISTS)
    return less_suspect(found, failed, FINALISTS)


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


@dataclass(slots=True)
class _Final:
    """Individuals on the held-out cases, one after the other.

    Attributes:
        run: whose they are.
        refusals: what speaks against those that do not hold, by number.
        slow: how many were right, and not faster when they were validated.
    """

    run: Run
    refusals: dict[int, str] = field(default_factory=dict)
    slow: int = 0

    @property
    def over(self) -> bool:
        """Whether there is no hope left."""
        return self.slow >= NOT_FASTER

    @property
    def refusal(self) -> str:
        """What spoke against the first one, in words; "" where nothing did."""
        said = ((ident, why) for ident, why in self.refusals.items())
        return next((f"individual {ident}: {why}" for ident, why in said), "")

    def wrong(self, entered: Sequence[Finalist]) -> list[Finalist]:
        """Those that something speaks against."""
        return [one for one in entered if one[0] in self.refusals]

    def winner(self, entered: Sequence[Finalist]) -> Winner | None:
        """The first that holds."""
        run = self.run
        for ident, genotype in self._hopeful(entered):
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
                self.refusals[ident] = validation.message
            else:
                self.slow += 1
            if self.over:
                break
        return None

    def _hopeful(self, entered: Sequence[Finalist]) -> Iterator[Finalist]:
        """Those that a short look does not dismiss."""
        run = self.run
        candidates = [candidate(run.subject, genotype) for _, genotype in entered]
        for finalist, one, seen in zip(entered, candidates, run.glance(candidates), strict=True):
            may_hold = seen.correct and seen.overall is not None and seen.overall.high > 1
            complaint = seen.message
            if may_hold:
                complaint = run.tools.doubts.told_soon(one)
                if not complaint:
                    yield finalist
            if complaint:
                self.refusals[finalist[0]] = complaint
