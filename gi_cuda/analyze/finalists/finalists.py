"""Choose finalists among the best individuals on the train cases, and validate them for a winner.

A finalist *holds* if it is right and faster on the held-out cases and passes all checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from gi_cuda.analyze.finalists.finalist_order import leaders, ordered
from gi_cuda.analyze.finalists.finalist_validation import AHEAD, FINALISTS, Finals
from gi_cuda.analyze.finalists.racing import Racing
from gi_cuda.analyze.finalists.repair import Finalist, less_suspect, repaired
from gi_cuda.analyze.finalists.shortfall import keep_shortfall
from gi_cuda.analyze.finalists.winner import Winner, keep_refusal, keep_winner
from gi_cuda.backends.job_threads import both, meanwhile
from gi_cuda.evaluate.replicates import THOROUGH
from gi_cuda.evaluate.scrutiny.objections import Look
from gi_cuda.evaluate.untested import untested_changes
from gi_cuda.genome import Change, Genotype, canonical, changes_of
from gi_cuda.runs.run import Run

ROUNDS = 3
"""Number of times that finalists are chosen and validated, until one holds."""

SPREAD = 16
"""Number of individuals of all speeds that are tried together if all of the best are wrong. A
search may have bred from a change that is wrong only on the held-out cases."""

AMONG = 1000
"""Number of the best individuals that finalists are chosen from."""

EVERY = -1
"""SQL value for no limit on the number of rows."""

TWINS = 0.5
"""Jaccard similarity of two individuals' changes from which on they are twins. A fault of one is
then assumed to be a fault of the other."""


def finalists(run: Run, racing: Racing | None = None) -> list[Finalist]:
    """Return the best individuals on the train cases, best first.

    Of twins, only the better one is chosen as long as there are others. If the best have several
    configurations, they are also timed on siblings of the held-out cases.

    Args:
        run: the run.
        racing: known results about races between threads; None: none.
    """
    racing = racing or Racing(run)
    best = different(racing.without(_best(run)), FINALISTS)
    led = racing.without(_tested(run, leaders(run)))
    others = [one for one in led if one not in best]
    return different(ordered(run, [*best, *others]), FINALISTS)


def _best(run: Run) -> list[Finalist]:
    """Return the best individuals without untested changes, best first."""
    best = run.store.best(AMONG)
    return _tested(run, [(one.ident, run.subject.read(one.genotype)) for one, _ in best])


def _tested(run: Run, found: Iterable[Finalist]) -> list[Finalist]:
    return [(ident, genotype) for ident, genotype in found if not _untested(run, genotype)]


def _untested(run: Run, genotype: Genotype) -> dict[str, str]:
    """Return the changes of a genotype that no case tests, with reasons."""
    effective = canonical(genotype, run.subject.order)
    return untested_changes(run.subject.untested, effective.edits)


def different(found: Sequence[Finalist], count: int) -> list[Finalist]:
    """Choose individuals that are not twins of earlier ones, keeping the order.

    If there are fewer than `count`, the first twins are added.
    """
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
    """Validate the best individuals, and store and return the first one that holds.

    The best individuals are validated beside a copy of the reference, without twins as long as
    there are others. If none holds, further rounds follow: with the best individuals that have no
    change which is wrong by itself, including repaired versions of failed ones; or else with
    individuals that share fewer changes with the failed ones. If none holds at last, the result is
    None, a formerly stored winner is removed, and the reason against the first one is stored.

    Args:
        run: the run.
        final: collects intermediate results, for a caller whose time limit may interrupt this.
    """
    final = final or Finals(run)
    if AHEAD and run.store.best(1):
        meanwhile(run.tools.certification.watch_reference)
    winner = None
    try:
        best = different(_best(run), FINALISTS)
        for some in (best[:1], best):  # the best first, in case that the time limit comes
            final.glance(some)
        checks = run.tools.certification
        if checks.races.beside is not None and best:
            # The CPU watches for races now, so nothing is timed meanwhile.
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
    finally:  # also if the time limit comes
        keep_refusal(run.store, "" if winner else final.refusal)
    keep_winner(run.store, winner)
    keep_shortfall(run, None if winner else final.short)
    return winner


def _next(run: Run, final: Finals, last: Sequence[Finalist]) -> list[Finalist]:
    """Return the individuals to validate next, after others failed.

    Args:
        run: the run.
        final: results so far.
        last: individuals that failed in the last round.
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
    if wrong and run.others is None:  # else repaired ones must be timed on other kinds of machines
        mended = repaired(run, wrong, final.faulty, rejected_by)
    new = set(mended).difference(ident for ident, _ in final.tried)
    found = final.racing.without(_best(run))
    cleared = without(found, final.faulty, final.tried)
    fit = new.union(ident for ident, _ in cleared)
    if again := different([one for one in found if one[0] in fit], FINALISTS):
        return again
    return less_suspect(found, final.tried, FINALISTS)


def _of_all_speeds(run: Run, final: Finals) -> list[Finalist]:
    """Find individuals that are right on the held-out cases in a short measurement, fastest first.

    The first step measures individuals spread over all speeds. Each further step measures those
    that are faster than the fastest right one, until none of them is right.
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
    """Return the individuals that have none of some changes and were not tried.

    Args:
        found: the individuals.
        changes: the changes; if there are none, the result is empty.
        tried: individuals that were tried.
    """
    known = {ident for ident, _ in tried}
    return [
        (ident, genotype)
        for ident, genotype in found
        if changes and ident not in known and not set(changes).intersection(changes_of(genotype))
    ]
