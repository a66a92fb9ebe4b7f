"""What a back end is to the others: the row that stands for it, and one that is ready for use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import gi_cuda
from gi_cuda.backends.protocol.device import DeviceMaker
from gi_cuda.backends.protocol.session import DeviceId
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.errors import UserError

if TYPE_CHECKING:
    from gi_cuda.subject import Subject


class Processes(NamedTuple):
    """Worker processes.

    Attributes:
        crew: that measure.
        extra: how many more there may be for what is measured alone.
        reserve: how many more may wait, ready for when others die.
        alike: requests of a kind that one answers which is to answer no others.
    """

    crew: int
    extra: int = 0
    reserve: int = 0
    alike: int = 1


class OpenBackend(Protocol):
    """A back end that is ready for use on this machine."""

    @property
    def devices(self) -> Sequence[DeviceId]:
        """What variants run on: at least one, and all of one kind."""

    @property
    def architecture(self) -> str:
        """What their code is compiled for; "" where the compiler knows."""

    @property
    def left_out(self) -> Sequence[str]:
        """Devices that could be used, but not beside these, and why; in words."""

    @property
    def depth(self) -> int:
        """Requests that a worker is sent ahead."""

    @property
    def together(self) -> int:
        """Most variants that share the reference's launches."""

    @property
    def slack(self) -> float:
        """The multiple of the reference's time that a variant may take before it counts as hung:
        what takes thrice as long is of no use, but the clock may be disturbed."""

    @property
    def death(self) -> float:
        """Seconds for which a worker's death keeps others from the device."""

    def processes(self, workers: int) -> Processes:
        """A device's worker processes for so many measurements at a time."""

    def workers(self, asked: int, cores: int) -> int:
        """Measurements at a time.

        Args:
            asked: what the user wants; 0 leaves it to the back end.
            cores: processors that there are.

        Raises:
            UserError: it cannot measure so many at a time.
        """

    def compiler(self, subject: Subject, jobs: int) -> Compiler:
        """The compiler for a subject, with so many processes at a time."""

    def device(self) -> str:
        """The name of what variants run on."""

    def bandwidth(self) -> float | None:
        """Bytes that a device reads and writes a second while it copies memory; None: not known."""

    def versions(self) -> dict[str, str]:
        """Versions of this tool and of all that a measurement depends on."""


WatchedCommand: TypeAlias = Callable[[Sequence[str], Path], tuple[list[str], Mapping[str, str]]]
"""From a program's command line and the log's path to the command line under which it is watched,
and additions to its environment."""


class LogForm(StrEnum):
    """What a sanitizer's log looks like."""

    COMPILED_IN = "compiled in"
    FROM_OUTSIDE = "from outside"
    RACES = "races"


def as_it_is(log: str) -> str:
    """For logs that need no more to be understood."""
    return log


@dataclass(frozen=True, slots=True)
class Sanitizer:
    """A tool that watches every access of a program.

    Attributes:
        name: for tables.
        compiler: the compiler of the programs that it watches.
        form: of its log: that of a C++ compiler's, which are part of these programs; of one that
            runs them; of the host runtime's detector of races.
        command: how it is started; None where it is part of the programs, and starts with them.
        legible: makes of its log what can be read without the program.
        shared_alone: whether it watches nothing but shared memory.
    """

    name: str
    compiler: Compiler
    form: LogForm
    command: WatchedCommand | None
    legible: Callable[[str], str] = as_it_is
    shared_alone: bool = False


@dataclass(frozen=True, slots=True)
class Examined:
    """What became of looking for one thing that a back end uses.

    Attributes:
        what: its name.
        found: version and place; None where it is missing.
        hint: for what is missing, why it is or what it would be good for, and what to do.
        optional: whether the back end can do without it.
    """

    what: str
    found: str | None
    hint: str = ""
    optional: bool = False


def examined(what: str, look: Callable[[], str]) -> Examined:
    """Look for something; nothing that goes wrong with that is raised."""
    try:
        return Examined(what, look())
    except UserError as error:
        return Examined(what, None, f"{error.what}; {error.hint}")
    except (OSError, subprocess.SubprocessError) as error:
        return Examined(what, None, f"it is there but fails: {error}")


@dataclass(frozen=True, slots=True)
class Backend:
    """All that others need to know of a back end; code is loaded when it is called.

    Attributes:
        gpu: whether variants run on a GPU.
        compiled_levels: those of :data:`gi_cuda.grammar.LEVELS` that it runs besides sources.
        open: makes it ready for use, on the devices of some numbers, as far as they are there; on
            all where none is. Raises a :class:`UserError` that names what is missing.
        compiler: for a subject, with so many processes at a time, where nothing is going to be
            executed; for devices of an architecture, "": of those here, or what is usual. Raises a
            :class:`UserError` where there is none.
        device_maker: what makes workers' devices, with all code that it needs loaded and no device
            touched. Raises a :class:`UserError` where something is not installed.
        sanitizers: those for programs of one of its compilers, but for races. Raises a
            :class:`UserError` where they are not installed.
        races: what finds races in programs of one of its compilers. Raises a :class:`UserError`
            where it is not installed.
        examine: looks for all that it uses.
        gpus: the names of the GPUs here that it could run on, whatever else may be missing.
        idle_types: those of :class:`gi_cuda.grammar.RuleType` by whose rules nothing becomes faster
            there, so that a search is not offered them.
        isolation: says what keeps kernels that somebody else wrote from files and from others; ""
            where nothing does, or nothing has to.
    """

    gpu: bool
    compiled_levels: tuple[str, ...]
    open: Callable[[Collection[int]], OpenBackend]
    compiler: Callable[[Subject, int, str], Compiler]
    device_maker: Callable[[], DeviceMaker]
    sanitizers: Callable[[Compiler], list[Sanitizer]]
    races: Callable[[Compiler], Sanitizer]
    examine: Callable[[], Iterator[Examined]]
    gpus: Callable[[], Sequence[str]] = tuple
    idle_types: tuple[str, ...] = ()
    isolation: Callable[[], str] = str


def versions(**others: str) -> dict[str, str]:
    """Versions of this tool and Python, and what else is known."""
    return {"gi-cuda": gi_cuda.__version__, "python": sys.version.split()[0], **others}
