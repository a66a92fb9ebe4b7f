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

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return "change sizes in [[case]], or expressions in [[launch]], of target.toml"

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class Beside:
    """The kernel goes beyond buffers.

    Attributes:
        seen: by case and buffer.
    """

    seen: Mapping[str, Mapping[str, Beyond]]

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return "give these buffers more `size` or `begin` in target.toml, or other data in data.py"

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
        return "make the sizes in [[case]] of target.toml smaller, or the scalars in data.py"

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
        return "give it other data in data.py, or another [[launch]] in target.toml"

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

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return "change the `role` of these buffers in target.toml"

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

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return 'give them the role "scratch" in target.toml, or kind = "sigma" in [oracle]'

    def __str__(self) -> str:
        return f"{', '.join(sorted(self.names))} differ from run to run"


@dataclass(frozen=True, slots=True)
class Blind:
    """Nothing shows in the outputs: a variant that does nothing is as right."""

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return "give it other data in data.py, or buffers other roles in target.toml"

    def __str__(self) -> str:
        return "its outputs are the same if it does nothing"


@dataclass(frozen=True, slots=True)
class Unjudged:
    """No buffer is an output, as far as the source tells."""

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return 'give a buffer that it writes the role "output" or "inout" in target.toml'

    def __str__(self) -> str:
        return "nothing that it writes could be looked at"


@dataclass(frozen=True, slots=True)
class Refused:
    """What cannot be mended here: the source does not compile, the target cannot be read."""

    error: UserError

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self.error.hint or "mend the source"

    def __str__(self) -> str:
        return self.error.what


@dataclass(frozen=True, slots=True)
class Idle:
    """Parameters do not do what parameters must.

    Attributes:
        names: which; all there are, if that cannot be told.
    """

    names: frozenset[str]

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return "take these parameters out of target.toml"

    def __str__(self) -> str:
        return f"{', '.join(sorted(self.names))}: no parameter of this target"


Trouble = Impossible | Beside | Slow | Died | Roles | Varying | Blind | Unjudged | Refused | Idle
