"""Memory throughput of a kernel, as a share of the device's copy bandwidth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NearLimit:
    """Throughput of a kernel beside the device's copy bandwidth; ``str`` gives a sentence.

    Attributes:
        moved: bytes of all inputs and outputs together.
        seconds: time that the launches take.
        bandwidth: bytes per second that the device reads and writes while it copies memory.
    """

    moved: int
    seconds: float
    bandwidth: float

    def __str__(self) -> str:
        rate = self.moved / self.seconds
        words = (
            f"{amount(self.moved)}B if each input and output is moved once, {amount(rate)}B/s:"
            f" {rate / self.bandwidth:.0%} of what a copy reaches ({amount(self.bandwidth)}B/s)"
        )
        if rate > self.bandwidth:
            return f"{words}; it does not read all of its inputs, or reads them from caches"
        return words


def near_limit(moved: int, seconds: float, bandwidth: float | None) -> NearLimit | None:
    """Compare a kernel's throughput with the copy bandwidth; None if one of them is unknown."""
    known = moved and bandwidth and seconds > 0
    return NearLimit(moved, seconds, bandwidth) if known and bandwidth else None


def amount(number: float) -> str:
    """Return a number with three digits and a prefix: 4.82 T, 210 M."""
    for prefix in ("", "k", "M", "G"):
        if number < 999.5:
            return f"{number:.3g} {prefix}"
        number /= 1000
    return f"{number:.3g} T"
