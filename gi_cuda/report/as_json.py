"""What verbs print with ``--json``: one object each, whose schema is that of its class."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from gi_cuda.analyze.explain.explanation import Explanation
from gi_cuda.analyze.history import History
from gi_cuda.analyze.interactions.algorithm import Interactions
from gi_cuda.analyze.judge.records import Judged
from gi_cuda.analyze.milestones import Search
from gi_cuda.analyze.records import IndividualRecord, RunRecord
from gi_cuda.analyze.searches import Searches
from gi_cuda.analyze.validate.acceptance import Acceptance
from gi_cuda.analyze.winner import Minimized
from gi_cuda.backends.protocol.backend import Examined
from gi_cuda.evaluate.baseline import Baseline, Caught
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.checks.values import TriedValue
from gi_cuda.results.evaluation import Outcome
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ShownIndividual:
    """``show --individual``. `diff` is None where the target is not there any more as it was."""

    individual: IndividualRecord
    diff: str | None


@dataclass(frozen=True, slots=True)
class ShownGeneration:
    """``show --generation``."""

    individuals: tuple[IndividualRecord, ...]


@dataclass(frozen=True, slots=True)
class MinimizedWinner:
    """``minimize``. `beside` is what changes were timed beside; "": the reference."""

    individual: int
    beside: str
    minimized: Minimized


@dataclass(frozen=True, slots=True)
class Validated:
    """``validate``.

    Attributes:
        accepted: the name of what holds; None where nothing does.
        acceptance: what became of each that was tried.
        unwatched: why no sanitizer was at work, where none was.
    """

    accepted: str | None
    acceptance: Acceptance
    unwatched: str


@dataclass(frozen=True, slots=True)
class AddedChange:
    """One more of the winner's changes: the speed-up with it and all before; None: it fails."""

    change: str
    speed_up: SpeedUp | None


@dataclass(frozen=True, slots=True)
class ToldHistory:
    """``history``. `individual` is the winner; `beside` what its changes were timed beside."""

    individual: int | None
    beside: str
    history: History
    added: tuple[AddedChange, ...]
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundInteractions:
    """``interactions``. `genotype` is the winner's, minimized where it was."""

    individual: int
    genotype: str
    beside: str
    interactions: Interactions
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """``explain``. `genotype` is the winner's, minimized where it was."""

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
        noise: a copy of the reference.
        floor: the noise floor, as a fraction.
        searches: which way to search found more; null where the runs are all of one kind.
        notes: other sizes that answers were held against, and those that were left out.
    """

    noise: SpeedUp
    floor: float
    contestants: tuple[ComparedContestant, ...]
    searches: Searches | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedTarget:
    """``check``. `all_values` is how many values there are; `values` are those that were tried."""

    target: str
    backend: str
    baseline: Baseline
    broken: Caught
    values: tuple[TriedValue, ...]
    all_values: int
    warnings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class FoundTools:
    """``doctor``: for each back end what was looked for, and the back ends that can be used."""

    backends: Mapping[str, Sequence[Examined]]
    usable: Sequence[str]


@dataclass(frozen=True, slots=True)
class WrittenTarget:
    """``init``.

    Attributes:
        target: its folder.
        kernels: that it launches.
        passes: whether the original is right on its cases, as far as that was tried.
        lines: what was found, and what is to be filled in or confirmed.
    """

    target: str
    kernels: tuple[str, ...]
    passes: bool
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TriedGenotype:
    """One genotype of ``try``; fields are those of an individual."""

    genotype: str
    outcome: Outcome
    speed_up: float | None
    low: float | None
    high: float | None
    message: str


@dataclass(frozen=True, slots=True)
class TriedGenotypes:
    """``try``: `seconds` is the reference's time, `floor` the noise floor as a fraction."""

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
"""What each verb prints."""


def as_json(value: object) -> str:
    """A record as JSON. What is not finite is null; what no encoding can hold is ``?``."""
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
    """The JSON schema of what the verbs print, one definition for each."""
    wanted = [(verb, "serialization", TypeAdapter(kind)) for verb, kind in PRINTED.items()]
    verbs, shared = TypeAdapter.json_schemas(wanted)  # type: ignore[arg-type]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What gi-cuda prints with --json, by verb",
        "properties": {verb: one for (verb, _), one in verbs.items()},
        **shared,
    }
