"""How near a kernel is to the limit that memory sets: a share of the device's copy bandwidth."""

from __future__ import annotations


def near_limit(moved: int, seconds: float, bandwidth: float | None) -> str:
    """Return in words how near the memory's limit a time is; "" where that is not known.

    Args:
        moved: bytes of the inputs, and of what is written.
        seconds: that the launches take.
        bandwidth: bytes a second that the device reads and writes while it copies memory.
    """
    if not moved or not bandwidth or seconds <= 0:
        return ""
    rate = moved / seconds
    words = (
        f"{amount(moved)}B if each input and output is moved once, {amount(rate)}B/s:"
        f" {rate / bandwidth:.0%} of what a copy reaches ({amount(bandwidth)}B/s)"
    )
    if rate > bandwidth:
        return f"{words}; it does not read all of its inputs, or reads them from caches"
    return words


def amount(number: float) -> str:
    """Return a number with three digits and a prefix: 4.82 T, 210 M."""
    for prefix in ("", "k", "M", "G"):
        if number < 999.5:
            return f"{number:.3g} {prefix}"
        number /= 1000
    return f"{number:.3g} T"
