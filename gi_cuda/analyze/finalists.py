"""From the best individuals on the train cases to the one that holds on the held-out ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from gi_cuda.analyze.finals import AHEAD, FINALISTS, Finals
from gi_cuda.analyze.heats import leaders, ordered
from gi_cuda.analyze.racing import Racing
from gi_cuda.analyze.repair import Finalist, less_suspect, repaired
from gi_cuda.analyze.shortfall import keep_shortfall
from gi_cuda.analyze.winner import Winner, keep_refusal, keep_winner
from gi_cuda.backends.job_threads import both, meanwhile
from gi_cuda.evaluate.replicates import THOROUGH
from gi_cuda.evaluate.scrutiny.objections import Look
from gi_cuda.evaluate.untested import untested_changes
from gi_cuda.genome import Change, Genotype, canonical, changes_of
from gi_cuda.runs.run import Run

ROUNDS = 3
"""Number of times that finalists are chosen and validated, until one holds."""

SPREAD = 16
"""Individuals of all speeds that are looked at together if all of the best are wrong. A search may
breed on from a change that only the held-out cases show to be wrong."""

AMONG = 1000
"""Number of the best individuals that finalists are chosen from."""

EVERY = -1
"""No limit on how many of the best are read (of SQL)."""

TWINS = 0.5
"""Share of the changes that either of two has which both have, from which on they are twins: what
is wrong with one is wrong with the other."""


def finalists(run: Run, racing: Racing | None = None) -> list[Finalist]:
    """The best individuals on the train cases, best first; of twins only the better one, while
    there are others. Where several configurations are among the best, siblings of the held-out
    cases have a say in which of them are entered.

    Args:
        racing: what is known so far of which let threads race; None: nothing.
    """
    racing = racing or Racing(run)
    best = different(racing.without(_best(run)), FINALISTS)
    led = racing.without(_tested(run, leaders(run)))
    others = [one for one in led if one not in best]
    return different(ordered(run, [*best, *others]), FINALISTS)


def _best(run: Run) -> list[Finalist]:
    """The best individuals of which every change is tested by some case, best first."""
    best = run.store.best(AMONG)
    return _tested(run, [(one.ident, run.subject.read(one.genotype)) for one, _ in best])


def _tested(run: Run, found: Iterable[Finalist]) -> list[Finalist]:
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


def select_winner(run: Run, final: Finals | None = None) -> Winner | None:
    """Validate the best individuals beside a copy of the reference, and store the first of them
    that is correct and faster than that copy may seem.

    Of twins only the better one is validated, while there are others. Where none holds, the best
    ones follow that have no change which is wrong by itself, among them what is right of those that
    failed; or else others that share less with these. None where none of them holds either; what
    was stored before is then forgotten, and what spoke against the first of them is kept.

    Args:
        final: takes what becomes known, for who may have no time for all of it.
    """
    final = final or Finals(run)
    if AHEAD and run.store.best(1):
        meanwhile(run.tools.certification.watch_reference)
    winner = None
    try:
        best = different(_best(run), FINALISTS)
        for some in (best[:1], best):  # should there be no time for more
            final.glance(some)
        checks = run.tools.certification
        if checks.races.beside is not None and best:
            # A processor watches for races, and meanwhile nothing is timed.
            run.tools.pool.stock(THOROUGH.builds * THOROUGH.processes)
            both(
                partial(final.racing.without, _best(run)),
                lambda: both(checks.dependence.ask_reference, partial(final.shortened, best[:1])),
            )
        entered = finalists(run, final.racing)
        for _ in range(ROUNDS):
            before = len(final.tried)
            winner = final.winner(entered)
            if winner or final.over or not entered:
                break
            entered = _next(run, final, final.tried[before:])
        if winner is None and not final.over:
            winner = final.winner(_of_all_speeds(run, final))
    finally:  # its time may be up
        keep_refusal(run.store, "" if winner else final.refusal)
    keep_winner(run.store, winner)
    keep_shortfall(run, None if winner else final.short)
    return winner


def _next(run: Run, final: Finals, last: Sequence[Finalist]) -> list[Finalist]:
    """Those that are validated after others failed.

    Args:
        last: those that failed last.
    """
    wrong = [one for one in last if one[0] in final.refusals]
    final.find_faulty(wrong)
    rejected_by = final.rejected_by
    alike: dict[Look, list[Finalist]] = {}
    for one in last:
        if objection := rejected_by.get(one[0]):
            alike.setdefault(objection.look, []).append(one)
    for some in alike.values():
        final.find_shared_fault(some, rejected_by[some[0][0]])
    mended: Sequence[int] = ()
    if wrong and run.others is None:  # machines of other kinds would have to say how fast it is
        mended = repaired(run, wrong, final.faulty, rejected_by)
    new = set(mended).difference(ident for ident, _ in final.tried)
    found = final.racing.without(_best(run))
    cleared = without(found, final.faulty, final.tried)
    fit = new.union(ident for ident, _ in cleared)
    if again := different([one for one in found if one[0] in fit], FINALISTS):
        return again
    return less_suspect(found, final.tried, FINALISTS)


def _of_all_speeds(run: Run, final: Finals) -> list[Finalist]:
    """Return individuals that are right on the held-out cases at a glance, fastest first.

    The glance is at some of all speeds. The next one is at some of those that are faster than the
    first that was right, until none of these is.
    """
    known = {ident for ident, _ in final.tried}
    ranked = [one for one, _ in run.store.best(EVERY) if one.ident not in known]
    right: list[Finalist] = []
    while ranked:
        last, count = len(ranked) - 1, min(SPREAD, len(ranked))
        some = [ranked[last * at // max(1, count - 1)] for at in range(count)]
        found = _tested(run, [(one.ident, run.subject.read(one.genotype)) for one in some])
        seen = zip(found, final.glance(found), strict=True)
        good = [one for one, validation in seen if not validation.message]
        if not good:
            break
        right = [*good, *right]
        faster = ranked[: [one.ident for one in ranked].index(good[0][0])]
        ranked = [one for one in faster if one.ident not in final.glances]
    return right


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
