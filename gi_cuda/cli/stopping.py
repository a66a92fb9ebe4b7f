"""Handling of Ctrl-C, SIGTERM and SIGHUP, which end a command within seconds in any case.

Each signal raises :class:`KeyboardInterrupt` in the main thread, unless a command handles it
itself. A watching thread makes sure that this has an effect. Python handles a signal only when the
main thread runs Python code again. A signal just before a blocking call would be handled only after
that call, and the main thread may be blocked in the GPU driver forever.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread, main_thread
from types import FrameType

from gi_cuda.backends.process_registry import end_all

STATUS = 130
"""Exit status of an interrupted command."""

AT_ONCE = 3.0
"""Seconds for a command to end cleanly after the first signal; then it gets a second signal."""

AT_LAST = 7.0
"""Seconds after the first signal until the process is ended in any case."""

_ENDING = 2.0
"""Seconds for the remaining child processes to end."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NUDGE = signal.SIGURG
"""Signal that only interrupts a blocking call of the main thread, so that it handles signals."""

_NUDGED = 0.25
"""Seconds between two of these signals."""


def heeded() -> list[signal.Signals]:
    """Return the signals that end a command here.

    Signals that are ignored already stay ignored, as set by `nohup` or by a shell for background
    jobs.
    """
    return [one for one in _SIGNALS if signal.getsignal(one) != signal.SIG_IGN]


def interrupt(number: int = 0, frame: FrameType | None = None) -> None:
    """Handle a signal by raising KeyboardInterrupt."""
    raise KeyboardInterrupt


@contextmanager
def ending_in_time() -> Iterator[None]:
    """Handle signals while a command runs; after that they are ignored."""
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
        with suppress(KeyboardInterrupt):  # of a signal just before they were ignored
            end_all(_ENDING)


def _lost(what: sys.UnraisableHookArgs) -> None:
    """Report an exception in a finalizer, except an interrupt, which is followed by another one."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _watch(told: int, over: Event) -> None:
    """Wait for the first signal, then end the process if it does not end by itself."""
    while os.read(told, 1)[0] not in _SIGNALS:
        pass
    if _nudged(over, AT_ONCE):
        return
    # Send it to the main thread: a signal to another thread does not interrupt a blocking call.
    signal.pthread_kill(_main(), signal.SIGTERM)
    if _nudged(over, AT_LAST - AT_ONCE):
        return
    print("gi-cuda: it does not end by itself, and is ended", file=sys.stderr, flush=True)
    end_all(_ENDING)
    os._exit(STATUS)


def _nudged(over: Event, seconds: float) -> bool:
    """Interrupt blocking calls of the main thread for some seconds; tell whether the command
    ended.
    """
    for _ in range(round(seconds / _NUDGED)):
        if over.wait(_NUDGED):
            return True
        signal.pthread_kill(_main(), _NUDGE)
    return over.is_set()


def _main() -> int:
    ident = main_thread().ident
    assert ident is not None
    return ident
