"""Troubles: what goes wrong where a proposal is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.errors import UserError
from gi_cuda.evaluate.faults import remedy
from gi_cuda.results.measurement import Survival


@dataclass(frozen=True, slots=True)
class Impossible:
    """Its expressions come to what no launch can have."""

    what: str
    remedy: ClassVar[str] = "change sizes in [[case]], or expressions in [[launch]], of target.toml"

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class Beside:
    """The kernel goes beyond buffers.

    Attributes:
        seen: by case and buffer.
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
    """A case takes long.

    Attributes:
        over: whether it was ended over it; else it took so long.
    """

    case: str
    seconds: float
    over: bool

    @property
    def remedy(self) -> str:
        """What to do about it."""
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
    """A launch did not end as it should.

    Attributes:
        case: "" where it is not known.
        signal: that ended it; None where none did.
    """

    case: str
    survival: Survival
    signal: int | None
    message: str

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return remedy(self.message, self.survival)

    def __str__(self) -> str:
        return f"{self.survival}: {self.message}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Masks of warp functions leave out threads that call them.

    Attributes:
        message: which one, and where.
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
        written: inputs that are.
        unwritten: outputs that are not.
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
    """All is well, but a launch is so short that timing it tells little.

    Attributes:
        seconds: that the train case takes.
        alike: whether what it writes is one value everywhere as well.
    """

    seconds: float
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Crowded:
    """All is well, but answers depend on the order of threads: perhaps several write one place
    since a scalar that was guessed, as the length of rows, is too small."""


@dataclass(frozen=True, slots=True)
class Alike:
    """All is well, but what it writes is one value everywhere: a variant that computes something
    else may well come to the same."""


@dataclass(frozen=True, slots=True)
class Tiny:
    """All is well, but numbers are so small that what the oracle allows is as large.

    Attributes:
        sizes: how large they are, by buffer.
    """

    sizes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Blind:
    """Nothing shows in the outputs: a variant that does nothing is as right.

    Attributes:
        sizes: how large numbers are that are so small that what the oracle allows is as large, by
            buffer.
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
    """What cannot be mended here: the source does not compile, the target cannot be read."""

    error: UserError

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self.error.hint or "mend what it names"

    def __str__(self) -> str:
        where = f"{self.error.where}: " if self.error.where else ""
        return where + self.error.what


@dataclass(frozen=True, slots=True)
class Idle:
    """Parameters do not do what parameters must.

    Attributes:
        names: which; all there are, if that cannot be told.
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
"""With these a proposal does not pass. Their ``remedy`` says what to do about it."""

Bearable = Brief | Crowded | Alike | Tiny
"""With these a proposal passes, though another one may do better."""

Trouble = Failing | Bearable
