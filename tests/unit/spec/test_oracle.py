"""Oracles catch every planted fault, and accept right answers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.oracles import (
    Exact,
    Oracle,
    OutputCheck,
    Python,
    Reference,
    Sigma,
    Tolerance,
)

Outputs = dict[str, NDArray[Any]]

N = 1000
POISON = 0xAB
NAN_AT, INF_AT, NEGATIVE_AT = 17, 18, 19


def right(noise: float = 0.0, seed: int = 0) -> Outputs:
    """Return the answers of a run of the reference: reals of both signs, and integers."""
    values = np.linspace(-50, 50, N, dtype=np.float32) * np.float32(1.3)
    values[NAN_AT], values[INF_AT] = np.nan, np.inf
    values += np.float32(noise) * np.random.default_rng(seed).standard_normal(N, dtype=np.float32)
    return {"real": values, "whole": np.arange(N, dtype=np.int64) * 7919 - 3_000_000}


PENALTY = """\
import numpy as np


def penalty(case, outputs, reference):
    wrong = 0
    for name, want in reference.items():
        got = outputs[name]
        same = (got == want) | (np.isnan(got.astype(float)) & np.isnan(want.astype(float)))
        wrong += int((~same).sum())
    return wrong
"""

SIGMA_RUNS = [right(0.01, seed) for seed in range(10)]


def checks(folder: Path) -> dict[str, tuple[Oracle, Reference]]:
    file = folder / "oracle.py"
    file.write_text(PENALTY)
    made: dict[str, tuple[OutputCheck, list[Outputs]]] = {
        "exact": (Exact(), [right()]),
        "tolerance": (Tolerance(absolute=1e-4, relative=1e-4), [right()]),
        "sigma": (Sigma(k=4.0), SIGMA_RUNS),
        "python": (Python(f"{file}:penalty"), [right()]),
    }
    return {
        kind: (Oracle((check,)), Oracle((check,)).reference(runs))
        for kind, (check, runs) in made.items()
    }


@pytest.fixture(params=["exact", "tolerance", "sigma", "python"])
def judged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Oracle, Reference]:
    return checks(tmp_path)[request.param]


def stale(outputs: Outputs) -> None:
    outputs["real"][:] = np.linspace(-40, 60, N, dtype=np.float32)


def poison_left(outputs: Outputs) -> None:
    outputs["real"].view(np.uint8)[-4:] = POISON


def whole_poison_left(outputs: Outputs) -> None:
    outputs["whole"].view(np.uint8)[-8:] = POISON


def missing_writes(outputs: Outputs) -> None:
    outputs["real"].view(np.uint32)[::32] = 0xABABABAB


def nothing_written(outputs: Outputs) -> None:
    for array in outputs.values():
        array.view(np.uint8)[:] = POISON


def shifted(outputs: Outputs) -> None:
    outputs["whole"][1:] = outputs["whole"][:-1].copy()


def swapped(outputs: Outputs) -> None:
    outputs["whole"][[3, 4]] = outputs["whole"][[4, 3]]


def put(name: str, index: int, value: float) -> Callable[[Outputs], None]:
    def fault(outputs: Outputs) -> None:
        outputs[name][index] = value

    return fault


def change(name: str, index: int, by: float) -> Callable[[Outputs], None]:
    def fault(outputs: Outputs) -> None:
        outputs[name][index] += outputs[name].dtype.type(by)

    return fault


def scale(name: str, index: int, factor: float) -> Callable[[Outputs], None]:
    def fault(outputs: Outputs) -> None:
        outputs[name][index] = outputs[name].dtype.type(float(outputs[name][index]) * factor)

    return fault


def flip(name: str, index: int, bit: int) -> Callable[[Outputs], None]:
    def fault(outputs: Outputs) -> None:
        bits = outputs[name].view(f"u{outputs[name].dtype.itemsize}")
        bits[index] ^= bits.dtype.type(1 << bit)

    return fault


FAULTS: dict[str, Callable[[Outputs], None]] = {
    "one value a little wrong": change("real", 500, 0.5),
    "first value wrong": change("real", 0, 1.0),
    "last value wrong": change("real", N - 1, -1.0),
    "negative value, too great": scale("real", NEGATIVE_AT, 0.99),
    "negative value, too small": scale("real", NEGATIVE_AT, 1.01),
    "wrong sign of a negative value": scale("real", NEGATIVE_AT, -1.0),
    "wrong sign of a whole number": scale("whole", 5, -1.0),
    "NaN for a number": put("real", 3, math.nan),
    "number for NaN": put("real", NAN_AT, 0.0),
    "infinity for NaN": put("real", NAN_AT, math.inf),
    "NaN for infinity": put("real", INF_AT, math.nan),
    "infinity for a number": put("real", 3, math.inf),
    "number for infinity": put("real", INF_AT, 3.4e38),
    "negative infinity": put("real", INF_AT, -math.inf),
    "zero": put("real", 3, 0.0),
    "stale output": stale,
    "poison left at the boundary": poison_left,
    "poison left in whole numbers": whole_poison_left,
    "every 32nd write missing": missing_writes,
    "nothing written": nothing_written,
    "off by one": shifted,
    "two values swapped": swapped,
    "one atomic addition too many": change("whole", 700, 7919),
    "bit of the exponent": flip("real", 250, 24),
    "highest bit": flip("whole", 700, 63),
    "low bit of a whole number's upper half": flip("whole", 0, 32),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault: str, judged: tuple[Oracle, Reference]) -> None:
    oracle, reference = judged
    outputs = right()
    FAULTS[fault](outputs)
    verdict = oracle.judge({}, outputs, reference)
    assert verdict.penalty > 0
    assert not verdict.acceptable
    assert verdict.reason


def test_what_is_right_passes(judged: tuple[Oracle, Reference]) -> None:
    oracle, reference = judged
    assert oracle.judge({}, right(), reference).penalty == 0
    assert oracle.penalty({}, {k: v.copy() for k, v in reference.outputs.items()}, reference) == 0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda outputs: outputs.pop("real"), "real is missing"),
        (lambda outputs: outputs.update(real=outputs["real"][:-1]), "expected float32"),
        (lambda outputs: outputs.update(whole=outputs["whole"].astype(np.int32)), "int32"),
    ],
)
def test_outputs_of_another_shape(
    fault: Callable[[Outputs], Any], reason: str, judged: tuple[Oracle, Reference]
) -> None:
    oracle, reference = judged
    outputs = right()
    fault(outputs)
    verdict = oracle.judge({}, outputs, reference)
    assert verdict.penalty == math.inf
    assert reason in verdict.reason


@pytest.mark.parametrize("check", [Exact(), Tolerance(1e-3, 1e-3), Sigma(k=3, absolute=1e-3)])
def test_one_value_in_a_million(check: OutputCheck) -> None:
    values = np.random.default_rng(1).standard_normal(1_000_000, dtype=np.float32)
    oracle = Oracle((check,))
    reference = oracle.reference([{"x": values}] * oracle.runs)
    for index in (0, 31_415, 999_999):
        wrong = values.copy()
        wrong[index] += np.float32(0.1)
        verdict = oracle.judge({}, {"x": wrong}, reference)
        assert verdict.penalty == 1
        assert verdict.reason.startswith(f"x[{index}] is {wrong[index]}, expected ")
        assert verdict.reason.endswith("(1 of 1000000 values wrong)")


def test_exact_tells_negative_zero_and_not_one_nan_from_another() -> None:
    oracle = Oracle((Exact(),))
    nan, other = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    reference = oracle.reference([{"x": np.array([0.0, nan], np.float32)}])
    assert oracle.penalty({}, {"x": np.array([0.0, other], np.float32)}, reference) == 0
    assert oracle.penalty({}, {"x": np.array([-0.0, nan], np.float32)}, reference) == 1


def test_checks_for_some_buffers_add_up() -> None:
    oracle = Oracle((Exact(("whole",)), Tolerance(1.0, 0.0, ("real",))))
    reference = oracle.reference([right()])
    outputs = right()
    outputs["real"] += np.float32(0.5)
    assert oracle.penalty({}, outputs, reference) == 0
    outputs["real"][0] += 3
    outputs["whole"][:2] += 1
    assert oracle.penalty({}, outputs, reference) == 3


def test_sigma_takes_what_some_reference_run_had() -> None:
    runs = [{"x": np.array([value, 5.0], np.float32)} for value in (1.0, np.nan, 1.2, np.inf)]
    oracle = Oracle((Sigma(k=3, runs=4),))
    reference = oracle.reference(runs)
    for value, penalty in ((1.1, 0), (np.nan, 0), (np.inf, 0), (-np.inf, 1), (9.0, 1)):
        assert oracle.penalty({}, {"x": np.array([value, 5.0], np.float32)}, reference) == penalty
    assert oracle.penalty({}, {"x": np.array([1.1, np.nan], np.float32)}, reference) == 1


def test_sigma_lets_a_share_lie_outside_but_no_nan() -> None:
    oracle = Oracle((Sigma(k=3, outside=0.002),))
    reference = oracle.reference([{"x": run["real"]} for run in SIGMA_RUNS])
    outputs = right()
    outputs["real"][[5, 6]] += 1
    assert oracle.penalty({}, {"x": outputs["real"]}, reference) == 0
    outputs["real"][7] += 1
    assert oracle.penalty({}, {"x": outputs["real"]}, reference) == 3
    outputs = right()
    outputs["real"][5] = np.nan
    assert oracle.penalty({}, {"x": outputs["real"]}, reference) == 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("by", [0.9, -0.9, 1.1, -1.1])
def test_tolerance_is_the_same_for_both_signs(sign: int, by: float) -> None:
    oracle = Oracle((Tolerance(0.5, 0.25),))
    reference = oracle.reference([{"x": np.array([sign * 2.0])}])
    got = np.array([sign * 2.0 + by])
    assert oracle.penalty({}, {"x": got}, reference) == (0 if abs(by) < 1 else 1)


def test_a_share_of_values_may_be_further_off_than_the_tolerance() -> None:
    """But not as far as another tolerance says, and nothing may be infinite."""
    oracle = Oracle((Tolerance(0.5, outside=0.1), Tolerance(5.0)))
    reference = oracle.reference([{"x": np.zeros(20)}])
    assert oracle.rules({"x": NumberType("float64")}) is None

    def penalty(*off: float) -> float:
        got = np.zeros(20)
        got[: len(off)] = off
        return oracle.penalty({}, {"x": got}, reference)

    assert penalty(2.0, -4.0) == 0
    assert penalty(2.0, -4.0, 1.0) == 3
    assert penalty(2.0, -6.0) == 1
    assert penalty(math.inf) > 0


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64, np.float32, np.float64])
def test_sigma_has_two_sides(dtype: type[np.generic]) -> None:
    runs = [{"x": np.array([value], dtype)} for value in (100, 104, 102, 98)]
    oracle = Oracle((Sigma(k=2, runs=4, absolute=1.0),))
    reference = oracle.reference(runs)  # mean 101, deviation 2.58, so 101 ± 6.16
    got = {value: np.array([value], dtype) for value in (94, 95, 101, 107, 108)}
    penalties = {v: oracle.penalty({}, {"x": array}, reference) for v, array in got.items()}
    assert penalties == {94: 1, 95: 0, 101: 0, 107: 0, 108: 1}
    assert "expected 101 ± 6.16" in oracle.judge({}, {"x": got[94]}, reference).reason


def test_sigma_judges_the_first_reference_run_as_any_other_value() -> None:
    oracle = Oracle((Sigma(k=0.5, runs=4),))
    reference = oracle.reference([{"x": np.array([value])} for value in (100, 104, 104, 104)])
    assert oracle.penalty({}, {"x": np.array([100])}, reference) == 1
    assert oracle.penalty({}, {"x": np.array([103])}, reference) == 0


def test_large_integers_keep_their_low_digits() -> None:
    big = np.array([2**63 - 1, -(2**63), 2**62 + 1], np.int64)
    for check in (Tolerance(0.5, 0.0), Sigma(runs=2)):
        oracle = Oracle((check,))
        reference = oracle.reference([{"x": big}] * 2)
        assert oracle.penalty({}, {"x": big}, reference) == 0
        assert oracle.penalty({}, {"x": big ^ 1}, reference) == 3
        assert oracle.penalty({}, {"x": ~big}, reference) == 3


def test_too_few_reference_runs() -> None:
    with pytest.raises(ValueError, match="10 reference runs are needed, not 1"):
        Oracle((Sigma(),)).reference([right()])


RETURNS = {
    "a reason": ("return 2.5, 'no match found'", 2.5, "no match found"),
    "no reason": ("return 2.5", 2.5, "oracle.py:penalty gives 2.5"),
    "true": ("return np.bool_(True)", math.inf, "returned True; it returns the penalty"),
    "false": ("return False", math.inf, "returned False; it returns the penalty"),
    "nothing": ("return None", math.inf, "returned None, not a number"),
    "NaN": ("return float('nan')", math.inf, "returned nan"),
    "less than none": ("return -1", math.inf, "returned -1.0"),
    "failure": ("return [][0]", math.inf, "oracle.py:5: IndexError"),
    "a write to the reference": ("reference['real'][0] = 1", math.inf, "read-only"),
    "a write to the inputs": ("case['in'][0] = 1", math.inf, "read-only"),
    "the case": ("return float(case['in'][0])", 4.0, ""),
    "an error of ours": ("import gi_cuda.errors as e; raise e.UserError('no')", math.inf, "no"),
    "a novel": ("return 1, 'x\\n' * 10**6 + '\\udce9\\x1b[31m'", 1.0, "x x ... (2000006 char"),
}


@pytest.mark.parametrize("name", RETURNS)
def test_what_a_python_check_returns(name: str, tmp_path: Path) -> None:
    body, penalty, reason = RETURNS[name]
    file = tmp_path / "oracle.py"
    file.write_text(f"import numpy as np\n\n\ndef penalty(case, outputs, reference):\n    {body}\n")
    oracle = Oracle((Python(f"{file}:penalty"),))
    case = {"in": np.array([4.0])}
    verdict = oracle.judge(case, right(), oracle.reference([right()]))
    assert verdict.penalty == penalty
    assert reason in verdict.reason


@pytest.mark.parametrize("at", [0, N - 1])
def test_nan_is_wrong_under_every_oracle(at: int, tmp_path: Path) -> None:
    """Even one that takes whatever it gets, and one that does not look at that buffer."""
    file = tmp_path / "oracle.py"
    file.write_text("def penalty(case, outputs, reference):\n    return 0\n")
    for check in (Python(f"{file}:penalty"), Exact(("whole",))):
        oracle = Oracle((check,))
        reference = oracle.reference([right()])
        outputs = right()
        assert oracle.penalty({}, outputs, reference) == 0
        outputs["real"][at] = np.nan
        verdict = oracle.judge({}, outputs, reference)
        assert verdict.penalty == 1
        assert f"real[{at}] is nan, expected " in verdict.reason


def test_nan_is_right_where_some_run_of_the_reference_has_one(tmp_path: Path) -> None:
    file = tmp_path / "oracle.py"
    file.write_text("def penalty(case, outputs, reference):\n    return 0\n")
    oracle = Oracle((Python(f"{file}:penalty", runs=2),))
    runs = [{"x": np.array(values, np.float32)} for values in ([1, 2, np.nan], [1, np.nan, 3])]
    reference = oracle.reference(runs)
    for values, penalty in (([1, np.nan, np.nan], 0), ([np.nan, 2, 3], 1)):
        assert oracle.penalty({}, {"x": np.array(values, np.float32)}, reference) == penalty


def test_a_python_check_with_several_runs(tmp_path: Path) -> None:
    file = tmp_path / "oracle.py"
    file.write_text(
        "def penalty(case, outputs, reference):\n"
        "    totals = reference['whole'].sum(axis=1)\n"
        "    return abs(float(outputs['whole'].sum() - totals.mean()))\n"
    )
    oracle = Oracle((Python(f"{file}:penalty", runs=3), Exact(("whole",))))
    reference = oracle.reference([right()] * 3)
    assert reference.prepared[0]["whole"].shape == (3, N)
    assert oracle.penalty({}, right(), reference) == 0


def test_an_oracle_can_be_sent_to_another_process(tmp_path: Path) -> None:
    for oracle, reference in checks(tmp_path).values():
        copy, data = pickle.loads(pickle.dumps((oracle, reference)))
        assert copy == oracle
        assert copy.penalty({}, right(), data) == 0


def test_of_a_wider_oracle_only_tolerances_are_wider() -> None:
    checks = Exact(("whole",)), Tolerance(1.0, 0.0, buffers=("real",))
    wider = Oracle(checks).wider(10)
    runs = {"whole": np.array([1]), "real": np.array([1.0])}
    reference = wider.reference([runs])
    for found, right in (((1, 10.5), True), ((1, 11.5), False), ((2, 1.0), False)):
        outputs = {"whole": np.array([found[0]]), "real": np.array([found[1]])}
        assert wider.judge({}, outputs, reference).acceptable == right
