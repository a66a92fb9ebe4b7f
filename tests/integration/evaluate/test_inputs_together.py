"""Faults that show only if several inputs, struct members or random numbers change together."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.evaluate.scrutiny.objections import NOTHING_VARIES
from tests.integration.evaluate.rewriting import codes, target_of

MODES = """
// n is a multiple of 4
__global__ void pick(const float *in, float *out, int n, int border, int shift, float slope) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i >= n)
        return;
    int at = i + shift;
    if (border == 1)
        at = at < 0 ? -at : at >= n ? 2 * n - 2 - at : at;
    float value = in[at < 0 ? 0 : at >= n ? n - 1 : at];
    out[i] = value < 0.0f ? slope * value : value;
}
"""

OF_MODES = target_of(
    "pick",
    [("in", "float32", "n", "input"), ("out", "float32", "n", "output")],
    [("n", "int32"), ("border", "int32"), ("shift", "int32"), ("slope", "float32")],
    ("n = 64", "n = 100"),
)

DATA_OF_MODES = """
import numpy as np


def case(seed, n):
    values = np.random.default_rng(seed).random(n, dtype=np.float32)
    return {"in": values, "n": n, "border": 0, "shift": 0, "slope": 0.5}
"""


def test_what_shows_with_two_inputs_changed_at_once(tmp_path: Path) -> None:
    """Without a shift no border matters, and without negative numbers no slope does."""
    mirrored = "        at = at < 0 ? -at : at >= n ? 2 * n - 2 - at : at;\n"
    edits = {
        "no mirror": (f"    if (border == 1)\n{mirrored}", ""),
        "slope of one sign": ("slope * value", "fabsf(slope) * value"),
        "outside the stated domain": (
            "    int at = i",
            "    if (n == 37)\n        return;\n    int at = i",
        ),
        "a switch": ("    if (border == 1)\n", "    switch (border) case 1:\n"),
    }
    found, _ = codes(tmp_path, MODES, OF_MODES, DATA_OF_MODES, edits)
    for name in ("no mirror", "slope of one sign"):
        assert "other-input incorrect" in found[name], name
    for name in ("outside the stated domain", "a switch"):
        assert found[name] == set(), name


PRICE = """
struct Option { float spot, rate, dividend; int kind; };
__global__ void price(const Option *options, float *out, int n) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i >= n)
        return;
    Option o = options[i];
    float growth = expf(o.rate - o.dividend);
    out[i] = o.kind == 1 ? o.spot * growth : o.spot / growth;
}
"""

OF_PRICE = target_of(
    "price",
    [("options", "uint8", "n * 16", "input"), ("out", "float32", "n", "output")],
    [("n", "int32")],
    ("n = 64", "n = 100"),
)

DATA_OF_PRICE = """
import numpy as np


def case(seed, n):
    rng = np.random.default_rng(seed)
    names = ("spot", "rate", "dividend")
    found = np.zeros(n, np.dtype([*((name, "f4") for name in names), ("kind", "i4")]))
    found["spot"], found["rate"] = rng.random((2, n))
    found["kind"] = rng.integers(0, 2, n)
    return {"options": found.view(np.uint8), "n": n}
"""


def test_a_member_that_is_zero_in_all_structs_is_no_constant(tmp_path: Path) -> None:
    edits = {
        "no dividend": ("o.rate - o.dividend", "o.rate"),
        "a product": (
            "o.kind == 1 ? o.spot * growth : o.spot / growth",
            "o.spot * (o.kind == 1 ? growth : 1.0f / growth)",
        ),
    }
    found, _ = codes(tmp_path, PRICE, OF_PRICE, DATA_OF_PRICE, edits)
    assert "other-input incorrect" in found["no dividend"]
    assert found["a product"] == set()


LEVELS = """
__global__ void level(const int *in, int *out) {
    int i = threadIdx.x;
    out[i] = in[i] + i;
}
"""

OF_LEVELS = target_of(
    "level",
    [("in", "int32", "64", "input"), ("out", "int32", "64", "output")],
    [],
    ("", ""),
    ("1", "64"),
    'kind = "exact"',
)

DATA_OF_LEVELS = """
import numpy as np


def case(seed):
    return {"in": np.full(64, seed, np.int32)}
"""


def test_what_is_right_on_the_numbers_of_a_few_seeds_by_chance(tmp_path: Path) -> None:
    edits = {"by chance": ("in[i] + i", "in[i] > 2 ? 0 : in[i] + i"), "as it is": ()}
    found, _ = codes(tmp_path, LEVELS, OF_LEVELS, DATA_OF_LEVELS, edits)
    assert "other-data incorrect" in found["by chance"]
    assert found["as it is"] == set()


def test_where_nothing_changes_the_answers_nothing_is_certified(tmp_path: Path) -> None:
    always = LEVELS.replace("in[i] + i", "7")
    found, _ = codes(tmp_path, always, OF_LEVELS, DATA_OF_LEVELS, {"as it is": ()})
    assert found["as it is"] == {f"{NOTHING_VARIES} unverified"}
