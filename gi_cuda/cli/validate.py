"""``gi-cuda validate``: does the winner hold, on inputs it never saw and under sanitizers?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gi_cuda.cli.common import AsFound, IndividualNumber, RunPath, check_choice, console
from gi_cuda.errors import UserError

if TYPE_CHECKING:
    from gi_cuda.analyze.winner import Winner
    from gi_cuda.execute.sanitize import Sanitizer
    from gi_cuda.run import Run

SANITIZERS = ("installed", "required", "none")


def command(
    run: RunPath,
    individual: IndividualNumber = None,
    best: Annotated[int, typer.Option(min=1, help="Try so many of the best individuals.")] = 5,
    as_found: AsFound = False,
    sanitizers: Annotated[
        str,
        typer.Option(
            help="installed: let those watch that are there; required: all of them; none."
        ),
    ] = "installed",
) -> None:
    """Measure the best individuals on the held-out cases, without loop guards, beside a copy of the
    reference, and run the first that holds under sanitizers. It becomes the run's winner."""
    from gi_cuda.analyze.acceptance import accept, entries, remember
    from gi_cuda.report.acceptance import print_acceptance
    from gi_cuda.run import open_run

    check_choice("--sanitizers", sanitizers, SANITIZERS)
    with open_run(run) as opened:
        winners = _winners(opened, individual, best, as_found=as_found)
        tools, unwatched = _sanitizers(opened, sanitizers)
        with console.status("validating on the held-out cases"):
            result = accept(opened, entries(winners), tools)
        remember(opened, result)
    print_acceptance(console, result, unwatched)
    if result.accepted is None:
        raise typer.Exit(1)


def _winners(run: Run, individual: int | None, best: int, *, as_found: bool) -> list[Winner]:
    """Whom the validation is about, in the order in which they are tried."""
    from gi_cuda.analyze.winner import find_winner

    store, subject, folder = run.store, run.subject, run.folder
    if individual is not None:
        return [find_winner(store, subject, folder, individual, as_found=as_found)]
    idents = [one.ident for one, _ in store.best(best)]
    if not idents:
        raise UserError(
            "the run has no individual that is faster than the reference",
            where=str(folder),
            hint=f"search further: gi-cuda resume {folder}",
        )
    both = [
        find_winner(store, subject, folder, ident, as_found=form)
        for ident in idents
        for form in ((True,) if as_found else (False, True))
    ]
    return list({(one.ident, one.genotype): one for one in both}.values())


def _sanitizers(run: Run, wanted: str) -> tuple[list[Sanitizer], str]:
    """The sanitizers that are to watch, and why there are none."""
    from gi_cuda.execute.sanitize import sanitizers

    if wanted == "none":
        return [], "not asked for"
    try:
        return sanitizers(run.tools.compiler), ""
    except UserError as error:
        if wanted == "required":
            raise
        return [], error.what
