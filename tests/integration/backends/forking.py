"""A process that forks on demand; the children do what their connection tells."""

from __future__ import annotations

import os
import signal
import socket
import sys
from multiprocessing.connection import Connection

from gi_cuda.backends.workers.preloaded import fork_on_demand


def load(part: str) -> None:
    if part == "endless":
        signal.pause()
    if part == "missing":
        sys.exit(5)


def become(descriptor: int, above: int) -> None:
    line = Connection(socket.socket(fileno=descriptor).detach())
    print("it says something", flush=True)
    line.send((os.getppid(), os.environ.get("GI_CUDA_TEST_SAID"), os.getcwd()))
    if (asked := line.recv()) == "outlive nobody":
        os.read(above, 1)
        line.send("nobody is there")
    else:
        os._exit(asked)


if __name__ == "__main__":
    fork_on_demand(int(sys.argv[1]), load)
