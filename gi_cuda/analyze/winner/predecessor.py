"""From a run to the start of another one: its winner."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.analyze.winner.chosen import choose_individual
from gi_cuda.analyze.winner.selection import stored_winner
from gi_cuda.errors import UserError
from gi_cuda.runs.run import open_store
from gi_cuda.runs.stored import stored_subject
from gi_cuda.spec import load_target
from gi_cuda.subject.start import Start


def predecessor(folder: Path, target: Path) -> Start:
    """The winner of a run as what another one on the same target starts from; its minimized form
    where there is one.

    Args:
        folder: the run's.
        target: the target's folder or its ``target.toml``.

    Raises:
        UserError: there is no such run, it has no winner, its target is another one or has
            changed, or it evolves PTX.
    """
    with open_store(folder) as store:
        if store.get("level", "source") != "source":
            raise UserError(
                "this run evolves PTX itself, and only source can be started from",
                where=str(folder),
                hint=f"go on with it: gi-cuda resume {folder} --generations N",
            )
        own = stored_subject(store, folder)
        if own.target.file.resolve() != load_target(target).file.resolve():
            raise UserError(
                f"the run is of another target: {own.target.folder}",
                where=str(folder),
                hint=f"gi-cuda evolve {own.target.folder} starts from it",
            )
        if stored_winner(store) is None:
            raise UserError(
                "the run has no validated winner to start from",
                where=str(folder),
                hint=f"search further (gi-cuda resume {folder}), or leave --from out",
            )
        winner = choose_individual(store, own, folder, None, as_found=False)
    files = tuple(map(str, own.grammar_files))
    return Start(f"{winner} of {folder}", str(winner.genotype), own.edits, files)
