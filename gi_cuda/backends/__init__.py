"""Compile and run variants. Each subpackage is a back end or code that all back ends share."""

import os

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Environment variables that commands and workers set before they load numpy.

numpy would start BLAS threads otherwise. They are never used, cost a third of the start-up time,
and a process that forks should have one thread only.
"""

_OUR_OWN: set[str] = set()


def set_one_thread() -> None:
    """Set :data:`ONE_THREAD` in this process's environment, except what the user has set."""
    for name, value in ONE_THREAD.items():
        if name not in os.environ:
            os.environ[name] = value
            _OUR_OWN.add(name)


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def users_environment() -> dict[str, str]:
    """Return the environment without the variables that :func:`set_one_thread` added.

    The user's own programs are started with this environment.
    """
    return {name: value for name, value in os.environ.items() if name not in _OUR_OWN}
