"""``gi-cuda patch``: a run's winner as a unified diff that a maintainer can apply."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.analyze.champion import stored_champion
from gi_cuda.cli.common import Force, RunPath, check_new, console, write_new
from gi_cuda.errors import UserError
from gi_cuda.run import Run, open_run


def command(
    run: RunPath,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the patch; by default stdout.")
    ] = None,
    individual: Annotated[
        int | None, typer.Option(help="Patch for this individual instead of the winner.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the winner as a patch of the original file, after building and verifying just that
    file: no loop guards, changed configuration values as the source's own defaults."""
    if output is not None:
        check_new(output, force=force)
    with open_run(run) as opened:
        text, said = _patch(opened, _chosen(opened, individual))
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_new(output, text, force=force)
        console.print(f"{said}\nwrote {output}", highlight=False, soft_wrap=True)


def _chosen(run: Run, individual: int | None) -> int:
    if individual is not None:
        if run.store.individual(individual) is None:
            raise UserError(f"the run has no individual {individual}", where="--individual")
        return individual
    champion = stored_champion(run.store)
    if champion is None:
        raise UserError(
            "the run has no validated winner",
            where=str(run.folder),
            hint=f"search further (gi-cuda resume {run.folder}), or name an --individual",
        )
    return champion.ident


def _patch(run: Run, ident: int) -> tuple[str, str]:
    one = run.store.individual(ident)
    assert one is not None
    genotype = run.subject.read(one.genotype)
    diff = run.subject.diff(genotype)
    if not diff:
        raise UserError(
            f"individual {ident} changes nothing in the source",
            where=str(run.folder),
            hint="its compiler options or launch parameters are all there is to it:"
            f" {one.genotype}",
        )
    (validation,) = run.validate([run.patched(genotype)])
    if not validation.correct:
        raise UserError(
            f"the patched file fails on the held-out cases: {validation.message}",
            where=f"individual {ident}",
            hint="choose another with --individual (gi-cuda show lists the best)",
        )
    return diff, f"individual {ident}, patched file: speed-up {validation.overall}"
