"""Find the changes of a winner that no case tests."""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.analyze.explain.surviving import surviving
from gi_cuda.evaluate.untested import look_for_untested, untested_changes
from gi_cuda.genome import Change
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import stored_untested


def untested(run: Run, changes: Sequence[Change]) -> dict[str, str]:
    """Return the changes that no case tests, as sentences by notation.

    The result is empty if this cannot be determined. Untested code is determined now if an older
    version of gi-cuda made the run.
    """
    found = stored_untested(run.store)
    if found is None:
        tools = run.tools
        found = look_for_untested(
            run.subject, tools.compiler, tools.pool, tools.scratch("untested"), lambda _: None
        )
    return surviving(run, changes) | untested_changes(found, changes)
