"""Check that kernels are right in every order of their threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gi_cuda.backends.protocol.schedules import Schedule, Schedules, excused
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import SanitizerFinding
from gi_cuda.spec import Target

_MISSING = "a barrier, a fence or an atomic function is missing there"
_DOUBT = (
    "do its threads race, or wait for each other? If only the last digits differ, an oracle of the"
    " kind sigma or tolerance allows for that"
)


def one_order(
    target: Target, schedules: Schedules | None, races: Sequence[SanitizerFinding]
) -> Iterator[Finding]:
    """Yield a finding for each kernel whose outputs in the reference are wrong under a schedule.

    Args:
        schedules: usable schedules of the reference; None if the device chooses the order.
        races: data races of the reference.
    """
    if schedules is None:
        return
    for kernel, names in excused(schedules, target.kernels).items():
        orders = ", ".join(Schedule(name).words for name in names)
        race = next((str(one) for one in races if one.kernel == kernel), "")
        yield Finding(
            str(target.file),
            f"kernel {kernel} gives wrong answers, or does not end, {orders}. Its variants are not"
            " tested in these orders",
            f"its threads race: {race}: {_MISSING}" if race else _DOUBT,
        )
