"""Output of ``gi-cuda capture``: an application's kernels, and the captured target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from gi_cuda.capture import Capture, KernelUse
from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.report.tables import right, table, whole


def kernels_table(uses: Sequence[KernelUse]) -> Table:
    """Return a table of an application's kernels, the one that takes most time first."""
    numbers = right("launches", "time ms", "each us", "share")
    rows = table("kernels", *whole("kernel"), *numbers, between=3)
    for one in uses:
        timed = one.seconds > 0
        rows.add_row(
            one.name.shown + (" (clusters of blocks)" if one.clustered else ""),
            str(len(one.launches)),
            f"{one.seconds * 1e3:.3f}" if timed else "?",
            f"{one.seconds / len(one.launches) * 1e6:.1f}" if timed else "?",
            f"{one.share:.1%}" if timed else "?",
        )
    return rows


def captured_lines(found: Capture) -> Iterator[str]:
    """Yield lines about the files that were written and the decisions that were taken."""
    size = sum(len(one) if isinstance(one, str) else one.nbytes for one in found.files.values())
    yield f"wrote {found.folder}: target.toml, data.py, README.md, captured.json, arrays" + (
        f" ({size / 1e6:.1f} MB)"
    )
    proposal = found.proposal
    yield f"kernel {', '.join(step.kernel for step in proposal.steps)} of {proposal.source}"
    yield from found.lines
    for step in proposal.steps:
        grid = " x ".join(map(bracketed, step.launching.grid))
        yield f"  grid {grid}, block {' x '.join(step.launching.block)}"
    for buffer in proposal.buffers:
        yield f"  {buffer.name}: {buffer.role}, {buffer.notes.role}; {buffer.elements} items"
    for name, one in found.tolerances.items():
        off = f"may be off by {one.relative:.0e} of a value or {one.absolute:.0e}"
        if one.outside:
            off += f", a share of {one.outside:.2g} by up to {one.furthest:.0f} times as much"
        exact = "may be in any order" if one.together else "has to be the same, bit for bit"
        yield f"  {name} {exact if one.exact else off}: {one.why}"
