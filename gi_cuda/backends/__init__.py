"""Where variants are compiled and run: one folder for each back end, and what all of them share."""

import os

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Environment of commands and workers before they load numpy. The threads that it would start have
nothing to do here and cost a third of the start; and a process that forks should have none."""

_OUR_OWN: set[str] = set()


def set_one_thread() -> None:
    """Set :data:`ONE_THREAD` for this process, where its user has not set it."""
    for name, value in ONE_THREAD.items():
        if name not in os.environ:
            os.environ[name] = value
            _OUR_OWN.add(name)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def users_environment() -> dict[str, str]:
    """The environment without what :func:`set_one_thread` added: what the user's own programs are
    to have."""
    return {name: value for name, value in os.environ.items() if name not in _OUR_OWN}
