"""Reasons why a rewrite cannot run."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.errors import UserError
from gi_cuda.results.status import Status


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why a rewrite cannot run.

    Attributes:
        code: name of the kind of reason, for programs.
        said: the reason in words.
        where: file and line; "" if there is none.
        status: the verdict that it leads to.
    """

    code: str
    said: str
    where: str = ""
    status: Status = Status.INVALID

    def __str__(self) -> str:
        return f"{self.where}: {self.said}" if self.where else self.said


class Refused(Exception):
    """An error: a rewrite cannot run.

    Args:
        refusal: the reason.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def refused(code: str, said: str, where: object = "", status: Status = Status.INVALID) -> Refused:
    """Make an error that says why a rewrite cannot run; for the arguments see :class:`Refusal`."""
    return Refused(Refusal(code, said, str(where), status))


def of_error(error: UserError) -> Refused:
    """Convert an error in a rewrite's source, which is a verdict and not an error of usage."""
    hint = f"; {error.hint}" if error.hint else ""
    return refused("unreadable", f"{error.what}{hint}", error.where or "")
