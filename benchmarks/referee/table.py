"""Tables of the false-verdict benchmark."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.referee.asking import ACCEPTED


@dataclass(frozen=True, slots=True)
class Verdict:
    """The referee's verdict on a rewrite whose truth is known.

    Attributes:
        right: the truth.
        status: the verdict.
        seconds: time for the verdict.
    """

    kernel: str
    name: str
    kind: str
    right: bool
    status: str
    reason: str
    seconds: float

    @property
    def is_false_accept(self) -> bool:
        """Tell whether a wrong rewrite is accepted, with a verdict on its speed."""
        return not self.right and self.status in ACCEPTED

    @property
    def is_unverified(self) -> bool:
        """Tell whether a right rewrite gets no verdict."""
        return self.right and self.status == "unverified"

    @property
    def is_false_reject(self) -> bool:
        """Tell whether a right rewrite is refused, or cannot be judged at all."""
        return self.right and self.status not in (*ACCEPTED, "unverified")


_COLUMNS = ("wrong", "false accepts", "right", "false rejects", "unverified", "seconds", "longest")


def table(verdicts: Sequence[Verdict]) -> str:
    """Return figures by kernel and by kind, then each verdict that is wrong.

    Seconds are the median of a row and the longest.
    """
    lines = []
    for title, key in (("kernel", "kernel"), ("kind", "kind")):
        rows = sorted({str(getattr(one, key)) for one in verdicts})
        lines.append(f"{title:20}" + "".join(f"{column:>15}" for column in _COLUMNS))
        for row in rows:
            lines.append(_row(row, [one for one in verdicts if getattr(one, key) == row]))
        lines += [_row("all", verdicts), ""]
    for title, is_one in (
        ("false accepts", lambda one: one.is_false_accept),
        ("false rejects", lambda one: one.is_false_reject),
        ("right, but unverified", lambda one: one.is_unverified),
    ):
        some = [one for one in verdicts if is_one(one)]
        lines.append(f"{title}: {len(some) or 'none'}")
        for one in sorted(some, key=lambda one: (one.kernel, one.name)):
            reason = f": {one.reason[:160]}" if one.reason else ""
            lines.append(f"  {one.kernel}: {one.name} ({one.kind}): {one.status}{reason}")
    return "\n".join(lines)


def _row(name: str, verdicts: Sequence[Verdict]) -> str:
    wrong = [one for one in verdicts if not one.right]
    right = [one for one in verdicts if one.right]
    seconds = [one.seconds for one in verdicts] or [0.0]
    counts = (
        len(wrong),
        sum(one.is_false_accept for one in wrong),
        len(right),
        sum(one.is_false_reject for one in right),
        sum(one.is_unverified for one in right),
    )
    figures = "".join(f"{one:15}" for one in counts)
    return f"{name:20}{figures}{statistics.median(seconds):15.1f}{max(seconds):15.1f}"
