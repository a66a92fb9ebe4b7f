"""The state of one worker process: its connection and its tasks."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Generic

from gi_cuda.backends.workers.fork_server import Exit
from gi_cuda.backends.workers.tasks import Key, Task


@dataclass(slots=True, eq=False)
class WorkerProcess(Generic[Key]):
    """A worker process.

    Attributes:
        sent: tasks that it was sent and has not answered, the oldest first; it works on the first.
        deadline: time when it is killed over that task or, once it is ending, given up.
        used: counter value of its last use, of a counter of all workers' uses; 0: never used.
        alike: number of requests that it got, all of one kind that wants workers of its own; the
            limit if it got another request.
        alone: whether it works on a request that needs a worker for itself.
        exit: how it ended, as soon as the fork server has reported this.
        again: a task that is sent to it a second time, since memory was lacking.
    """

    pid: int
    connection: Connection
    sent: deque[Task[Key]] = field(default_factory=deque)
    deadline: float = 0.0
    used: int = 0
    alike: int = 0
    alone: bool = False
    exit: Exit | None = None
    again: Task[Key] | None = None

    @property
    def busy(self) -> bool:
        return bool(self.sent) and not self.connection.closed

    @property
    def ending(self) -> bool:
        """Tell whether it is ending over a task, and the fork server has not reported how."""
        return bool(self.sent) and self.connection.closed

    @property
    def fresh(self) -> bool:
        return not self.used
