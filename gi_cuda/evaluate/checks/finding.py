"""Findings of checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gi_cuda.errors import UserError


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake in a target, or something else about it that its user should know.

    Attributes:
        where: file, line or key, e.g. ``targets/x/target.toml:12``.
        what: the problem, in one sentence without a final full stop.
        hint: the remedy.
    """

    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"\n  {self.hint}" if self.hint else "")


SHOWN = 8
"""Number of items of a list that messages name; the others are counted."""


def listed(several: Sequence[str]) -> str:
    """Join items with commas; a long list is cut, with a count of the rest."""
    more = f" and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
    return ", ".join(several[:SHOWN]) + more


def refuse(findings: Iterable[Finding]) -> None:
    """Raise all findings as one error; do nothing if there are none.

    Raises:
        UserError: there is a finding.
    """
    first, *others = [*findings, None]
    if first is None:
        return
    more = [str(one) for one in others if one is not None]
    hint = "\n".join([*([first.hint] if first.hint else []), *more])
    raise UserError(first.what, where=first.where, hint=hint or None)
