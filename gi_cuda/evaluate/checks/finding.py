"""What a check finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gi_cuda.errors import UserError


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a target that its user should know.

    Attributes:
        where: file, line or key, e.g. ``targets/x/target.toml:12``.
        what: what is the matter, one sentence without a final full stop.
        hint: what to do about it.
    """

    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"\n  {self.hint}" if self.hint else "")


SHOWN = 8
"""Things of a list that are told by name; the others are counted."""


def listed(several: Sequence[str]) -> str:
    """Things, separated by commas; those of a long list are cut with a count."""
    more = f" and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
    return ", ".join(several[:SHOWN]) + more


def refuse(findings: Iterable[Finding]) -> None:
    """End with all findings as one error; go on where there is none.

    Raises:
        UserError: there is a finding.
    """
    first, *others = [*findings, None]
    if first is None:
        return
    more = [str(one) for one in others if one is not None]
    hint = "\n".join([*([first.hint] if first.hint else []), *more])
    raise UserError(first.what, where=first.where, hint=hint or None)
