"""Parts of the referee: verdicts on speed, checks, certificates, originals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.analyze.judge.certificate import restore
from gi_cuda.analyze.judge.checks import COMPILES, NAMES, made, not_made
from gi_cuda.analyze.judge.errors import _error
from gi_cuda.analyze.judge.records import Outcome, Reason
from gi_cuda.analyze.rewrites.originals import find_original
from gi_cuda.analyze.rewrites.tree import Tree, read_rewrite
from gi_cuda.errors import UserError
from gi_cuda.results.measurement import Sample
from gi_cuda.results.status import EXIT_STATUS, Status
from gi_cuda.results.verdict import Verdict, bar_of, verdict_of_rewrite
from gi_cuda.spec.oracles.tolerance import Tolerance


def builds(ratio: float, scatter: float, number: int = 24) -> list[list[Sample]]:
    """Times of a rewrite in so many processes, spread evenly about a ratio."""
    spread = np.linspace(-scatter, scatter, number)
    return [[Sample("case", ratio * (1 + one), 1.0)] * 3 for one in spread]


@pytest.mark.parametrize(
    ("ratio", "scatter", "verdict"),
    [
        (0.9, 0.01, Verdict.FASTER),
        (1.1, 0.01, Verdict.SLOWER),
        (1.0, 0.01, Verdict.SAME),
        (0.99, 0.005, Verdict.SAME),
        (0.98, 0.01, Verdict.UNCERTAIN),
        (1.0, 0.2, Verdict.UNCERTAIN),
    ],
)
def test_a_verdict_needs_its_whole_interval(ratio: float, scatter: float, verdict: Verdict) -> None:
    assert verdict_of_rewrite(builds(ratio, scatter), 0.02) is verdict


@pytest.mark.parametrize(("scatter", "bar"), [(0.01, 0.02), (0.05, 0.05), (0.15, 0.2), (0.9, None)])
def test_the_bar_is_as_high_as_a_copy_needs(scatter: float, bar: float | None) -> None:
    assert bar_of(builds(1.0, scatter)) == bar


def test_each_verdict_has_an_exit_status_and_no_error_shares_that_of_a_mistake() -> None:
    assert EXIT_STATUS.keys() == set(Status)
    assert 2 not in EXIT_STATUS.values()


def test_every_check_is_told_whether_it_was_made_or_not() -> None:
    after = [one.name for one in not_made(COMPILES, "it failed before")]
    assert after == list(NAMES[2:])
    found = list(made([Reason("race", "two threads write")], {"other-data": "no seeds"}, ["n = 1"]))
    outcomes = {one.name: one.outcome for one in found}
    assert outcomes["races between threads"] is Outcome.FAILED
    assert outcomes["other random data"] is Outcome.SKIPPED
    assert outcomes["other sizes"] is Outcome.PASSED
    assert next(one.said for one in found if one.name == "other sizes") == "n = 1"


def test_an_error_is_told_beside_what_is_allowed() -> None:
    got, want = np.array([1.0, 2.002], np.float32), np.array([1.0, 2.0], np.float32)
    error = _error("out", "train", got, want, Tolerance(absolute=0.004, relative=0.0))
    assert error.largest == pytest.approx(0.002, rel=1e-3)
    assert error.of_tolerance == pytest.approx(0.5, rel=1e-3)
    assert _error("out", "train", want, want, None).largest == 0


@pytest.mark.parametrize("path", ["relative.cu", "/a/../../etc/passwd"])
def test_a_certificate_writes_in_its_folder_alone(tmp_path: Path, path: str) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps({"format": 1, "files": {path: "x"}}))
    with pytest.raises(UserError) as raised:
        restore(file, tmp_path / "restored")
    assert "no certificate" in raised.value.what
    assert not (tmp_path / "restored").exists()


KERNEL = "__global__ void k(float *out) { out[threadIdx.x] = 1; }\n"


def test_the_file_of_a_folder_is_the_one_that_the_rewrite_changes(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        for name in ("a.cu", "b.cu"):
            (folder / name).write_text(KERNEL)
    (new / "b.cu").write_text(KERNEL.replace("1;", "2;"))
    assert find_original(old, new, None).source == old / "b.cu"
    (new / "a.cu").write_text(KERNEL.replace("1;", "3;"))
    with pytest.raises(UserError) as raised:
        find_original(old, new, None)
    assert "several files" in raised.value.what


def test_a_rewrite_that_is_not_there_is_told_before_a_target_is_made(tmp_path: Path) -> None:
    (tmp_path / "old.cu").write_text(KERNEL)
    with pytest.raises(UserError) as raised:
        find_original(tmp_path / "old.cu", tmp_path / "new.cu", None)
    assert raised.value.what == "there is no file"


def test_what_a_commit_changes_beside_sources_makes_no_difference(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("a\n")
    hunk = "@@ -1 +1 @@\n-a\n+b\n"
    diff = tmp_path / "p.diff"
    diff.write_text("".join(f"--- a/{name}\n+++ b/{name}\n{hunk}" for name in ("k.cu", "x.py")))
    tree = Tree.of(tmp_path / "k.cu")
    assert read_rewrite(diff, tree).changes == {"k.cu": "b\n"}
    diff.write_text(f"--- a/x.py\n+++ b/x.py\n{hunk}")
    assert read_rewrite(diff, tree).changes == {}
