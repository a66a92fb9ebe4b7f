"""What goes wrong where a proposal is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.errors import UserError
from gi_cuda.results.measurement import Survival


@dataclass(frozen=True, slots=True)
class Impossible:
    """Its expressions come to what no launch can have."""

    what: str

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class Beside:
    """The kernel goes beyond buffers.

    Attributes:
        seen: by case and buffer.
    """

    seen: Mapping[str, Mapping[str, Beyond]]

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

    def __str__(self) -> str:
        return f"{self.survival}: {self.message}"


@dataclass(frozen=True, slots=True)
class Roles:
    """Buffers are not used as their roles say.

    Attributes:
        written: inputs that are.
        unwritten: outputs that are not.
    """

    written: frozenset[str]
    unwritten: frozenset[str]

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

    def __str__(self) -> str:
        return f"{', '.join(sorted(self.names))} differ from run to run"


@dataclass(frozen=True, slots=True)
class Blind:
    """Nothing shows in the outputs: a variant that does nothing is as right."""

    def __str__(self) -> str:
        return "its outputs are the same if it does nothing"


@dataclass(frozen=True, slots=True)
class Unjudged:
    """No buffer is an output, as far as the source tells."""

    def __str__(self) -> str:
        return "nothing that it writes could be looked at"


@dataclass(frozen=True, slots=True)
class Refused:
    """What cannot be mended here: the source does not compile, the target cannot be read."""

    error: UserError

    def __str__(self) -> str:
        return self.error.what


@dataclass(frozen=True, slots=True)
class Idle:
    """Parameters do not do what parameters must.

    Attributes:
        names: which; all there are, if that cannot be told.
    """

    names: frozenset[str]

    def __str__(self) -> str:
        return f"{', '.join(sorted(self.names))}: no parameter of this target"


Trouble = Impossible | Beside | Slow | Died | Roles | Varying | Blind | Unjudged | Refused | Idle
