"""Processes for a list of tasks, one at a time on each device."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gi_cuda.cli.stopping import AT_ONCE

Start: TypeAlias = Callable[[int, int], "subprocess.Popen[bytes]"]
"""A function that starts the process of a task on a device, both given by number."""


@dataclass(slots=True)
class SideBySide:
    """A scheduler of tasks on devices.

    Attributes:
        waiting: tasks that have not begun, in order.
        pinned: the device of each task that can run only on one device.
        start: see :data:`Start`; called by one thread at a time.
        ended: called with a task, its device and its exit status.
        fatal: exit statuses after which no other task begins.
    """

    waiting: list[int]
    pinned: Mapping[int, int]
    start: Start
    ended: Callable[[int, int, int], None]
    fatal: Collection[int] = ()
    _running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, devices: Sequence[int]) -> None:
        """Run all tasks. On Ctrl-C, ask the running processes to end, and wait a while for them."""
        pinned = {task: one for task, one in self.pinned.items() if one in devices}
        threads = [
            threading.Thread(target=self._work, args=(one, pinned), daemon=True) for one in devices
        ]
        for one in threads:
            one.start()
        try:
            for one in threads:
                one.join()
        except KeyboardInterrupt:
            with self._lock:  # so that no process is being started
                self.waiting.clear()
                for process in self._running.values():
                    process.send_signal(signal.SIGINT)
            for one in threads:
                one.join(AT_ONCE / 2 / len(threads))
            raise

    def _work(self, device: int, pinned: Mapping[int, int]) -> None:
        """Run tasks on one device until none is left for it."""
        while True:
            with self._lock:
                mine = (one for one in self.waiting if pinned.get(one, device) == device)
                # Tasks that can run only here come first.
                task = min(mine, key=lambda one: one not in pinned, default=None)
                if task is None:
                    return
                self.waiting.remove(task)
                process = self._running[task] = self.start(task, device)
            status = process.wait()
            with self._lock:
                del self._running[task]
                if status in self.fatal:
                    self.waiting.clear()
                self.ended(task, device, status)
