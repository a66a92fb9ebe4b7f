"""Where a run's results come from, in words: device, versions, cases, how to find them again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from gi_cuda.runs.run import Run
from gi_cuda.spec import CaseRole, cases_for
from gi_cuda.subject.diffs import path_in_repository
from gi_cuda.upstream.mail import Provenance
from gi_cuda.upstream.steps import author


def origin(run: Run, folder: Path, sender: str | None) -> Provenance:
    """The origin of a patch from a run.

    Args:
        folder: the run's, as the user names it.
        sender: name and address; None: who commits in the source's repository.
    """
    target = run.subject.target
    backend = run.tools.backend  # the patched file was measured here and now
    versions = backend.versions()
    held_out = cases_for(target, run.subject.backend, CaseRole.HELD_OUT)
    cases = (
        f"{case.name}: " + ", ".join(f"{name} = {value}" for name, value in case.args.items())
        for case in held_out
    )
    return Provenance(
        target.source.name,
        f"{target.name} ({target.description})" if target.description else target.name,
        run.subject.backend,
        backend.device(),
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        tuple(cases),
        tuple(_commands(run, folder)),
        sender or author(target.source),
        datetime.now().astimezone(),
    )


def _commands(run: Run, folder: Path) -> list[str]:
    plan = run.plan
    target = Path(path_in_repository(run.subject.target.file)).parent
    edits = run.subject.edits
    words = [f"gi-cuda evolve {target} --run {folder} --seed {plan.seed}"]
    words.append(f"--preset {plan.preset} --edits {edits} --backend {run.subject.backend}")
    settings = plan.settings
    words.append(f"--population {settings.population} --generations {settings.generations}")
    search = " \\\n    ".join(words)
    return [search, f"gi-cuda minimize {folder}", f"gi-cuda validate {folder}"]
