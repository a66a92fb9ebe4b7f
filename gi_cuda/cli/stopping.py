"""How a command ends when it is asked to, by Ctrl-C, SIGTERM or SIGHUP: within seconds, come what
may.

Each raises :class:`KeyboardInterrupt` in the main thread, unless a verb asks for something else.
A thread sees to it that this comes to something. Python handles a signal only once the main thread
computes again, so that one that comes just before it begins to wait would be seen when the waiting
ends; and the main thread may be in the driver, which never lets it go.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread, main_thread
from types import FrameType

from gi_cuda.backends.leash import end_all

STATUS = 130
"""Exit status of a command that was asked to end."""

AT_ONCE = 3.0
"""Seconds after the first signal in which a command may end cleanly; then it is told again, as by
somebody impatient."""

AT_LAST = 7.0
"""Seconds after the first signal when the process ends, whatever it is at."""

_ENDING = 2.0
"""Seconds in which processes that are left then have to be gone."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NUDGE = signal.SIGURG
"""Does nothing but end the waiting of the main thread, so that it looks for signals."""

_NUDGED = 0.25
"""Seconds between two of them."""


def heeded() -> list[signal.Signals]:
    """The signals that end a command here; not those that are to be ignored, as `nohup` and a shell
    have it for what they run beside."""
    return [one for one in _SIGNALS if signal.getsignal(one) != signal.SIG_IGN]


def interrupt(number: int = 0, frame: FrameType | None = None) -> None:
    """What a signal does where no verb asks for something else."""
    raise KeyboardInterrupt


@contextmanager
def ending_in_time() -> Iterator[None]:
    """Watch over signals for as long as a command is at work; after that they do nothing."""
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    over = Event()
    for number in heeded():
        signal.signal(number, interrupt)
    signal.signal(_NUDGE, lambda *_: None)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    Thread(target=_watch, args=(told, over), name="signals", daemon=True).start()
    others, sys.unraisablehook = sys.unraisablehook, _lost
    try:
        yield
    finally:
        sys.unraisablehook = others
        over.set()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        with suppress(KeyboardInterrupt):  # one that came just before
            end_all(_ENDING)


def _lost(what: sys.UnraisableHookArgs) -> None:
    """Says that an exception came to nothing, as it was raised in a finalizer; not of an interrupt,
    after which there comes another one."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _watch(told: int, over: Event) -> None:
    """Wait for the first signal, and from then on for the end."""
    while os.read(told, 1)[0] not in _SIGNALS:
        pass
    if _nudged(over, AT_ONCE):
        return
    # To the main thread: another one would not end its waiting.
    signal.pthread_kill(_main(), signal.SIGTERM)
    if _nudged(over, AT_LAST - AT_ONCE):
        return
    print("gi-cuda: it does not end by itself, and is ended", file=sys.stderr, flush=True)
    end_all(_ENDING)
    os._exit(STATUS)


def _nudged(over: Event, seconds: float) -> bool:
    """Have the main thread look for signals for so long; whether the command ended meanwhile."""
    for _ in range(round(seconds / _NUDGED)):
        if over.wait(_NUDGED):
            return True
        signal.pthread_kill(_main(), _NUDGE)
    return over.is_set()


def _main() -> int:
    ident = main_thread().ident
    assert ident is not None
    return ident
