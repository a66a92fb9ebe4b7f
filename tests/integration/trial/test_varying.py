"""Scalars that differ between cases, so that no variant takes them for constants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gi_cuda.init import files
from gi_cuda.spec import load_case, load_target
from gi_cuda.trial import Attempts, Outcome
from gi_cuda.trial.mending.varying import with_varied_scalars
from gi_cuda.trial.troubles import Unjudged

from .conftest import INDEX, host

KERNEL = (
    "__global__ void k(float *a, float *b, float scale, float rows, int shift, int n) {"
    f"{INDEX} if (i < n) {{ float s = 0; for (int j = 0; j < 40; j++) s = s * 0.5f + a[i];"
    " b[i] = scale * s + rows + (float)(1 << shift); } }\n"
)


def values(outcome: Outcome, folder: Path) -> list[dict[str, float]]:
    """The scalars of all cases on the host."""
    folder.mkdir()
    for name, text in files(outcome.proposal, folder).items():
        (folder / name).write_text(text)
    target = load_target(folder)
    cases = [load_case(target, one) for one in target.cases if "host" in one.backends]
    return [{name: float(value) for name, value in case.scalars.items()} for case in cases]


def test_scalars_differ_unless_they_may_count_something(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    launch = "k<<<(n + 127) / 128, 128>>>(a, b, 1.0f, 64.0f, atoi(v), n);"
    outcome = trial(KERNEL + host(launch, "n", "n"))
    assert outcome.passes, outcome.trouble
    attempts = Attempts(tmp_path / "attempts" / "varied", 1, None)
    first, second = values(with_varied_scalars(outcome, attempts.attempt), tmp_path / "varied")
    assert first["rows"] == second["rows"] == 64
    assert {first["shift"], second["shift"]} == {2, 3}
    assert first["scale"] != second["scale"]
    assert all(0.75 <= one["scale"] <= 1.25 for one in (first, second))


def test_scalars_stay_where_others_do_not_pass(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(KERNEL + host("k<<<(n + 127) / 128, 128>>>(a, b, 1.0f, 2.5f, s, n);", "n", "n"))
    tried = []

    def attempt(proposal: object, _: float) -> Unjudged:
        tried.append(proposal)
        return Unjudged()

    assert with_varied_scalars(outcome, attempt) == outcome
    assert len(tried) == 2
