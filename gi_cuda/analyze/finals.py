"""Individuals on the held-out cases: a short look, then checks, then a validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gi_cuda.analyze.neutral import without_neutral
from gi_cuda.analyze.racing import Racing
from gi_cuda.analyze.repair import (
    Finalist,
    changes_alone,
    rejected_alone,
    rejected_part,
    shared,
    wrong_alone,
)
from gi_cuda.analyze.validate.looks import look_at_held_out
from gi_cuda.analyze.winner import Winner
from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import both
from gi_cuda.evaluate.candidates import Candidate, candidate
from gi_cuda.evaluate.scrutiny.objections import Objection
from gi_cuda.genome import Change, Edit, Genotype, canonical, changes_of
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import is_faster
from gi_cuda.runs.run import Run

FINALISTS = 5
"""Individuals that are validated at a time; the best one that holds is the winner."""

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

NOT_FASTER = 3
"""After so many that are right on the held-out cases, seemed faster and were not, there is none:
what is left was not as good on the train cases, and a validation takes many processes."""


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
        """Tell whether so many were not faster that none will be."""
        return self.slow >= NOT_FASTER

    @property
    def refusal(self) -> str:
        """Reason why the first one does not hold; "" if nothing speaks against it."""
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
        """Return the validation of a candidate that holds; None for another one."""
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
