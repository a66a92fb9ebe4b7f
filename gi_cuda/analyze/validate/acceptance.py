"""From the best individuals to the one that may go upstream: measured, watched, and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from gi_cuda.analyze.validate.looks import failed_looks, look_at_held_out
from gi_cuda.analyze.winner import Minimized, Winner, keep_minimized, keep_winner
from gi_cuda.backends.protocol.backend import Sanitizer
from gi_cuda.evaluate.candidates import Candidate, candidate, unmodified
from gi_cuda.evaluate.scrutiny.races import findings_of
from gi_cuda.evaluate.scrutiny.sanitizer_logs import SanitizerFinding, new_findings
from gi_cuda.genome import Genotype
from gi_cuda.grammar import Source
from gi_cuda.results.application import ApplicationResult
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import is_acceptable, is_faster
from gi_cuda.runs.run import Run
from gi_cuda.store import Store


@dataclass(frozen=True, slots=True)
class TriedCandidate:
    """What became of one candidate for the patch.

    Attributes:
        name: what it is called: an individual's number, and whether it was minimized.
        ident: the individual's number; None for a genotype given by hand.
        genotype: in notation.
        validation: on the held-out cases.
        findings: of each sanitizer that watched it, those that the reference does not have.
    """

    name: str
    ident: int | None
    genotype: str
    validation: Validation
    findings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether no sanitizer found anything that the reference does not do."""
        return not any(self.findings.values())


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of the best individuals.

    Attributes:
        noise: a copy of the reference beside the reference: what no gain may be taken from.
        tried: the candidates, in the order in which they were to be taken.
        watched: names of the sanitizers that were at work.
        application: what became of the application with the first that is right, faster and clean;
            None where it was not asked.
        floor: the noise floor of the run, as a fraction.
        failed: candidates that were right on the held-out cases and not faster before these.
    """

    noise: SpeedUp
    tried: tuple[TriedCandidate, ...]
    watched: tuple[str, ...]
    application: ApplicationResult | None = None
    floor: float = 0.0
    failed: int = 0

    def faster(self, tried: TriedCandidate) -> bool:
        """Whether a candidate is certainly faster, beyond the noise."""
        return is_faster(tried.validation.overall, self.noise, self.floor)

    @property
    def clean(self) -> TriedCandidate | None:
        """The first candidate that is right, faster and clean."""
        return next((one for one in self.tried if self._accepts(one)), None)

    @property
    def accepted(self) -> TriedCandidate | None:
        """The same, if nothing speaks against it in the application either."""
        return None if self.application and self.application.fault else self.clean

    def _accepts(self, one: TriedCandidate) -> bool:
        overall, findings = one.validation.overall, one.findings.values()
        return is_acceptable(overall, self.noise, findings, self.floor)


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate before it was measured.

    Attributes:
        name, ident: as :class:`TriedCandidate` has them.
        genotype: of it.
    """

    name: str
    ident: int | None
    genotype: Genotype


def accept(run: Run, candidates: Sequence[Entry], sanitizers: Sequence[Sanitizer]) -> Acceptance:
    """Measure candidates and a copy of the reference on the held-out cases, in processes that ran
    nothing before; then watch one after the other,
    for races and by sanitizers, until one is clean."""
    original, subject = unmodified(run.subject), run.subject
    failed = failed_looks(run)
    noise, found, _ = look_at_held_out(
        run, [candidate(subject, one.genotype) for one in candidates]
    )
    tried = [
        TriedCandidate(one.name, one.ident, str(one.genotype), validation)
        for one, validation in zip(candidates, found, strict=True)
    ]
    names = tuple(one.name for one in sanitizers)
    result = Acceptance(noise, tuple(tried), names, None, run.baseline.floor, failed)
    known: dict[str, list[SanitizerFinding]] = {}
    for at, (entry, one) in enumerate(zip(candidates, tried, strict=True)):
        if result.faster(one):
            variant = candidate(subject, entry.genotype)
            one = replace(
                one, validation=run.tools.certification.certified(variant, one.validation)
            )
            tried[at] = one
            result = replace(result, tried=tuple(tried))
        if result.faster(one):
            known = known or {s.name: _findings(run, original, s) for s in sanitizers}
            new = {
                s.name: new_findings(_findings(run, variant, s), known[s.name]) for s in sanitizers
            }
            tried[at] = replace(one, findings={n: tuple(map(str, f)) for n, f in new.items()})
            result = replace(result, tried=tuple(tried))
            if tried[at].clean:
                break
    return result


def _findings(run: Run, one: Candidate, sanitizer: Sanitizer) -> list[SanitizerFinding]:
    """What a sanitizer finds in a source on the held-out cases."""
    source = Source(run.subject.grammar.source.name, one.text)
    folder, cases = run.tools.scratch("watched"), run.tools.held_out()
    found, failure = findings_of(sanitizer, run.tools.session, one, cases, source, folder)
    # What ends a run early is a finding, unless it is the consequence of one.
    return found or ([SanitizerFinding(failure)] if failure else [])


def remember(store: Store, result: Acceptance) -> None:
    """Store a validation: its winner is the run's, and minimized ones keep their new figures."""
    accepted = result.accepted
    for one in result.tried:
        stored = None if one.ident is None else store.load(f"minimized/{one.ident}", Minimized)
        if one.ident is not None and stored and stored.minimization.genotype == one.genotype:
            keep_minimized(store, one.ident, replace(stored, validation=one.validation))
    if accepted is not None and accepted.ident is not None:
        winner = Winner(accepted.ident, accepted.genotype, accepted.validation)
        keep_winner(store, winner)
    store.put(acceptance=asdict(result))
