"""Checks as functions of facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.workers.answering.recording import still_poison
from gi_cuda.errors import UserError
from gi_cuda.evaluate.checks.buffers import (
    hardly_changed,
    never_written,
    nowhere_defined,
    partly_defined,
    partly_written,
    written_inputs,
)
from gi_cuda.evaluate.checks.finding import Finding, listed, refuse
from gi_cuda.evaluate.checks.inputs import never_varied
from gi_cuda.evaluate.checks.parameters.values import TriedValue, affordable, evenly, wrong_values
from gi_cuda.evaluate.checks.target_files import (
    left_to_confirm,
    left_to_fill_in,
    no_tolerance,
    too_long,
    unsteady,
)
from gi_cuda.spec import Given, given, load_case
from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.oracles.tolerance import Tolerance
from gi_cuda.subject import Subject


def texts(findings: object) -> list[str]:
    return [str(one) for one in findings]  # type: ignore[attr-defined]


def test_findings_are_refused_together() -> None:
    refuse([])
    with pytest.raises(UserError) as caught:
        refuse([Finding("a:1", "bad", "mend it"), Finding("a:2", "worse")])
    assert str(caught.value) == "a:1: bad\n  mend it\na:2: worse"


def test_a_tolerance_of_zero_for_floats(scale: Subject) -> None:
    def told(kind: str, **tolerance: float) -> list[str]:
        check = Tolerance(**tolerance)
        out = [replace(one, type=NumberType(kind)) for one in scale.target.buffers]
        oracle = replace(scale.target.oracle, checks=(check,))
        return texts(no_tolerance(replace(scale.target, buffers=tuple(out), oracle=oracle)))

    (one,) = told("float32")
    assert "the tolerance of out is 0: it rejects any reordering of float operations" in one
    assert told("float32", relative=1e-5) == told("int32") == []


def test_what_is_still_marked_is_listed_with_its_lines() -> None:
    text = '# what it could not know is marked confirm.\n\n"p": 0.5,  # confirm\nrole = "confirm"\n'
    assert list(left_to_confirm({Path("t/target.toml"): text})) == [
        't/target.toml:3: "p": 0.5,  # confirm'
    ]


def test_outputs_that_nobody_writes(scale: Subject) -> None:
    target = scale.target
    line = next(buffer.line for buffer in target.buffers if buffer.name == "out")
    nothing, part = {"out": (50, 50)}, {"out": (20, 50)}
    assert texts(never_written(target, {"train": {"out": (0, 50)}})) == []
    assert texts(never_written(target, {"train": nothing, "held-out": part})) == []
    (one,) = texts(never_written(target, {"train": nothing, "held-out": nothing}))
    assert one.startswith(f"{target.file}:{line}: no launch of the reference writes anything to")
    (one,) = texts(partly_written(target, {"train": part, "held-out": {"out": (0, 40)}}))
    assert "a part of the output out: on train 20 of 50 values\n" in one
    assert texts(partly_written(target, {"train": {"out": (0, 50)}})) == []


def test_buffers_that_hardly_change(scale: Subject) -> None:
    changed = {"train": {"out": (2, 50)}, "held-out": {"out": (3, 50)}}
    (one,) = texts(hardly_changed(scale.target, changed))
    assert "the reference changes hardly anything in out: on train 2 of 50 values\n" in one
    assert texts(hardly_changed(scale.target, {"train": {"out": (50, 50)}})) == []


def test_answers_that_are_nan(scale: Subject) -> None:
    some = {"train": (), "held-out": ("out",)}
    assert texts(nowhere_defined(scale.target, some)) == []
    (one,) = texts(partly_defined(scale.target, some))
    assert "out are NaN wherever it writes any on held-out" in one
    (one,) = texts(nowhere_defined(scale.target, dict.fromkeys(some, ("out",))))
    assert "nothing could be told" in one
    assert texts(partly_defined(scale.target, dict.fromkeys(some, ()))) == []


def test_inputs_that_are_written(scale: Subject) -> None:
    assert texts(written_inputs(scale.target, {"train": ("memory behind in", "out")})) == []
    (one,) = texts(written_inputs(scale.target, {"train": ("in",), "held-out": ()}))
    assert "buffer in is declared input, but the kernel writes it (case train)" in one
    assert '"inout", or "output"' in one


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64"])
def test_poison_that_is_left(dtype: str) -> None:
    array = np.full(64, POISON, np.uint32).view(dtype)
    assert still_poison(array) == array.size
    array = array.copy()
    array[: array.size // 2] = 1
    assert still_poison(array) == array.size // 2
    assert still_poison(np.zeros(7, dtype)) == 0


def test_marks_of_init(tmp_path: Path) -> None:
    head = "# what it could not know is marked FILL IN.\n"
    assert texts(left_to_fill_in({tmp_path: head})) == []
    (one,) = left_to_fill_in({tmp_path: f"{head}\n# FILL IN: the size\nsize = 1   # FILL IN\n"})
    assert (one.where, one.what) == (f"{tmp_path}:3", "FILL IN is left in lines 3, 4")


def test_cases_that_change(scale: Subject) -> None:
    target = scale.target
    here = {case.name: given(load_case(target, case)).hashes for case in target.cases}
    assert texts(unsteady(target, here, here)) == []
    there = {**here, "train": {**here["train"], "in": "other"}}
    (one,) = texts(unsteady(target, here, there))
    assert "case() gives other values from process to process: in (case train)" in one
    assert "default_rng(seed)" in one


def test_what_no_case_varies(scale: Subject) -> None:
    target = scale.target
    layout = np.dtype([("gain", "f4"), ("shift", "i4")])

    def case(n: int, gain: float, shift: int) -> Given:
        small = np.array([(gain, shift), (gain + 1, shift)], layout).view(np.uint8)
        return Given({}, {"n": np.int32(n)}, {"in": small}, {})

    layouts = {"in": layout}
    assert texts(never_varied(target, [case(5, 1.0, 2)], layouts)) == []
    assert texts(never_varied(target, [case(5, 1.0, 2), case(6, 1.0, 3)], layouts)) == []
    scalar, member = texts(never_varied(target, [case(5, 1.0, 2), case(5, 2.0, 2)], layouts))
    assert "scalar n = 5 has one value in all cases" in scalar
    assert "member in.shift has one value in all cases" in member
    (same,) = texts(never_varied(target, [case(5, 1.0, 2), case(6, 1.0, 2)], {}))
    assert "input in has one value in all cases" in same
    zeros = [Given({}, {"n": np.int32(n)}, {}, {"in": np.float32(0)}) for n in (5, 6)]
    (uniform,) = texts(never_varied(target, zeros, {}))
    assert "in holds 0.0 everywhere in all cases" in uniform


def test_long_lists_are_cut_with_a_count() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(n) for n in range(20)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 12 more"


def test_a_long_reference(scale: Subject) -> None:
    assert texts(too_long(scale.target, 0.03)) == []
    (one,) = texts(too_long(scale.target, 0.25))
    assert "the reference takes 250 ms on the train cases" in one


def test_values_that_are_wrong_by_themselves(scale: Subject) -> None:
    parameters = scale.target.parameters
    tried = [
        TriedValue("BLOCK", 32, "wrong", "out[0] is 1"),
        TriedValue("BLOCK", 128, "wrong", "out[1] is 2"),
        TriedValue("REPEAT", 2, "right", ratio=1.0),
        TriedValue("CHECKED", 1, "does not compile", "what is that"),
    ]
    block, checked = texts(wrong_values("t", parameters, tried))
    assert block.startswith(
        f"t:{parameters[0].line}: BLOCK = 32, 128 by itself: wrong answers: out"
    )
    assert "[[constraint]] missing" in block
    assert "CHECKED = 1 by itself: does not compile: what is that" in checked
    harmless = [TriedValue("BLOCK", 32, outcome) for outcome in ("right", "refused", "excluded")]
    assert texts(wrong_values("t", parameters, harmless)) == []


def test_as_many_values_as_there_is_time_for() -> None:
    several = [("A", value) for value in range(100)]
    assert evenly(several, 200) == several
    some = evenly(several, 10)
    assert len(set(some)) == 10
    assert (some[0], some[-1]) == (several[0], several[-1])
    assert affordable(1e-4) == 64
    assert 20 < affordable(0.1) < 30
    assert affordable(60.0) == 8
