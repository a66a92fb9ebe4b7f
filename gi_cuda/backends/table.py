"""Finding back ends by name, in the tool's only table of them."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING

from gi_cuda import AUTO, BACKENDS
from gi_cuda.backends.protocol.backend import Backend, OpenBackend
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.errors import UserError

if TYPE_CHECKING:
    from gi_cuda.subject import Subject


def backend_named(name: str) -> Backend:
    """What stands for a back end: ``BACKEND`` in the module ``backend`` of its folder.

    Args:
        name: one of :data:`gi_cuda.BACKENDS`.
    """
    found: Backend = import_module(f"{__package__}.{name}.backend").BACKEND
    return found


def backends_on_gpus(*, gpu: bool) -> list[str]:
    """The names of those whose variants run on a GPU, or of those whose do not."""
    return [name for name in BACKENDS if backend_named(name).gpu is gpu]


def idle_gpu(used: str) -> tuple[str, str] | None:
    """A back end that would run on a GPU of this machine, and the GPU's name, where the one that is
    used does not; None where there is no GPU."""
    others = [] if backend_named(used).gpu else backends_on_gpus(gpu=True)
    found = ((name, gpu) for name in others for gpu in backend_named(name).gpus())
    return next(found, None)


def resolved(name: str) -> tuple[str, str]:
    """The back end that a name stands for and, where the processor stands in for a GPU that nobody
    ruled out, why no GPU is used.

    Args:
        name: one of :data:`gi_cuda.BACKENDS`, or :data:`gi_cuda.AUTO`.
    """
    if name != AUTO:
        return name, ""
    why = ""
    for one in backends_on_gpus(gpu=True):
        try:
            open_backend(one)
        except UserError as error:
            why = error.what
        else:
            return one, ""
    return backends_on_gpus(gpu=False)[0], why


FIRST = (0,)
"""The device that is used where one is enough."""

ALL: tuple[int, ...] = ()
"""All devices that are like the first one."""


def open_backend(name: str, devices: Collection[int] = ALL) -> OpenBackend:
    """Make a back end ready for use.

    Args:
        devices: the numbers of those that are to be used, as far as they are there; all where none
            of them is.

    Raises:
        UserError: what it needs is not there: compilers, a driver, a GPU.
    """
    return backend_named(name).open(devices)


def open_compiler(subject: Subject, jobs: int, architecture: str = "") -> Compiler:
    """The compiler of a subject's back end, where nothing is going to be executed.

    Args:
        architecture: of the devices that it is for, if those are elsewhere.

    Raises:
        UserError: there is none.
    """
    return backend_named(subject.backend).compiler(subject, jobs, architecture)
