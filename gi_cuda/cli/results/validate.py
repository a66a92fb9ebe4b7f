"""``gi-cuda validate``: check a winner on unseen inputs and under sanitizers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.analyze.explain.untested import untested
from gi_cuda.analyze.finalists.winner import choose_individual, how_to_go_on, stored_winner
from gi_cuda.analyze.validate import portability
from gi_cuda.analyze.validate.acceptance import Acceptance, Entry, TriedCandidate, accept, remember
from gi_cuda.backends.protocol.backend import Sanitizer
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.console import console, print_json, working
from gi_cuda.cli.files import check_new, say_written, write_new
from gi_cuda.cli.next_steps import say_next_after
from gi_cuda.cli.options import (
    MOST,
    AsFound,
    Force,
    InApplication,
    IndividualNumber,
    Json,
    MovedTarget,
    NoCache,
    RunPath,
    cache_unless,
    choice,
    follow,
)
from gi_cuda.cli.results.application import judged_by_application
from gi_cuda.errors import UserError
from gi_cuda.genome import changes_of
from gi_cuda.report.as_json import Validated
from gi_cuda.report.results.validate import portability_table, print_acceptance
from gi_cuda.report.tables import print_table, say, say_whole
from gi_cuda.runs.lock import locked
from gi_cuda.runs.run import Run, open_run
from gi_cuda.runs.stored import open_store
from gi_cuda.subject import Subject
from gi_cuda.upstream import steps
from gi_cuda.upstream.application import check_application

SANITIZERS = ("installed", "required", "none")


def command(  # typer makes an option of each parameter
    run: RunPath,
    target: MovedTarget = None,
    individual: IndividualNumber = None,
    best: Annotated[
        int, typer.Option(min=1, max=MOST, help="Try so many of the best individuals.")
    ] = 5,
    as_found: AsFound = False,
    sanitizers: Annotated[
        str,
        choice(
            "--sanitizers", SANITIZERS, "installed: let those watch that are there; required: all."
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
    application: InApplication = False,
    no_cache: NoCache = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure the best individuals on the held-out cases, without loop guards, beside a copy of the
    reference, and run the first that holds under sanitizers. It becomes the run's winner."""
    follow(run, target)
    if export is not None:
        check_new(export, force=force)
    elsewhere = {path: portability.read(path) for path in others or ()}
    with open_run(run, cache_unless(no_cache)) as opened:
        if application:  # before any time is spent on measurements
            check_application(opened.source.target)
        if genotype is not None:
            candidates = [Entry("the given genotype", None, opened.subject.read(genotype))]
        else:
            candidates = _candidates(opened, individual, best, as_found=as_found)
        for path, there in elsewhere.items():
            texts = [str(one.genotype) for one in candidates]
            portability.check_same(there, opened.store.get("target_hash"), texts, path)
        tools, unwatched = _sanitizers(opened, sanitizers)
        with working("validating on the held-out cases"):
            result = accept(opened, candidates, tools)
        clean = result.clean
        chosen = clean or result.tried[0]
        here = portability.measured(opened.store, opened.subject, result, chosen)
        subject = opened.subject
        doubts = untested(opened, changes_of(subject.read(chosen.genotype)))
        if not (application and clean):
            remember(opened.store, result)
    if application and clean:  # the run is closed, so no worker uses the device
        result = _in_application(run, subject, result, clean)
    accepted = result.accepted
    if json:
        print_json(Validated(accepted.name if accepted else None, result, unwatched))
    print_acceptance(console, result, unwatched)
    for change, why in doubts.items():
        say_whole(console, f"not tested: {change}: {why}")
    outside = steps.elsewhere(subject, subject.read(here.genotype))
    if result.application and outside:
        say(console, f"not part of the source, and needed for this: {'; '.join(outside)}")
    for path, there in elsewhere.items():
        portability.check_same(there, here.target_hash, [here.genotype], path)
    if elsewhere:
        print_table(console, portability_table([here, *elsewhere.values()]))
    if export is not None:
        write_new(export, portability.write(here), force=force)
        say_written([export])
    if accepted is None:
        raise typer.Exit(1)
    say_next_after(run)


def _in_application(
    run: Path, subject: Subject, result: Acceptance, clean: TriedCandidate
) -> Acceptance:
    """Judge an accepted candidate by the application, and store the result."""
    parts = steps.whole_patch(subject, subject.read(clean.genotype))
    result = replace(result, application=judged_by_application(subject, parts))
    with open_store(run) as store, locked(run):
        remember(store, result)
    return result


def _candidates(run: Run, individual: int | None, best: int, *, as_found: bool) -> list[Entry]:
    """Return the individuals to validate, in order.

    The winner comes first, which need not be the best on the train cases; then the best on these.
    """
    forms = (True,) if as_found else (False, True)
    winner = stored_winner(run.store)
    idents = [winner.ident] if winner else []
    idents = list(dict.fromkeys([*idents, *(one.ident for one, _ in run.store.best(best))]))[:best]
    if individual is not None:
        idents, forms = [individual], (as_found,)
    if not idents:
        raise UserError(
            "the run has no individual that is faster than the reference",
            where=str(run.folder),
            hint=f"search further: {how_to_go_on(run.store, run.folder)}",
        )
    different: dict[object, Entry] = {}
    for ident in idents:
        for form in forms:
            one = choose_individual(run.store, run.subject, run.folder, ident, as_found=form)
            different.setdefault((ident, one.genotype), Entry(str(one), ident, one.genotype))
    return list(different.values())


def _sanitizers(run: Run, wanted: str) -> tuple[list[Sanitizer], str]:
    """Return the sanitizers to use; if there are none, also the reason."""
    if wanted == "none":
        return [], "not asked for"
    try:
        return backend_named(run.subject.backend).sanitizers(run.tools.uncached), ""
    except UserError as error:
        if wanted == "required":
            raise
        return [], error.what
