"""Data for the page's script: every individual, in a compact encoding."""

from __future__ import annotations

import base64
import gzip
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gi_cuda.analyze.stored.history import words
from gi_cuda.analyze.stored.records import IndividualRecord
from gi_cuda.analyze.stored.whole_run import WholeRun
from gi_cuda.results.evaluation import Outcome


@dataclass(frozen=True, slots=True)
class Detail:
    """Level of detail of the individuals on a page.

    Attributes:
        digits: digits of speed-ups after the decimal point.
        message: largest number of characters of a message.
        changes: whether changes of individuals without a time are included.
        said: description of the data that is left out.
    """

    digits: int
    message: int
    changes: bool
    said: str


DETAILS = (
    Detail(6, 1000, True, ""),
    Detail(3, 120, True, "messages are cut short"),
    Detail(3, 60, False, "messages are cut short, and the changes of those that fail left out"),
)
"""Levels of detail, from complete to what fits for a large run."""

MOST = 2_200_000
"""Largest number of characters of a payload. A page of a few megabytes opens quickly, also on a
phone."""


def payload(run: WholeRun) -> tuple[str, str]:
    """Return the compressed data for the script, and a description of the data left out."""
    for detail in DETAILS:
        packed = pack(contents(run, detail))
        if len(packed) <= MOST:
            break
    return packed, detail.said


def pack(value: object) -> str:
    """Encode a value as gzipped JSON in base64."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    return base64.b64encode(gzip.compress(text, 9, mtime=0)).decode("ascii")


def contents(run: WholeRun, detail: Detail) -> dict[str, Any]:
    """Return the individuals as columns.

    Changes, messages, origins and outcomes are dictionary-encoded: columns hold indices into lists
    of distinct words.
    """
    everybody = run.individuals
    changes = _Words(
        word for one in everybody if _told(one, detail) for word in words(one.genotype)
    )
    messages = _Words(_cut(one.message, detail) for one in everybody)
    origins = _Words(one.origin for one in everybody)
    outcomes = list(Outcome)
    named = {name for word in changes.all for name in names_in(word)}
    return {
        "run": shlex.quote(run.folder),
        "outcomes": [str(one) for one in outcomes],
        "changes": changes.all,
        "messages": messages.all,
        "origins": origins.all,
        "rules": {name: rule for name, rule in run.rules.items() if name in named},
        "sentences": {one: run.sentences[one] for one in changes.all if one in run.sentences},
        "diffs": dict(run.diffs),
        "digits": detail.digits,
        "columns": {
            "individual": _steps(one.individual for one in everybody),
            "generation": _steps(one.generation for one in everybody),
            "outcome": [
                -1 if one.outcome is None else outcomes.index(one.outcome) for one in everybody
            ],
            "origin": [origins[one.origin] for one in everybody],
            "message": [messages[_cut(one.message, detail)] for one in everybody],
            "parents": [[one.individual - parent for parent in one.parents] for one in everybody],
            "genotype": [
                [changes[word] for word in words(one.genotype)] if _told(one, detail) else None
                for one in everybody
            ],
            "speed_up": [_scaled(one.speed_up, detail) for one in everybody],
            "low": [_scaled(one.low, detail) for one in everybody],
            "high": [_scaled(one.high, detail) for one in everybody],
        },
    }


class _Words:
    """A dictionary of distinct words, the most frequent first."""

    def __init__(self, some: Iterable[str]) -> None:
        self.all = [word for word, _ in Counter(some).most_common()]
        self._numbers = {word: at for at, word in enumerate(self.all)}

    def __getitem__(self, word: str) -> int:
        return self._numbers[word]


def names_in(word: str) -> Sequence[str]:
    """Return the names of the rules in a change's notation."""
    return [part.partition(">")[0] for part in word.split("<")[1:]]


def _told(one: IndividualRecord, detail: Detail) -> bool:
    return detail.changes or one.speed_up is not None


def _cut(message: str, detail: Detail) -> str:
    message = message.encode("utf-8", "replace").decode("utf-8")
    return message if len(message) <= detail.message else f"{message[: detail.message - 1]}…"


def _steps(numbers: Iterable[int]) -> list[int]:
    """Return the difference of each number from its predecessor."""
    before, found = 0, []
    for number in numbers:
        found.append(number - before)
        before = number
    return found


def _scaled(value: float | None, detail: Detail) -> int | None:
    return None if value is None else round(value * 10**detail.digits)


def colours() -> Mapping[str, str]:
    """Return the colour of each outcome, from the colour-blind-safe palette of Okabe and Ito."""
    return {
        Outcome.FASTER: "#009e73",
        Outcome.UNCERTAIN: "#56b4e9",
        Outcome.SAME: "#b8b8b8",
        Outcome.SLOWER: "#e69f00",
        Outcome.WRONG: "#d55e00",
        Outcome.CRASHED: "#cc79a7",
        Outcome.HUNG: "#882255",
        Outcome.REFUSED: "#7a7a3a",
        Outcome.NOT_BUILT: "#444444",
    }
