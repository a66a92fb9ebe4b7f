"""Output of ``gi-cuda check``: the baseline, each parameter value by itself, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from gi_cuda.backends.protocol.requests import Compared
from gi_cuda.backends.table import backend_named
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.checks.parameters.values import TriedValue
from gi_cuda.evaluate.reference.baseline import Baseline, Caught
from gi_cuda.report.tables import right, say, table
from gi_cuda.results.near_limit import near_limit


def baseline_table(
    baseline: Baseline,
    caught: Caught,
    compared: Mapping[str, Compared],
    bandwidth: float | None = None,
) -> Table:
    """Return a table of the baseline.

    Args:
        baseline: measurements of the reference.
        caught: result of a variant that was broken on purpose.
        compared: comparison of the reference's answers with known answers, by case.
        bandwidth: bytes per second that the device reads and writes while it copies memory.
    """
    rows = table("baseline", between=3)
    rows.show_header = False
    for case in baseline.penalties:
        one = compared.get(case)
        also = ""
        if one is not None and not one.wrong:
            also = f"; the answers known, {'bit for bit' if one.exact else 'within the oracle'}"
        rows.add_row(f"reference on {case}", f"passes its oracle{also}")
    times = ", ".join(f"{one * 1e3:.3f} ms" for one in baseline.on_each or (baseline.seconds,))
    rows.add_row("reference time", times + (" (a device each)" if baseline.on_each else ""))
    if memory := near_limit(baseline.moved, baseline.seconds, bandwidth):
        rows.add_row("memory", str(memory))
    rows.add_row("copies of it", ", ".join(f"{1 / ratio:.4f}" for ratio in baseline.copies))
    rows.add_row("noise floor", f"{baseline.floor:.2%}")
    rows.add_row("empty patch (A/A)", str(baseline.verdict))
    penalty = "" if caught.penalty is None else f", penalty {caught.penalty:g}"
    rows.add_row("broken on purpose", f"caught{penalty}: {caught.message}")
    rows.add_row("time limit", f"{baseline.limit * 1e3:.0f} ms")
    return rows


def values_table(tried: Sequence[TriedValue], all_values: int) -> Table:
    """Return a table of the results of each parameter value by itself.

    Args:
        tried: results of the values that were tried.
        all_values: number of all values; some may not have been tried.
    """
    title = "each value by itself"
    if len(tried) < all_values:
        title += f" ({len(tried)} of {all_values}, evenly chosen)"
    numbers = right("time / reference's")
    rows = table(title, "parameter", "value", "answers", *numbers, between=3)
    last = None
    for one in tried:
        name = one.parameter if one.parameter != last else ""
        last = one.parameter
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        rows.add_row(name, str(one.value), one.outcome, ratio)
    return rows


def where_words(backend: str) -> str:
    """Describe the hardware that kernels run on; the text warns if it is a CPU."""
    chosen = backend_named(backend)
    if not chosen.gpu:
        return f"CPU emulation ({backend} back end): these times say nothing about a GPU"
    return f"on a GPU ({backend} back end): {'; '.join(chosen.gpus())}"


def print_warnings(console: Console, findings: Iterable[Finding]) -> None:
    """Print one warning for each finding."""
    for finding in findings:
        say(console, f"warning: {finding}")
