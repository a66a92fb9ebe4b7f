"""Find back ends by name. This is the only table of them."""

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
    """Return the description of a back end: ``BACKEND`` in the module ``backend`` of its folder.

    Args:
        name: one of :data:`gi_cuda.BACKENDS`.
    """
    found: Backend = import_module(f"{__package__}.{name}.backend").BACKEND
    return found


def backends_on_gpus(*, gpu: bool) -> list[str]:
    """Return the names of the back ends whose variants run on a GPU, or on no GPU."""
    return [name for name in BACKENDS if backend_named(name).gpu is gpu]


def idle_gpu(used: str) -> tuple[str, str] | None:
    """Return a back end and the name of a GPU that it could use, if the back end in use has no GPU.

    Returns:
        None if the back end in use runs on a GPU, or there is no GPU.
    """
    others = [] if backend_named(used).gpu else backends_on_gpus(gpu=True)
    found = ((name, gpu) for name in others for gpu in backend_named(name).gpus())
    return next(found, None)


def resolved(name: str) -> tuple[str, str]:
    """Return the name of a back end and, if ``auto`` fell back to the CPU, why no GPU is used.

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
"""Device numbers for work that needs one device."""

ALL: tuple[int, ...] = ()
"""Device numbers that stand for all devices of the first one's kind."""


def open_backend(name: str, devices: Collection[int] = ALL) -> OpenBackend:
    """Make a back end ready for use.

    Args:
        devices: numbers of the devices to use. Numbers that do not exist are ignored; if none
            exists, all devices are used.

    Raises:
        UserError: compilers, a driver or a GPU are missing.
    """
    return backend_named(name).open(devices)


def open_compiler(subject: Subject, jobs: int, architecture: str = "") -> Compiler:
    """Return the compiler of a subject's back end, for callers that execute nothing.

    Args:
        jobs: compiler processes at a time.
        architecture: the devices' architecture, if they are in another machine.

    Raises:
        UserError: there is no compiler.
    """
    return backend_named(subject.backend).compiler(subject, jobs, architecture)
