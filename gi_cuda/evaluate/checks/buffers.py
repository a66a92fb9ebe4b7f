"""Check that the reference writes all of its outputs, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gi_cuda.evaluate.checks.finding import Finding, listed
from gi_cuda.spec import Buffer, BufferRole, Target

Counts = Mapping[str, Mapping[str, tuple[int, int]]]
"""Two numbers for each case and buffer: elements that satisfy a condition, and all elements."""

Unwritten = Counts
"""Counts of the elements of outputs that were not written."""

_HARDLY = 0.05
"""Share of changed elements of a buffer below which a finding is reported."""


def written_inputs(target: Target, damaged: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    """Yield a finding for each input that the reference writes.

    Args:
        damaged: buffers that it wrote but must not, by case.
    """
    for buffer in target.buffers:
        cases = [case for case, names in damaged.items() if buffer.name in names]
        if buffer.role is BufferRole.INPUT and cases:
            yield Finding(
                f"{target.file}:{buffer.line}",
                f"buffer {buffer.name} is declared input, but the kernel writes it"
                f" (case {', '.join(cases)})",
                'give it the role "inout", or "output" if the kernel does not read it first',
            )


def never_written(target: Target, unwritten: Unwritten) -> Iterator[Finding]:
    """Yield a finding for each output that the reference does not write on any case."""
    for buffer, counts in _of_outputs(target, unwritten):
        if all(count == size for count, size in counts.values()):
            yield Finding(
                f"{target.file}:{buffer.line}",
                f"no launch of the reference writes anything to the output {buffer.name}",
                "is it the right argument of the launch? What the kernel reads has the role"
                ' "input", what nobody looks at "scratch"; does it write what it took from shared'
                " memory or locals that nothing has set, mend the kernel",
            )


def nowhere_defined(target: Target, undefined: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    """Yield a finding for each buffer in which the reference writes only NaN on all cases.

    Args:
        undefined: buffers in which it writes only NaN, by case.
    """
    for buffer in target.buffers:
        if undefined and all(buffer.name in names for names in undefined.values()):
            yield Finding(
                f"{target.file}:{buffer.line}",
                f"the reference's answers in {buffer.name} are NaN wherever it writes any, so"
                " nothing could be told from them",
                "does it read shared memory, locals or scratch buffers that nothing has set, or one"
                " element too far? Then mend the kernel. Else give it data in data.py for which it"
                ' computes numbers, or, where nobody looks at it, the role "scratch"',
            )


def partly_defined(target: Target, undefined: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    """Yield a finding for each buffer in which the reference writes only NaN on some cases.

    Args:
        undefined: buffers in which it writes only NaN, by case.
    """
    for buffer in target.buffers:
        cases = [case for case, names in undefined.items() if buffer.name in names]
        if cases:
            yield Finding(
                f"{target.file}:{buffer.line}",
                f"the reference's answers in {buffer.name} are NaN wherever it writes any on"
                f" {listed(cases)}, which tells nothing of it",
                "does it read there what nothing has set? Give these cases sizes that the kernel"
                " is made for, or data for which it computes numbers",
            )


def partly_written(target: Target, unwritten: Unwritten) -> Iterator[Finding]:
    """Yield a finding for each output of which the reference leaves a part unwritten."""
    for buffer, shown in _shown(target, unwritten, lambda number, _: number > 0):
        yield Finding(
            f"{target.file}:{buffer.line}",
            f"the reference never writes a part of the output {buffer.name}: {shown}",
            "is the buffer larger than what the kernel fills, or the grid too small? If it is right"
            ' so, all is well; if the values matter, give it the role "inout" with values of yours',
        )


def hardly_changed(target: Target, changed: Counts) -> Iterator[Finding]:
    """Yield a finding for each buffer that the reference hardly changes on some cases."""
    for buffer, shown in _shown(target, changed, lambda number, size: number < _HARDLY * size):
        yield Finding(
            f"{target.file}:{buffer.line}",
            f"the reference changes hardly anything in {buffer.name}: {shown}",
            "do the data let most threads leave at once, or is the launch too small? Give it data"
            " in data.py like the real ones, so that answers depend on what the kernel computes",
        )


def _shown(
    target: Target, counts: Counts, told: Callable[[int, int], bool]
) -> Iterator[tuple[Buffer, str]]:
    """Yield each buffer with cases to report, and a list of these cases in words.

    Args:
        told: tells from the number of elements and the size of the buffer whether to report a case.
    """
    for buffer, of_cases in _of_outputs(target, counts):
        some = [(case, *pair) for case, pair in of_cases.items() if told(*pair)]
        if some:
            yield buffer, "; ".join(f"on {case} {n} of {size} values" for case, n, size in some)


def _of_outputs(
    target: Target, unwritten: Counts
) -> Iterator[tuple[Buffer, dict[str, tuple[int, int]]]]:
    """Yield each poisoned output with its counts by case."""
    for buffer in target.buffers:
        counts = {
            case: (found[buffer.name][0], found[buffer.name][1])
            for case, found in unwritten.items()
            if buffer.name in found
        }
        if counts:
            yield buffer, counts
