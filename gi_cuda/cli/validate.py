"""``gi-cuda validate``: does the winner hold, on inputs it never saw and under sanitizers?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gi_cuda.cli.common import (
    AsFound,
    Force,
    IndividualNumber,
    RunPath,
    check_choice,
    check_new,
    console,
    working,
    write_new,
)
from gi_cuda.errors import UserError

if TYPE_CHECKING:
    from gi_cuda.analyze.winner import ChosenIndividual
    from gi_cuda.backends.sanitize import Sanitizer
    from gi_cuda.runs.run import Run

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
    genotype: Annotated[
        str | None, typer.Option(help="This genotype instead of the run's own individuals.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the measurements to a file, for another machine.")
    ] = None,
    others: Annotated[
        list[Path] | None,
        typer.Option("--with", help="Show them beside those exported on another machine."),
    ] = None,
    force: Force = False,
) -> None:
    """Measure the best individuals on the held-out cases, without loop guards, beside a copy of the
    reference, and run the first that holds under sanitizers. It becomes the run's winner."""
    from gi_cuda.analyze.validate import portability
    from gi_cuda.analyze.validate.acceptance import Entry, accept, entries, remember
    from gi_cuda.report.tables import print_table
    from gi_cuda.report.validate import portability_table, print_acceptance
    from gi_cuda.runs.run import open_run

    check_choice("--sanitizers", sanitizers, SANITIZERS)
    if export is not None:
        check_new(export, force=force)
    elsewhere = {path: portability.read(path) for path in others or ()}
    with open_run(run) as opened:
        if genotype is not None:
            given = opened.subject.read(genotype)
            candidates = [Entry("the given genotype", None, given)]
        else:
            candidates = entries(_winners(opened, individual, best, as_found=as_found))
        for path, there in elsewhere.items():  # before anybody waits for measurements in vain
            texts = [str(one.genotype) for one in candidates]
            portability.check_same(there, opened.store.get("target_hash"), texts, path)
        tools, unwatched = _sanitizers(opened, sanitizers)
        with working("validating on the held-out cases"):
            result = accept(opened, candidates, tools)
        remember(opened, result)
        chosen = result.accepted or result.tried[0]
        here = portability.measured(opened.store, opened.subject, result, chosen)
    print_acceptance(console, result, unwatched)
    for path, there in elsewhere.items():
        portability.check_same(there, here.target_hash, [here.genotype], path)
    if elsewhere:
        print_table(console, portability_table([here, *elsewhere.values()]))
    if export is not None:
        write_new(export, portability.write(here), force=force)
        console.print(f"wrote {export}", highlight=False, soft_wrap=True, markup=False)
    if result.accepted is None:
        raise typer.Exit(1)


def _winners(
    run: Run, individual: int | None, best: int, *, as_found: bool
) -> list[ChosenIndividual]:
    """Whom the validation is about, in the order in which they are tried."""
    from gi_cuda.analyze.winner import choose_individual, how_to_go_on

    store, subject, folder = run.store, run.subject, run.folder
    if individual is not None:
        return [choose_individual(store, subject, folder, individual, as_found=as_found)]
    idents = [one.ident for one, _ in store.best(best)]
    if not idents:
        raise UserError(
            "the run has no individual that is faster than the reference",
            where=str(folder),
            hint=f"search further: {how_to_go_on(store, folder)}",
        )
    both = [
        choose_individual(store, subject, folder, ident, as_found=form)
        for ident in idents
        for form in ((True,) if as_found else (False, True))
    ]
    different: dict[object, ChosenIndividual] = {}
    for one in both:
        different.setdefault((one.ident, one.genotype), one)
    return list(different.values())


def _sanitizers(run: Run, wanted: str) -> tuple[list[Sanitizer], str]:
    """The sanitizers that are to watch, and why there are none."""
    from gi_cuda.backends.sanitize import sanitizers

    if wanted == "none":
        return [], "not asked for"
    try:
        return sanitizers(run.tools.compiler), ""
    except UserError as error:
        if wanted == "required":
            raise
        return [], error.what
