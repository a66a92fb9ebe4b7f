"""``gi-cuda check``: the baseline before any search."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from gi_cuda.baseline import Baseline, Caught, establish, try_broken
from gi_cuda.cli.common import (
    Backend,
    Bnf,
    Jobs,
    Level,
    Scope,
    TargetPath,
    check_backend,
    console,
    cores,
)
from gi_cuda.errors import UserError
from gi_cuda.execute.model import Verdict
from gi_cuda.levels import load_evolvable
from gi_cuda.run import open_tools

NOISIEST = 0.2
"""A noise floor above this makes any search pointless."""


def command(
    target: TargetPath,
    backend: Backend = "host",
    bnf: Bnf = None,
    scope: Scope = None,
    level: Level = "source",
    jobs: Jobs = 0,
) -> None:
    """Prove that the unmodified kernel passes, that a copy of it measures as the same, and that a
    variant broken on purpose is caught; print the noise floor."""
    subject = load_evolvable(target, check_backend(backend), level, bnf=bnf, scope=scope)
    with (
        tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch,
        open_tools(subject, Path(scratch), workers=1, jobs=jobs or cores()) as tools,
    ):
        baseline = establish(
            subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference
        )
        caught = try_broken(subject, tools.compiler, tools.pool, tools.scratch("broken"), baseline)
    console.print(table(baseline, caught))
    if baseline.floor > NOISIEST or baseline.verdict in (Verdict.FASTER, Verdict.SLOWER):
        raise UserError(
            f"a copy of the reference measures as {baseline.verdict}, with a noise floor of"
            f" {baseline.floor:.1%}: this machine is too noisy to evolve on",
            where=str(subject.target.file),
            hint="stop other work on it, or make the cases larger so that launches take longer",
        )
    console.print(f"{subject.target.name}: ready to evolve", highlight=False)


def table(baseline: Baseline, caught: Caught) -> Table:
    """The baseline's findings."""
    rows = Table(
        title="baseline", title_justify="left", pad_edge=False, show_header=False, box=SIMPLE_HEAD
    )
    for case in baseline.penalties:
        rows.add_row(f"reference on {case}", "passes its oracle")
    rows.add_row("reference time", f"{baseline.seconds * 1e3:.3f} ms")
    rows.add_row("copies of it", ", ".join(f"{1 / ratio:.4f}" for ratio in baseline.copies))
    rows.add_row("noise floor", f"{baseline.floor:.2%}")
    rows.add_row("empty patch (A/A)", str(baseline.verdict))
    penalty = "" if caught.penalty is None else f", penalty {caught.penalty:g}"
    rows.add_row("broken on purpose", f"caught{penalty}: {caught.message}")
    rows.add_row("time limit", f"{baseline.limit * 1e3:.0f} ms")
    return rows
