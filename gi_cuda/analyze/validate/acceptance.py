"""Select the individual that may go upstream: measure candidates and run them under sanitizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from gi_cuda.analyze.finalists.winner import Minimized, Winner, keep_minimized, keep_winner
from gi_cuda.analyze.validate.looks import failed_looks, look_at_held_out
from gi_cuda.backends.protocol.backend import Sanitizer
from gi_cuda.evaluate.candidates import Candidate, candidate, unmodified
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import SanitizerFinding, new_findings
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_runs import findings_of
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
    """Result of one candidate for the patch.

    Attributes:
        name: name for messages: "individual 12, minimized".
        ident: number of the individual; None for a genotype that the user gave.
        genotype: genotype in notation.
        validation: validation on the held-out cases.
        findings: findings that the reference does not have, by sanitizer that ran.
    """

    name: str
    ident: int | None
    genotype: str
    validation: Validation
    findings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Tell whether no sanitizer has a finding that the reference does not have."""
        return not any(self.findings.values())


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Results of the candidates for the patch.

    Attributes:
        noise: speed-up of a copy of the reference; gains within it do not count.
        tried: results of the candidates, in the order of preference.
        watched: names of the sanitizers that ran.
        application: result of the whole application with the first candidate that is right, faster
            and clean; None if the application was not tested.
        floor: noise floor of the run, as a fraction.
        failed: number of earlier candidates of the run that were right on the held-out cases but
            not faster.
    """

    noise: SpeedUp
    tried: tuple[TriedCandidate, ...]
    watched: tuple[str, ...]
    application: ApplicationResult | None = None
    floor: float = 0.0
    failed: int = 0

    def faster(self, tried: TriedCandidate) -> bool:
        """Tell whether a candidate is certainly faster, beyond the noise."""
        return is_faster(tried.validation.overall, self.noise, self.floor)

    @property
    def clean(self) -> TriedCandidate | None:
        """First candidate that is right, faster and clean; None if there is none."""
        return next((one for one in self.tried if self._accepts(one)), None)

    @property
    def accepted(self) -> TriedCandidate | None:
        """First candidate that is right, faster and clean; None if the application rejects it."""
        return None if self.application and self.application.fault else self.clean

    def _accepts(self, one: TriedCandidate) -> bool:
        overall, findings = one.validation.overall, one.findings.values()
        return is_acceptable(overall, self.noise, findings, self.floor)


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate for the patch before it is measured.

    Attributes:
        name, ident: see :class:`TriedCandidate`.
        genotype: genotype of the candidate.
    """

    name: str
    ident: int | None
    genotype: Genotype


def accept(run: Run, candidates: Sequence[Entry], sanitizers: Sequence[Sanitizer]) -> Acceptance:
    """Measure candidates on the held-out cases, then check them until one is clean.

    Candidates and a copy of the reference are measured in fresh processes. Then the faster
    candidates are checked for races and by sanitizers, one after the other.

    Args:
        run: the run.
        candidates: the candidates, in the order of preference.
        sanitizers: the sanitizers.
    """
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
    """Return the findings of a sanitizer in a candidate on the held-out cases."""
    source = Source(run.subject.grammar.source.name, one.text)
    folder, cases = run.tools.scratch("watched"), run.tools.held_out()
    found, failure = findings_of(sanitizer, run.tools.session, one, cases, source, folder)
    # A run that ends early is a finding, unless other findings explain it.
    return found or ([SanitizerFinding(failure)] if failure else [])


def remember(store: Store, result: Acceptance) -> None:
    """Store a validation, and update the run's winner and the validations of minimized ones."""
    accepted = result.accepted
    for one in result.tried:
        stored = None if one.ident is None else store.load(f"minimized/{one.ident}", Minimized)
        if one.ident is not None and stored and stored.minimization.genotype == one.genotype:
            keep_minimized(store, one.ident, replace(stored, validation=one.validation))
    if accepted is not None and accepted.ident is not None:
        winner = Winner(accepted.ident, accepted.genotype, accepted.validation)
        keep_winner(store, winner)
    store.put(acceptance=asdict(result))
