"""The interface of back ends: their description, and a back end that was opened for use."""

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
    """Numbers of worker processes.

    Attributes:
        crew: processes that measure.
        extra: additional processes for requests that must be measured alone.
        reserve: additional processes that wait to replace others that die.
        alike: requests in a row that a worker for one kind of request answers.
    """

    crew: int
    extra: int = 0
    reserve: int = 0
    alike: int = 1


class OpenBackend(Protocol):
    """A back end that is ready for use on this machine."""

    @property
    def devices(self) -> Sequence[DeviceId]:
        """Devices that variants run on: at least one, and all of one kind."""

    @property
    def architecture(self) -> str:
        """Architecture that code is compiled for; "" if the compiler chooses it."""

    @property
    def left_out(self) -> Sequence[str]:
        """Descriptions of devices that cannot be used together with these, with the reason."""

    @property
    def depth(self) -> int:
        """Requests that are sent to a worker before it has answered the first."""

    @property
    def together(self) -> int:
        """The most variants that share the reference's launches."""

    @property
    def slack(self) -> float:
        """Multiple of the reference's time after which a variant counts as hung.

        A variant that takes three times as long is useless, but the clock may be disturbed.
        """

    @property
    def death(self) -> float:
        """Seconds for which a worker's death keeps other workers from the device."""

    def processes(self, workers: int) -> Processes:
        """Return the numbers of a device's worker processes.

        Args:
            workers: measurements at a time.
        """

    def workers(self, asked: int, cores: int) -> int:
        """Return the number of measurements at a time.

        Args:
            asked: the user's choice; 0 leaves it to the back end.
            cores: number of processors.

        Raises:
            UserError: the back end cannot measure so many at a time.
        """

    def compiler(self, subject: Subject, jobs: int) -> Compiler:
        """Return the compiler for a subject.

        Args:
            jobs: compiler processes at a time.
        """

    def device(self) -> str:
        """Return the name of the device that variants run on."""

    def bandwidth(self) -> float | None:
        """Return the bytes per second that a device reads and writes while it copies memory.

        Returns:
            None if that is not known.
        """

    def versions(self) -> dict[str, str]:
        """Return the versions of this tool and of everything that a measurement depends on."""


WatchedCommand: TypeAlias = Callable[[Sequence[str], Path], tuple[list[str], Mapping[str, str]]]
"""Function from a program's command line and the path of a log to the command line that runs the
program under a sanitizer, and additions to its environment."""


class LogForm(StrEnum):
    """The format of a sanitizer's log."""

    COMPILED_IN = "compiled in"
    FROM_OUTSIDE = "from outside"
    RACES = "races"


def as_it_is(log: str) -> str:
    """Return a log unchanged."""
    return log


@dataclass(frozen=True, slots=True)
class Sanitizer:
    """A tool that checks the memory accesses of a program.

    Attributes:
        name: name in tables.
        compiler: compiler of the programs that it checks.
        form: format of its log. ``COMPILED_IN``: a C++ compiler's sanitizer, which is part of the
            programs. ``FROM_OUTSIDE``: a tool that runs the programs. ``RACES``: the host runtime's
            detector of races.
        command: how the tool is started; None if it is part of the programs.
        legible: makes its log readable without the program, e.g. resolves names.
        shared_alone: whether it checks shared memory only.
    """

    name: str
    compiler: Compiler
    form: LogForm
    command: WatchedCommand | None
    legible: Callable[[str], str] = as_it_is
    shared_alone: bool = False


@dataclass(frozen=True, slots=True)
class Examined:
    """The result of looking for something that a back end uses.

    Attributes:
        what: its name.
        found: version and place; None if it is missing.
        hint: if it is missing: why, or what it is good for, and what to do.
        optional: whether the back end works without it.
    """

    what: str
    found: str | None
    hint: str = ""
    optional: bool = False


def examined(what: str, look: Callable[[], str]) -> Examined:
    """Look for something that a back end uses. Errors become part of the result."""
    try:
        return Examined(what, look())
    except UserError as error:
        return Examined(what, None, f"{error.what}; {error.hint}")
    except (OSError, subprocess.SubprocessError) as error:
        return Examined(what, None, f"it is there but fails: {error}")


@dataclass(frozen=True, slots=True)
class Backend:
    """The description of a back end. Its code is loaded when one of the functions is called.

    Attributes:
        gpu: whether variants run on a GPU.
        compiled_levels: members of :data:`gi_cuda.grammar.LEVELS` that it runs besides sources.
        open: makes it ready for use, on the devices with the given numbers. Numbers that do not
            exist are ignored; if none exists, all devices are used. Raises a :class:`UserError`
            that names what is missing.
        compiler: makes a compiler from a subject, a number of processes at a time and an
            architecture, for callers that execute nothing. Architecture "" means that of the
            devices here, or a usual one. Raises a :class:`UserError` if there is no compiler.
        device_maker: returns a function that makes workers' devices. It loads all code that is
            needed and touches no device. Raises a :class:`UserError` if something is not installed.
        sanitizers: returns the sanitizers for programs of a compiler, except race detectors. Raises
            a :class:`UserError` if they are not installed.
        races: returns the race detector for programs of a compiler. Raises a :class:`UserError` if
            it is not installed.
        examine: looks for everything that the back end uses.
        gpus: returns the names of the GPUs here that it could run on, even if other things are
            missing.
        idle_types: types of rules (:class:`gi_cuda.grammar.RuleType`) that make nothing faster on
            this back end. A search is not offered them.
        isolation: describes what keeps kernels of untrusted authors from files and other processes;
            "" if nothing does, or no isolation is needed.
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
    """Return the versions of this tool, of Python and of ``others``."""
    return {"gi-cuda": gi_cuda.__version__, "python": sys.version.split()[0], **others}
