"""Descriptions of changes of source."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.analyze.explain.explanation import Explanation, describe
from gi_cuda.analyze.minimizing.minimization import KeptChange
from gi_cuda.genome import EDIT_KINDS, Edit
from gi_cuda.report.results.explain import facts
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.subject import Subject, load_subject

SOURCE = """
__global__ void bare(int *a, int *b, int n) {
    for (int i = 0; i < n; i++) a[i] += b[i];
}
__global__ void __launch_bounds__(256) told(int *__restrict__ a, int *b, int n) {
    #pragma unroll 4
    for (int i = 0; i < n; i++) a[i] += b[i];
}
"""
TARGET = """
[target]
name = "two"
source = "two.cu"
kernels = ["bare", "told"]
data = "data.py"
[[buffer]]
name = "a"
type = "int32"
size = "n"
role = "inout"
[[buffer]]
name = "b"
type = "int32"
size = "n"
role = "input"
[[scalar]]
name = "n"
type = "int32"
[[launch]]
kernel = "bare"
grid = ["1"]
block = ["1"]
args = ["a", "b", "n"]
[[launch]]
kernel = "told"
grid = ["1"]
block = ["1"]
args = ["a", "b", "n"]
[oracle]
kind = "exact"
[[case]]
name = "train"
role = "train"
args = { n = 9 }
[[case]]
name = "held-out"
role = "held-out"
args = { n = 8 }
"""


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    folder = tmp_path_factory.mktemp("two")
    (folder / "two.cu").write_text(SOURCE)
    (folder / "target.toml").write_text(TARGET)
    (folder / "data.py").write_text("def case(n):\n    return {}\n")
    return load_subject(Path(folder), "host", edits="numbers")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("<pragma_two.cu_3><pragma_K9>", "adds #pragma unroll 9 before a loop"),
        ("<pragma_two.cu_6><pragma_K9>", "replaces the unrolling of a loop by #pragma unroll 9"),
        ("<pragma_two.cu_6>", "deletes the unrolling of a loop on line 6"),
        (
            "<optrestrict_two.cu_2><optrestrict_K>",
            "adds __restrict__ to the pointers of bare",
        ),
        (
            "<optrestrict_two.cu_5><optrestrict_K>",
            "adds __restrict__ to the pointers of told",
        ),
        (
            "<launchbounds_two.cu_2><launchbounds_K64>",
            "adds __launch_bounds__(64) to bare",
        ),
        (
            "<launchbounds_two.cu_5><launchbounds_K64>",
            "replaces the __launch_bounds__ of a kernel by __launch_bounds__(64)",
        ),
        ("<num_two.cu_5><num_K512>", "replaces 256 by 512"),
        ("<num_two.cu_7><num_K1>", "replaces 0 by 1"),
    ],
)
def test_what_was_not_there_is_added(subject: Subject, edit: str, said: str) -> None:
    (change,) = subject.read(edit).edits
    assert describe(subject, change) == said


@pytest.mark.parametrize("kind", EDIT_KINDS)
def test_every_kind_of_edit_is_described(subject: Subject, kind: type[Edit]) -> None:
    place, donor = "_two.cu_3", "_two.cu_7"
    if kind.operator is None:
        said = describe(subject, kind(place))
    else:
        said = describe(subject, kind(place, donor))
        assert "a copy of line 7" in said
    assert said.endswith("line 3") or "the statement on line 3" in said


def test_an_insertion_says_both_lines(subject: Subject) -> None:
    (change,) = subject.read("<_two.cu_3>+<_two.cu_7>").edits
    assert describe(subject, change) == "inserts a copy of line 7 before line 3"


@pytest.mark.parametrize(
    ("executed", "true", "said"),
    [
        ((True, True), (False, False), "never true on any case"),
        ((True, False), (False, False), "never true on any case"),
        ((True, True), (False, True), "never true on: train"),
        ((True, True), (True, True), None),
        ((False, False), (False, False), None),
        ((True, True), None, None),
    ],
)
def test_a_condition_that_no_case_tests_is_told_of(
    executed: tuple[bool, bool], true: tuple[bool, bool] | None, said: str | None
) -> None:
    def by_case(values: tuple[bool, bool]) -> dict[str, bool]:
        return dict(zip(("train", "held-out"), values, strict=True))

    one = Explanation(
        1,
        "<IF_k.cu_3>",
        "deletes the condition of an if",
        KeptChange("<IF_k.cu_3>", SpeedUp(1.1, 1.0, 1.2), "", SpeedUp(1.1, 1.0, 1.2), ""),
        None,
        by_case(executed),
        None if true is None else by_case(true),
        {},
        "",
    )
    lines = [line for line in facts(one) if "condition that it changes" in line]
    assert (said is None and lines == []) or (said is not None and said in lines[0])
