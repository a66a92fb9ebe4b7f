"""What a user can get wrong, said once and clearly, and what ends a command otherwise."""

from __future__ import annotations


class UserError(Exception):
    """A mistake the user can mend: what is wrong, where, and what to do.

    The command line prints it without a traceback and exits with status 2.

    Args:
        what: what is wrong, one sentence without a final full stop.
        where: file, line or key, e.g. ``targets/x/target.toml:12: parameter[0].values``.
        hint: what to do about it.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  {self.hint}" if self.hint else text


class WorkerFault(Exception):
    """The workers cannot be started at all: what the process they come from said."""


class DeviceLost(Exception):
    """A device that worked does so no longer.

    Args:
        said: how that shows.
    """

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said

    def __str__(self) -> str:
        return (
            f"the device is lost: {self.said}\n"
            "  look at `nvidia-smi` and `gi-cuda doctor`, and go on once it works"
        )
