"""The rate at which a GPU copies its own memory: the peak that times are compared with.

Measured once for each kind of GPU and driver, then kept in the user's cache folder. Measured in a
process of its own, since a process with a CUDA context can fork no workers.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress

from xxhash import xxh3_128_hexdigest

from gi_cuda.backends.compile.cache import cached_text
from gi_cuda.backends.compile.process import run

LIMIT = 30.0
"""Seconds that the measurement may take."""

LARGEST = 2**29
"""Bytes that are copied at most: far more than a cache holds."""

RUNS = 20
"""Timed copies; the fastest counts. One more before them is not timed."""

_KEPT = 16


def copy_bandwidth(kind: str, environment: Mapping[str, str]) -> float | None:
    """Return the bytes that a GPU reads and writes a second while it copies; None: not known.

    Args:
        kind: of GPU, with the driver's version.
        environment: variables with which a process sees this GPU first.
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
