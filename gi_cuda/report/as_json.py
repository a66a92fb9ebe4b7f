"""Records that commands print with ``--json``. A class defines the schema of its JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from gi_cuda.analyze.explain.explanation import Explanation
from gi_cuda.analyze.finalists.winner import Minimized
from gi_cuda.analyze.interactions.algorithm import Interactions
from gi_cuda.analyze.judge.records import Judged
from gi_cuda.analyze.stored.history import History
from gi_cuda.analyze.stored.milestones import Search
from gi_cuda.analyze.stored.records import IndividualRecord, RunRecord
from gi_cuda.analyze.stored.searches import Searches
from gi_cuda.analyze.validate.acceptance import Acceptance
from gi_cuda.backends.protocol.backend import Examined
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.checks.parameters.values import TriedValue
from gi_cuda.evaluate.reference.baseline import Baseline, Caught
from gi_cuda.results.evaluation import Outcome
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ShownIndividual:
    """``show --individual``.

    Attributes:
        individual: the individual.
        diff: its changes as a diff; None if the target is gone or has changed.
    """

    individual: IndividualRecord
    diff: str | None


@dataclass(frozen=True, slots=True)
class ShownGeneration:
    """``show --generation``."""

    individuals: tuple[IndividualRecord, ...]


@dataclass(frozen=True, slots=True)
class MinimizedWinner:
    """``minimize``.

    Attributes:
        individual: number of the minimized individual.
        beside: the code that changes were timed beside; "": the reference.
        minimized: the result.
    """

    individual: int
    beside: str
    minimized: Minimized


@dataclass(frozen=True, slots=True)
class Validated:
    """``validate``.

    Attributes:
        accepted: name of the candidate that holds; None if none does.
        acceptance: results of all candidates.
        unwatched: reason why no sanitizer ran; "" if sanitizers ran.
    """

    accepted: str | None
    acceptance: Acceptance
    unwatched: str


@dataclass(frozen=True, slots=True)
class AddedChange:
    """A change of the winner, in the order in which changes are added one by one.

    Attributes:
        change: the change in notation.
        speed_up: speed-up with this change and all changes before it; None if that fails.
    """

    change: str
    speed_up: SpeedUp | None


@dataclass(frozen=True, slots=True)
class ToldHistory:
    """``history``.

    Attributes:
        individual: number of the winner; None if there is none.
        beside: the code that changes were timed beside; "": the reference.
        history: generations, ancestors and individuals.
        added: speed-ups as the winner's changes are added one by one.
        figures: files of figures that were written.
    """

    individual: int | None
    beside: str
    history: History
    added: tuple[AddedChange, ...]
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundInteractions:
    """``interactions``.

    Attributes:
        individual: number of the winner.
        genotype: the winner's genotype, the minimized one if there is one.
        beside: the code that changes were timed beside; "": the reference.
        interactions: dependencies between the changes.
        figures: files of figures that were written.
    """

    individual: int
    genotype: str
    beside: str
    interactions: Interactions
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """``explain``.

    Attributes:
        individual: number of the winner.
        genotype: the winner's genotype, the minimized one if there is one.
        beside: the code that changes were timed beside; "": the reference.
        changes: explanation of each change.
    """

    individual: int
    genotype: str
    beside: str
    changes: tuple[Explanation, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """An objection to a contestant; see :class:`.Objection`."""

    code: str
    ruling: str
    said: str


@dataclass(frozen=True, slots=True)
class ComparedContestant:
    """One contestant of ``compare``; see :class:`~gi_cuda.analyze.compare.comparison.Compared`."""

    name: str
    kind: str
    genotype: str
    changes: int | None
    failure: str
    verdict: Verdict | None
    train: SpeedUp | None
    held_out: SpeedUp | None
    resources: Mapping[str, int]
    search: Search | None
    findings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedContestants:
    """``compare``.

    Attributes:
        noise: speed-up of a copy of the reference.
        floor: noise floor, as a fraction.
        contestants: results of the contestants.
        searches: comparison of the kinds of search; null if all runs are of one kind.
        notes: other sizes on which answers were checked, and sizes that were left out.
    """

    noise: SpeedUp
    floor: float
    contestants: tuple[ComparedContestant, ...]
    searches: Searches | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedTarget:
    """``check``.

    Attributes:
        target, backend: the target and the back end.
        baseline: results of the reference.
        broken: result of a variant that was broken on purpose.
        values: values of parameters that were tried.
        all_values: number of all values of parameters.
        warnings: problems of the target.
    """

    target: str
    backend: str
    baseline: Baseline
    broken: Caught
    values: tuple[TriedValue, ...]
    all_values: int
    warnings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class FoundTools:
    """``doctor``.

    Attributes:
        backends: tools that were looked for, by back end.
        usable: back ends that can be used.
    """

    backends: Mapping[str, Sequence[Examined]]
    usable: Sequence[str]


@dataclass(frozen=True, slots=True)
class WrittenTarget:
    """``init``.

    Attributes:
        target: folder of the target.
        kernels: kernels that the target launches.
        passes: whether the original is right on the cases that were tried.
        lines: messages about the target, and about values to fill in or confirm.
    """

    target: str
    kernels: tuple[str, ...]
    passes: bool
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TriedGenotype:
    """Result of one genotype of ``try``; for the fields see `IndividualRecord`."""

    genotype: str
    outcome: Outcome
    speed_up: float | None
    low: float | None
    high: float | None
    message: str


@dataclass(frozen=True, slots=True)
class TriedGenotypes:
    """``try``.

    Attributes:
        seconds: the reference's time.
        floor: noise floor, as a fraction.
        genotypes: result of each genotype.
    """

    seconds: float
    floor: float
    genotypes: tuple[TriedGenotype, ...]


PRINTED: dict[str, type[Any]] = {
    "show": RunRecord,
    "show --individual": ShownIndividual,
    "show --generation": ShownGeneration,
    "minimize": MinimizedWinner,
    "validate": Validated,
    "interactions": FoundInteractions,
    "history": ToldHistory,
    "explain": Explained,
    "compare": ComparedContestants,
    "check": CheckedTarget,
    "judge": Judged,
    "doctor": FoundTools,
    "init": WrittenTarget,
    "try": TriedGenotypes,
}
"""Class of the record that each command prints."""


def as_json(value: object) -> str:
    """Convert a record to JSON.

    NaN and infinities become null; characters that UTF-8 cannot encode become ``?``.
    """
    plain = TypeAdapter(type(value)).dump_python(value, mode="json")
    return json.dumps(_sendable(plain), indent=2, ensure_ascii=False)


def _sendable(value: Any) -> Any:
    match value:
        case dict():
            return {key: _sendable(one) for key, one in value.items()}
        case list() | tuple():
            return [_sendable(one) for one in value]
        case float() if not math.isfinite(value):
            return None
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
    return value


def schema() -> dict[str, Any]:
    """Return the JSON schema of the output of all commands, with one definition for each record."""
    wanted = [(verb, "serialization", TypeAdapter(kind)) for verb, kind in PRINTED.items()]
    verbs, shared = TypeAdapter.json_schemas(wanted)  # type: ignore[arg-type]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What gi-cuda prints with --json, by verb",
        "properties": {verb: one for (verb, _), one in verbs.items()},
        **shared,
    }
