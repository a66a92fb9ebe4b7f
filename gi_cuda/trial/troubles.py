"""Troubles: kinds of failures and weaknesses of a proposal that is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.faults import remedy
from gi_cuda.results.measurement import Survival


@dataclass(frozen=True, slots=True)
class Impossible:
    """The launch configuration or a size is invalid."""

    what: str
    remedy: ClassVar[str] = "change sizes in [[case]], or expressions in [[launch]], of target.toml"

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class Beside:
    """The kernel accesses memory outside of buffers.

    Attributes:
        seen: the accesses, by case and buffer.
    """

    seen: Mapping[str, Mapping[str, Beyond]]
    remedy: ClassVar[str] = (
        "give these buffers more `size` or `begin` in target.toml, or other data in data.py"
    )

    def __str__(self) -> str:
        names = dict.fromkeys(name for one in self.seen.values() for name in one)
        return f"it reads or writes beside {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Slow:
    """A case takes too long.

    Attributes:
        seconds: the time that it took, or after which it was stopped.
        over: True if it was stopped.
    """

    case: str
    seconds: float
    over: bool

    @property
    def remedy(self) -> str:
        """Return advice for the user."""
        return (
            "make the sizes in [[case]] of target.toml smaller, or the scalars in data.py; a loop"
            " of the source that is as long whatever they are needs a GPU"
            + "; one that waits for what another kernel or the host writes cannot run"
            * self.over
        )

    def __str__(self) -> str:
        return (
            f"it takes {'more than ' * self.over}{self.seconds:.2g} s"
            + f" on the case {self.case}" * bool(self.case)
        )


@dataclass(frozen=True, slots=True)
class Died:
    """A launch failed.

    Attributes:
        case: name of the case; "" if unknown.
        signal: the signal that ended it; None if none did.
    """

    case: str
    survival: Survival
    signal: int | None
    message: str

    @property
    def remedy(self) -> str:
        """Return advice for the user."""
        return remedy(self.message, self.survival)

    def __str__(self) -> str:
        return f"{self.survival}: {self.message}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The mask of a warp function excludes a thread that calls it.

    Attributes:
        message: which function, and where.
    """

    message: str
    remedy: ClassVar[str] = (
        'mend the mask, or write a table [warps] with masks = "device" into target.toml'
    )

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Roles:
    """Buffers are not used as their roles say.

    Attributes:
        written: inputs that are written.
        unwritten: outputs that are not written.
    """

    written: frozenset[str]
    unwritten: frozenset[str]
    remedy: ClassVar[str] = "change the `role` of these buffers in target.toml"

    def __str__(self) -> str:
        parts = []
        if self.written:
            parts.append(f"it writes {', '.join(sorted(self.written))}")
        if self.unwritten:
            parts.append(f"it never writes {', '.join(sorted(self.unwritten))}")
        return " and ".join(parts)


@dataclass(frozen=True, slots=True)
class Varying:
    """Outputs differ from run to run."""

    names: frozenset[str]
    remedy: ClassVar[str] = (
        'say kind = "sigma" in [oracle] of target.toml, with `outside` as the share of values'
        ' that may be far off; or give them the role "scratch", if others are judged'
    )

    def __str__(self) -> str:
        return f"{', '.join(sorted(self.names))} differ from run to run"


@dataclass(frozen=True, slots=True)
class Undefined:
    """Outputs hold nothing but NaN."""

    names: frozenset[str]
    remedy: ClassVar[str] = (
        "if it reads shared memory or locals that nothing has set, mend the kernel; else give"
        " it data in data.py for which it computes numbers"
    )

    def __str__(self) -> str:
        return f"{', '.join(sorted(self.names))} hold NaN wherever it writes them"


@dataclass(frozen=True, slots=True)
class Brief:
    """The proposal passes, but a launch is too short to be timed well.

    Attributes:
        seconds: time of the fastest case.
        alike: True if all outputs are a single value as well.
    """

    seconds: float
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Crowded:
    """The proposal passes, but results depend on the order of threads.

    Perhaps several threads write to the same item because a guessed scalar, such as the length of
    rows, is too small.
    """


@dataclass(frozen=True, slots=True)
class Alike:
    """The proposal passes, but all outputs are a single value.

    A variant that computes something else may well produce the same value.
    """


@dataclass(frozen=True, slots=True)
class Tiny:
    """The proposal passes, but results are so small that the tolerance is about as large.

    Attributes:
        sizes: magnitude of these results, by buffer.
    """

    sizes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Blind:
    """The outputs do not change if the kernel does nothing, so no variant could fail.

    Attributes:
        sizes: magnitude of results that are about as small as the tolerance, by buffer.
    """

    sizes: Mapping[str, float] = field(default_factory=dict)
    remedy: ClassVar[str] = (
        "give it data in data.py for which it changes what is there, or buffers that it writes"
        ' the role "output" in target.toml; a kernel that only waits or prints cannot be judged'
    )

    def __str__(self) -> str:
        return "its outputs are the same if it does nothing"


@dataclass(frozen=True, slots=True)
class Unjudged:
    """No buffer is an output, as far as the source tells."""

    remedy: ClassVar[str] = (
        'give a buffer that it writes the role "output" or "inout" in target.toml'
    )

    def __str__(self) -> str:
        return "nothing that it writes could be looked at"


@dataclass(frozen=True, slots=True)
class Refused:
    """The source does not compile, or the target cannot be read; no fix is known."""

    error: UserError

    @property
    def remedy(self) -> str:
        """Return advice for the user."""
        return self.error.hint or "mend what it names"

    def __str__(self) -> str:
        where = f"{self.error.where}: " if self.error.where else ""
        return where + self.error.what


@dataclass(frozen=True, slots=True)
class Idle:
    """Parameters have no effect.

    Attributes:
        names: these parameters; all of them if it is not known which.
    """

    names: frozenset[str]
    remedy: ClassVar[str] = "take these parameters out of target.toml"

    def __str__(self) -> str:
        return f"{', '.join(sorted(self.names))}: no parameter of this target"


Failing = (
    Impossible
    | Beside
    | Slow
    | Died
    | LeftOut
    | Roles
    | Varying
    | Undefined
    | Blind
    | Unjudged
    | Refused
    | Idle
)
"""Troubles with which a proposal does not pass; ``remedy`` is advice for the user."""

Bearable = Brief | Crowded | Alike | Tiny
"""Troubles with which a proposal passes, though another one may be better."""

Trouble = Failing | Bearable
