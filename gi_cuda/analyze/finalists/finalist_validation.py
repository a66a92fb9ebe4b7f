"""Validate individuals on the held-out cases: a short measurement, then checks, then validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gi_cuda.analyze.finalists.neutral import without_neutral
from gi_cuda.analyze.finalists.racing import Racing
from gi_cuda.analyze.finalists.repair import (
    Finalist,
    changes_alone,
    rejected_alone,
    rejected_part,
    shared,
    wrong_alone,
)
from gi_cuda.analyze.finalists.winner import Winner
from gi_cuda.analyze.validate.looks import look_at_held_out
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
"""Number of individuals that are validated in a round; the best one that holds is the winner."""

ENOUGH = 3
"""Number of individuals that are right on all cases but rejected by a check, after which a round
ends. The next round tries individuals without the changes that these share. Each check takes
seconds."""

SCREENED = max(1, min(FINALISTS, cores() // 3))
"""Number of individuals that go through the checks that take seconds at the same time."""

TOGETHER = max(1, min(3, cores() // 4))
"""Number of individuals that are watched for races at the same time. Each occupies a few cores for
seconds."""

AHEAD = cores() >= 8
"""True if there are enough cores for speculative work: the reference and the best individuals are
watched for races before it is known whether any individual is right."""

NOT_FASTER = 3
"""Number of individuals that seemed faster on the held-out cases and failed validation, after which
the search for a winner ends. The remaining ones were worse on the train cases, and a validation
takes many processes."""


@dataclass(slots=True)
class Finals:
    """State of the validation of a run's individuals on the held-out cases.

    Attributes:
        run: the run.
        tried: individuals whose result is known.
        refusals: reason why an individual does not hold, by its number.
        rejected_by: objection of a check to an individual that is right on all cases, by number.
        faulty: changes that are wrong by themselves, or to which a check objects.
        cleared: changes that are right on all cases by themselves.
        slow: number of individuals that were right but not faster in their validation.
        short: number and speed-up of the first individual that was right but not faster.
        glances: genotype and result of individuals after a short measurement, by number.
        watched: result of watching individuals for races on the device, by number.
        racing: results of watching individuals for races on the CPU.
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
        """Tell whether so many individuals were not faster that the search for a winner ends."""
        return self.slow >= NOT_FASTER

    @property
    def refusal(self) -> str:
        """Reason why the first refused individual does not hold; "" if none was refused."""
        every = (*self.refusals.items(), *self.racing.said)
        return next((f"individual {ident}: {why}" for ident, why in every), "")

    @property
    def provisional(self) -> Winner | None:
        """The fastest individual in short measurements, among those that were not refused."""
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
        """Return short measurements of individuals on the held-out cases; each is made once."""
        new = [one for one in some if one[0] not in self.glances]
        fresh = [candidate(self.run.subject, genotype) for _, genotype in new]
        seen = self.run.glance(fresh) if new else []
        for (ident, genotype), one in zip(new, seen, strict=True):
            self.glances[ident] = genotype, one
        return [self.glances[ident][1] for ident, _ in some]

    def winner(self, entered: Sequence[Finalist]) -> Winner | None:
        """Return the first individual that holds; None if none does.

        A short measurement dismisses most individuals, and checks that take seconds dismiss most of
        the others. The method stops after `ENOUGH` rejections, because these suffice to find the
        changes that the rejected individuals share.
        """
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
        groups = [promising[:1]]  # the first one alone: it mostly holds, and each takes seconds
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
        """Remove from individuals the changes that do not affect the machine code.

        Their short measurements stay valid.
        """
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
        """Return the individuals that pass the checks that take seconds.

        Individuals come first whose races are checked fast, too (on small cases). With enough
        cores, the best are watched for races at the same time, because they mostly pass.
        """
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
        """Watch individuals for races, each once, and return the objection to each or None."""
        new = [(finalist, one) for finalist, one in some if finalist[0] not in self.watched]
        found = self.run.tools.certification.races.here([one for _, one in new])
        self.watched.update(
            (finalist[0], said) for (finalist, _), said in zip(new, found, strict=True)
        )
        return [self.watched[finalist[0]] for finalist, _ in some]

    def _first(self, some: Sequence[tuple[Finalist, Candidate]]) -> Winner | None:
        """Return the first individual that holds; several are watched for races in parallel."""
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
        """Determine which changes of wrong individuals are wrong by themselves."""
        alone = changes_alone(self.run, wrong, {*self.faulty, *self.cleared})
        self.faulty |= wrong_alone(self.run, alone)
        self.cleared |= alone.keys() - self.faulty

    def find_shared_fault(self, rejected: Sequence[Finalist], objection: Objection) -> None:
        """Determine which changes cause a check to object to several individuals.

        A quick check tests each change by itself. If this does not explain every individual, the
        changes that all of them share are searched for the smallest part that is rejected.

        Args:
            rejected: individuals that the same check rejected.
            objection: the objection to the first of them.
        """
        if objection.quick:
            alone = changes_alone(self.run, rejected, self.faulty)
            self.faulty |= rejected_alone(objection.look, alone)
        if all(self.faulty.intersection(changes_of(genotype)) for _, genotype in rejected):
            return
        suspects = shared(rejected)
        part = rejected_part(self.run, suspects, objection.look)
        if not part and len(rejected) > 1:
            # Settings of parameters are mostly shared because they gain, so only edits are blamed.
            part = [one for one in suspects if isinstance(one, Edit)]
        self.faulty.update(part)

    def _validated(self, ident: int, one: Candidate) -> Validation | None:
        """Validate a candidate; return None if it does not hold."""
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
