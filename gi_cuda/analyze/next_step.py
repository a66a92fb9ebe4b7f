"""Suggest the next command for a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

from gi_cuda.analyze.finalists.winner import (
    Minimized,
    how_to_go_on,
    stored_minimized,
    stored_winner,
)
from gi_cuda.analyze.validate.acceptance import Acceptance
from gi_cuda.runs.stored import stored_target
from gi_cuda.store import Store


class NextStep(NamedTuple):
    """A command line, and its purpose in a few words."""

    command: str
    why: str


def next_step(store: Store, folder: Path) -> NextStep:
    """Return the next step for a run: search, minimize, validate, or write a patch."""
    run = shlex.quote(str(folder))
    winner = stored_winner(store)
    if winner is None and store.get("used_up", False):
        target = shlex.quote(str(stored_target(store, folder)))
        return NextStep(f"gi-cuda evolve {target}", "search in another way: this space is used up")
    if winner is None:
        return NextStep(how_to_go_on(store, folder), "search further")
    if winner.validation.provisional:
        return NextStep(f"gi-cuda validate {run}", "look at it more closely")
    if store.load(f"minimized/{winner.ident}", Minimized) is None:
        return NextStep(f"gi-cuda minimize {run}", "leave out what does not pay")
    minimized = stored_minimized(store, winner.ident)
    genotype = minimized.minimization.genotype if minimized else winner.genotype
    acceptance = store.load("acceptance", Acceptance)
    accepted = acceptance.accepted if acceptance else None
    if accepted is None or accepted.genotype != genotype:
        return NextStep(f"gi-cuda validate {run}", "run it under sanitizers as well")
    if (level := store.get("level", "source")) != "source":
        return NextStep(f"gi-cuda patch {run} --format {level} -o faster.{level}", "write it")
    return NextStep(f"gi-cuda patch {run} -o faster.patch", "write what upstream can adopt")
