"""From the best individuals on the train cases to the one that holds on the held-out ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gi_cuda.analyze.heats import leaders, ordered
from gi_cuda.analyze.neutral import without_neutral
from gi_cuda.analyze.racing import Racing
from gi_cuda.analyze.repair import (
    Finalist,
    changes_alone,
    less_suspect,
    rejected_alone,
    rejected_part,
    repaired,
    shared,
    wrong_alone,
)
from gi_cuda.analyze.shortfall import keep_shortfall
from gi_cuda.analyze.validate.looks import look_at_held_out
from gi_cuda.analyze.winner import Winner, keep_refusal, keep_winner
from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import both, meanwhile
from gi_cuda.evaluate.candidates import Candidate, candidate
from gi_cuda.evaluate.replicates import THOROUGH
from gi_cuda.evaluate.scrutiny.objections import Look, Objection
from gi_cuda.evaluate.untested import untested_changes
from gi_cuda.genome import Change, Edit, Genotype, canonical, changes_of
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import is_faster
from gi_cuda.runs.run import Run

FINALISTS = 5
"""Individuals that are validated at a time; the best one that holds is the winner."""

ROUNDS = 3
"""So many times, until one holds."""

SPREAD = 16
"""Individuals of all speeds that are looked at together where all of the best are wrong: a search
may have gone on from what is right on the train cases alone."""

ENOUGH = 3
"""Individuals that are right on all cases and rejected all the same, after which others are tried
that have nothing of what these share: each takes seconds."""

SCREENED = max(1, min(FINALISTS, cores() // 3))
"""So many are asked at a time all that takes seconds."""

TOGETHER = max(1, min(3, cores() // 4))
"""So many are watched for races at a time: each keeps a few processors busy, for seconds."""

AHEAD = cores() >= 8
"""With so many processors, some are spared for what may turn out not to be needed: the reference
and the best are watched for races before it is known whether anything is right."""

AMONG = 1000
"""So many of the best are looked at for those."""

EVERY = 1_000_000
"""All of them."""

TWINS = 0.5
"""Share of the changes that either of two has which both have, from which on they are twins: what
is wrong with one is wrong with the other."""

NOT_FASTER = 3
"""After so many that are right on the held-out cases, seemed faster and were not, there is none:
what is left was not as good on the train cases, and a validation takes many processes."""


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
    """Those that are right on the held-out cases at a glance of some of all speeds, fastest first:
    first from all that were faster, then from those that are faster than what was right."""
    known = {ident for ident, _ in final.tried}
    ranked = [one for one, _ in run.store.best(EVERY) if one.ident not in known]
    right: list[Finalist] = []
    while ranked:
        last, count = len(ranked) - 1, min(SPREAD, len(ranked))
        some = [ranked[last * at // max(1, count - 1)] for at in range(count)]
        found = _tested(run, [(one.ident, run.subject.read(one.genotype)) for one in some])
        seen = zip(found, final.glance(found), strict=True)
        good = [one for one, validation in seen if not validation.message]
        right = [*good, *right]
        at = next((at for at, one in enumerate(ranked) if good and one.ident == good[0][0]), 0)
        ranked = [one for one in ranked[:at] if one.ident not in final.glances]
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


@dataclass(slots=True)
class Finals:
    """Individuals on the held-out cases, one after the other.

    Attributes:
        run: whose they are.
        tried: those that were looked at.
        refusals: why those do not hold that do not, by number.
        rejected_by: what stands against those that are right on all cases, by number.
        faulty: changes that are wrong by themselves, or to which a check objects.
        cleared: changes that are right on all cases by themselves.
        slow: how many were right, and not faster when they were validated.
        short: the first that was right and not faster, and what it measured as.
        glances: each that a short look was taken at, and what that said, by number.
        watched: what was seen of those that were watched for races, by number.
        racing: which let threads race, as far as a processor sees that.
    """

    run: Run
    tried: list[Finalist] = field(default_factory=list)
    refusals: dict[int, str] = field(default_factory=dict)
    rejected_by: dict[int, Objection] = field(default_factory=dict)
    faulty: set[Change] = field(default_factory=set)
    cleared: set[Change] = field(default_factory=set)
    slow: int = 0
    short: tuple[int, SpeedUp] | None = None
    glances: dict[int, tuple[Genotype, Validation]] = field(default_factory=dict)
    watched: dict[int, Objection | None] = field(default_factory=dict)
    racing: Racing = field(init=False)
    _short: dict[int, Genotype] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.racing = Racing(self.run)

    @property
    def over(self) -> bool:
        """Whether there is no hope left."""
        return self.slow >= NOT_FASTER

    @property
    def refusal(self) -> str:
        """What spoke against the first one, in words; "" where nothing did."""
        every = (*self.refusals.items(), *self.racing.said)
        return next((f"individual {ident}: {why}" for ident, why in every), "")

    @property
    def provisional(self) -> Winner | None:
        """The fastest by a short look, among those that nothing is known against."""
        refused = {*self.refusals, *(ident for ident, _ in self.racing.said)}
        floor = self.run.baseline.floor
        found = {
            ident: seen.overall.low
            for ident, (_, seen) in self.glances.items()
            if seen.overall and is_faster(seen.overall, floor=floor) and ident not in refused
        }
        if not found:
            return None
        ident = max(found, key=lambda one: found[one])
        genotype, seen = self.glances[ident]
        effective = canonical(genotype, self.run.subject.order)
        return Winner(ident, str(effective), replace(seen, provisional=True))

    def glance(self, some: Sequence[Finalist]) -> list[Validation]:
        """Take a short look at each of some on the held-out cases, once."""
        new = [one for one in some if one[0] not in self.glances]
        fresh = [candidate(self.run.subject, genotype) for _, genotype in new]
        seen = self.run.glance(fresh) if new else []
        for (ident, genotype), one in zip(new, seen, strict=True):
            self.glances[ident] = genotype, one
        return [self.glances[ident][1] for ident, _ in some]

    def winner(self, entered: Sequence[Finalist]) -> Winner | None:
        """The first that holds. Most are dismissed by a short look, and most of the others by one
        that takes seconds; no more are watched closely once several were rejected so: what these
        share can be found with few."""
        promising: list[Finalist] = []
        for finalist, seen in zip(entered, self.glance(entered), strict=True):
            ident, _ = finalist
            if seen.message:
                self.refusals[ident] = seen.message
            if seen.overall is not None and seen.overall.high > 1:
                promising.append(finalist)
            else:
                self.tried.append(finalist)
                self._fell_short(ident, seen.overall)
        before = len(self.rejected_by)
        groups = [promising[:1]]  # each takes seconds, and most often the first one holds
        groups += [promising[at : at + SCREENED] for at in range(1, len(promising), SCREENED)]
        for group in filter(None, groups):
            if self.over or len(self.rejected_by) - before >= ENOUGH:
                break
            short = self.shortened(group)
            some = [(one, candidate(self.run.subject, one[1])) for one in short]
            if winner := self._first(self._screened(some)):
                return winner
        return None

    def shortened(self, some: Sequence[Finalist]) -> list[Finalist]:
        """Some without the changes that the compiler makes nothing of; what a glance said of them
        holds for what is left."""
        new = [one for one in some if one[0] not in self._short]
        run, folder = self.run, self.run.tools.scratch("neutral")
        left = without_neutral(
            run.subject, run.tools.compiler, [genotype for _, genotype in new], folder
        )
        for (ident, _), genotype in zip(new, left, strict=True):
            self._short[ident] = genotype
            if ident in self.glances:
                self.glances[ident] = genotype, self.glances[ident][1]
        return [(ident, self._short[ident]) for ident, _ in some]

    def _screened(
        self, promising: Sequence[tuple[Finalist, Candidate]]
    ) -> list[tuple[Finalist, Candidate]]:
        """Those against which nothing stands that is seen in seconds; first those of which in
        seconds it is seen as well whether their threads race. The best are watched for that
        meanwhile: most often nothing stands against them."""
        some = [one for _, one in promising]
        checks = self.run.tools.certification
        objections, (soon, _) = both(
            partial(checks.screened, some),
            lambda: both(
                partial(checks.races.on_small_cases, some),
                partial(self._watch, promising[:TOGETHER] if AHEAD else ()),
            ),
        )
        for (finalist, _), objection in zip(promising, objections, strict=True):
            if objection:
                self._reject(finalist, objection)
        left = [at for at, said in enumerate(objections) if said is None]
        return [promising[at] for at in sorted(left, key=lambda at: not soon[at])]

    def _watch(self, some: Sequence[tuple[Finalist, Candidate]]) -> list[Objection | None]:
        """Watch some for races, each once; return what stands against each."""
        new = [(finalist, one) for finalist, one in some if finalist[0] not in self.watched]
        found = self.run.tools.certification.races.here([one for _, one in new])
        self.watched.update(
            (finalist[0], said) for (finalist, _), said in zip(new, found, strict=True)
        )
        return [self.watched[finalist[0]] for finalist, _ in some]

    def _first(self, some: Sequence[tuple[Finalist, Candidate]]) -> Winner | None:
        """The first that holds; several are watched for races at a time."""
        for begin in range(0, len(some), TOGETHER):
            group = some[begin : begin + TOGETHER]
            for (finalist, one), objection in zip(group, self._watch(group), strict=True):
                if self.over:
                    return None
                if objection is None:
                    (objection,) = self.run.tools.certification.thorough([one])
                if objection:
                    self._reject(finalist, objection)
                    continue
                self.tried.append(finalist)
                ident, genotype = finalist
                if validation := self._validated(ident, one):
                    effective = canonical(genotype, self.run.subject.order)
                    return Winner(ident, str(effective), validation)
        return None

    def _reject(self, finalist: Finalist, objection: Objection) -> None:
        self.tried.append(finalist)
        self.refusals[finalist[0]] = objection.said
        self.rejected_by[finalist[0]] = objection

    def find_faulty(self, wrong: Sequence[Finalist]) -> None:
        """Find out which changes of some are wrong by themselves."""
        alone = changes_alone(self.run, wrong, {*self.faulty, *self.cleared})
        self.faulty |= wrong_alone(self.run, alone)
        self.cleared |= alone.keys() - self.faulty

    def find_shared_fault(self, rejected: Sequence[Finalist], objection: Objection) -> None:
        """Find out which changes of some that were rejected alike are what is objected to: of a
        quick check all that are so by themselves; else which of those that they share, unless it
        is known of one of each."""
        if objection.quick:
            alone = changes_alone(self.run, rejected, self.faulty)
            self.faulty |= rejected_alone(objection.look, alone)
        if all(self.faulty.intersection(changes_of(genotype)) for _, genotype in rejected):
            return
        suspects = shared(rejected)
        part = rejected_part(self.run, suspects, objection.look)
        if not part and len(rejected) > 1:
            # What gains is shared, too, above all values of parameters.
            part = [one for one in suspects if isinstance(one, Edit)]
        self.faulty.update(part)

    def _validated(self, ident: int, one: Candidate) -> Validation | None:
        """What a candidate measures as, where it holds."""
        looked = look_at_held_out(self.run, [one])
        (measured,) = looked.found
        if measured.message:
            self.refusals[ident] = measured.message
        elif is_faster(measured.overall, looked.noise, self.run.baseline.floor):
            return replace(measured, watched=self.run.tools.certification.races.watched(one))
        else:
            self.slow += 1
            self._fell_short(ident, measured.overall)
        return None

    def _fell_short(self, ident: int, held_out: SpeedUp | None) -> None:
        if held_out is not None and self.short is None:
            self.short = ident, held_out
