"""``gi-cuda minimize``: remove the changes of a winner that do not pay."""

from __future__ import annotations

from typing import Annotated

import typer

from gi_cuda.analyze.explain.explanation import sentences
from gi_cuda.analyze.finalists.winner import (
    Minimized,
    choose_individual,
    keep_minimized,
    refuse_wrong,
)
from gi_cuda.analyze.minimizing.minimize import Allowance, Measurers, minimize
from gi_cuda.cli.console import console, print_json, working
from gi_cuda.cli.next_steps import say_next_after
from gi_cuda.cli.options import (
    IndividualNumber,
    Json,
    MovedTarget,
    NoCache,
    RunPath,
    cache_unless,
    follow,
)
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.report.as_json import MinimizedWinner
from gi_cuda.report.results.minimize import print_minimized
from gi_cuda.report.tables import counted, say
from gi_cuda.results.gains import LEAST_GAIN
from gi_cuda.runs.run import open_run
from gi_cuda.spec import CaseRole

ONE_KIND = (
    "warning: the search was for {}; this measures on this machine alone, and what pays on another"
    " kind alone will go"
)


def command(
    run: RunPath,
    target: MovedTarget = None,
    individual: IndividualNumber = None,
    threshold: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="All that goes may cost so much together; certainly no more than the noise floor.",
        ),
    ] = LEAST_GAIN,
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Leave out of the winner every change that does not pay; the commands after this one go on
    with what is left."""
    follow(run, target)
    with open_run(run, cache_unless(no_cache)) as opened:
        subject = opened.subject
        winner = choose_individual(opened.store, subject, run, individual, as_found=True)
        changes = winner.changes(subject)
        if kinds := opened.store.get("kinds", ()):
            say(console, ONE_KIND.format(" and ".join(kinds)))
        with (
            working(f"minimizing {winner}: {counted(len(changes.changes), 'change')}"),
            refuse_wrong(winner, run),
        ):
            # Held-out cases only reject wrong variants, so nothing is timed on them.
            train = opened.measurer(CaseRole.TRAIN)
            held_out = opened.measurer(CaseRole.HELD_OUT, builds=1, pairs=1)
            allowance = Allowance(threshold, opened.baseline.floor)
            with opened.confirming() as confirm:
                measurers = Measurers(
                    train, held_out, confirm.judge(), train.beside, confirm.beside
                )
                result = minimize(changes, measurers, allowance)
            both = [winner.genotype, subject.read(result.genotype)]
            before, validation = opened.validate([candidate(subject, one) for one in both])
        minimized = Minimized(result, validation, before, confirm.words)
        keep_minimized(opened.store, winner.ident, minimized)
        beside, told = opened.beside, sentences(subject, both[1])
    print_minimized(console, str(winner), minimized, told, beside=beside)
    if json:
        print_json(MinimizedWinner(winner.ident, beside, minimized))
    say_next_after(run)
