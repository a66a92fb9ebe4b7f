"""Reasons not to run a rewrite at all."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.errors import UserError
from gi_cuda.results.status import Status


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a rewrite is not run.

    Attributes:
        code: a name of the kind, for programs.
        said: in words.
        where: file and line; "" where there is none.
        status: the verdict that it leads to.
    """

    code: str
    said: str
    where: str = ""
    status: Status = Status.INVALID

    def __str__(self) -> str:
        return f"{self.where}: {self.said}" if self.where else self.said


class Refused(Exception):
    """A rewrite that cannot be run.

    Args:
        refusal: why.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def refused(code: str, said: str, where: object = "", status: Status = Status.INVALID) -> Refused:
    """An error that says why a rewrite is not run."""
    return Refused(Refusal(code, said, str(where), status))


def of_error(error: UserError) -> Refused:
    """An error of reading a rewrite, which is no mistake in how the referee was called."""
    hint = f"; {error.hint}" if error.hint else ""
    return refused("unreadable", f"{error.what}{hint}", error.where or "")
