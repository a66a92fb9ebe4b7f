"""What the page's script gets: every individual, in as few bytes as it may take."""

from __future__ import annotations

import base64
import gzip
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gi_cuda.analyze.history import words
from gi_cuda.analyze.records import IndividualRecord
from gi_cuda.analyze.whole import WholeRun
from gi_cuda.results.evaluation import Outcome


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of the individuals a page holds.

    Attributes:
        digits: of speed-ups, behind the point.
        message: characters of a message.
        changes: whether the changes of those that are not right are there too.
        said: what is left out, in words.
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
"""From all to what a page of a large run can hold."""

MOST = 2_200_000
"""Characters of a payload: a page of some megabytes opens at once, also on a phone."""


def payload(run: WholeRun) -> tuple[str, str]:
    """What the script gets, compressed, and what had to be left out of it, in words."""
    for detail in DETAILS:
        packed = pack(contents(run, detail))
        if len(packed) <= MOST:
            break
    return packed, detail.said


def pack(value: object) -> str:
    """JSON, compressed, as text."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    return base64.b64encode(gzip.compress(text, 9, mtime=0)).decode("ascii")


def contents(run: WholeRun, detail: Detail) -> dict[str, Any]:
    """The individuals as columns. Words that many have are told once: changes, messages, origins
    and outcomes are numbers of such words."""
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
    """Words by number, the most frequent first."""

    def __init__(self, some: Iterable[str]) -> None:
        self.all = [word for word, _ in Counter(some).most_common()]
        self._numbers = {word: at for at, word in enumerate(self.all)}

    def __getitem__(self, word: str) -> int:
        return self._numbers[word]


def names_in(word: str) -> Sequence[str]:
    """The rules that a change names in notation."""
    return [part.partition(">")[0] for part in word.split("<")[1:]]


def _told(one: IndividualRecord, detail: Detail) -> bool:
    return detail.changes or one.speed_up is not None


def _cut(message: str, detail: Detail) -> str:
    message = message.encode("utf-8", "replace").decode("utf-8")
    return message if len(message) <= detail.message else f"{message[: detail.message - 1]}…"


def _steps(numbers: Iterable[int]) -> list[int]:
    """Each number less the one before."""
    before, found = 0, []
    for number in numbers:
        found.append(number - before)
        before = number
    return found


def _scaled(value: float | None, detail: Detail) -> int | None:
    return None if value is None else round(value * 10**detail.digits)


def colours() -> Mapping[str, str]:
    """Of each outcome; told apart by those who are colour-blind too (Okabe and Ito)."""
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
