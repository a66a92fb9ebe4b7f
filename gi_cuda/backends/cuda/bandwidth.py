"""The rate at which a GPU copies its own memory: the peak that times are compared with.

It is measured once for each kind of GPU and driver and cached in the user's cache folder. A process
of its own measures it, since a process with a CUDA context cannot fork workers.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress

from xxhash import xxh3_128_hexdigest

from gi_cuda.backends.compile.caching.cache import cached_text
from gi_cuda.backends.compile.process import run

LIMIT = 30.0
"""Seconds that the measurement may take."""

LARGEST = 2**29
"""The most bytes that are copied: far more than a cache holds."""

RUNS = 20
"""Number of timed copies; the fastest counts. One more copy before them is not timed."""

_KEPT = 16


def copy_bandwidth(kind: str, environment: Mapping[str, str]) -> float | None:
    """Return the bytes per second that a GPU reads and writes while it copies; None if not known.

    Args:
        kind: kind of GPU, with the driver's version.
        environment: environment variables with which a process sees this GPU first.
    """

    def measured() -> str | None:
        done = run([sys.executable, "-m", __name__], limit=LIMIT, environment=environment)
        return done.stdout if done.ok else None

    name = xxh3_128_hexdigest(kind.encode())
    with suppress(ValueError):
        return float(cached_text("bandwidth", name, measured, _KEPT) or "")
    return None


def main() -> None:
    """Print the bandwidth of the first GPU."""
    import pycuda.driver as drv

    drv.init()
    context = drv.Device(0).make_context()
    try:
        size = min(LARGEST, drv.mem_get_info()[0] // 8)
        source, copy = drv.mem_alloc(size), drv.mem_alloc(size)
        begin, end = drv.Event(), drv.Event()
        times = []
        for _ in range(RUNS + 1):
            begin.record()
            drv.memcpy_dtod_async(copy, source, size)
            end.record()
            end.synchronize()
            times.append(end.time_since(begin) * 1e-3)
        print(2 * size / min(times[1:]))
    finally:
        context.pop()


if __name__ == "__main__":
    main()
