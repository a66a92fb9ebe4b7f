"""Rewrites that are wrong on other inputs only are detected, with the kind of fault.

Rewrites that are right everywhere are not objected to.
"""

from __future__ import annotations

from pathlib import Path

from gi_cuda.evaluate.scrutiny.objections import NOTHING_VARIES, Objection, Ruling
from tests.integration.evaluate.rewriting import codes, target_of

LEVEL = """
// Each row less its largest value, times gain; one block of 32 threads a row.
__global__ void level(const float *in, float *out, int rows, int cols, float gain) {
    __shared__ float part[32];
    int row = blockIdx.x, t = threadIdx.x;
    const float *x = in + row * cols;
    float most = -INFINITY;
    for (int c = t; c < cols; c += 32)
        most = fmaxf(most, x[c]);
    part[t] = most;
    __syncthreads();
    for (int s = 16; s > 0; s /= 2) {
        if (t < s)
            part[t] = fmaxf(part[t], part[t + s]);
        __syncthreads();
    }
    most = part[0];
    for (int c = t; c < cols; c += 32)
        out[row * cols + c] = gain * (x[c] - most);
}
"""

OF_LEVEL = target_of(
    "level",
    [("in", "float32", "rows * cols", "input"), ("out", "float32", "rows * cols", "output")],
    [("rows", "int32"), ("cols", "int32"), ("gain", "float32")],
    ("rows = 16, cols = 64", "rows = 8, cols = 128"),
    ("rows", "32"),
)

DATA_OF_LEVEL = """
import numpy as np


def case(seed, rows, cols):
    values = np.random.default_rng(seed).random(rows * cols, dtype=np.float32)
    return {"in": values, "rows": rows, "cols": cols, "gain": 1.5}
"""

LAST = "        out[row * cols + c] = gain * (x[c] - most);\n"
LOOP = "    for (int c = t; c < cols; c += 32)\n" + LAST
PAIRS = (
    "    for (int c = t; c < cols / 2; c += 32)\n        for (int i = 2 * c; i < 2 * c + 2; i++)\n"
    "            out[row * cols + i] = gain * (x[i] - most);\n"
)
FAULTS_OF_LEVEL = {
    "whole warps alone": (LOOP, LOOP.replace("< cols", "< (cols < 32 ? cols : cols & ~31)")),
    "pairs alone": (
        LOOP,
        PAIRS,
    ),
    "few rows": ("int row = blockIdx.x,", "int row = blockIdx.x & 15,"),
    "few columns": (LOOP, LOOP.replace("c < cols", "c < cols && c < 256")),
    "up to a number that its text has": (LOOP, LOOP.replace("c < cols", "c < min(cols, 50000)")),
}
RIGHT_OF_LEVEL = {
    "as it is": (),
    "joined": (LAST, LAST.replace("gain * (x[c] - most)", "fmaf(gain, x[c], -gain * most)")),
    "pairs with a tail": (
        LOOP,
        PAIRS + "    if (cols % 2 && t == 0)\n"
        "        out[row * cols + cols - 1] = gain * (x[cols - 1] - most);\n",
    ),
}
CONTENTS_OF_LEVEL = {
    "largest at least 0": ("float most = -INFINITY;", "float most = 0.0f;"),
    "small ones dropped": (LAST, LAST.replace("x[c]", "(fabsf(x[c]) < 1e-3f ? 0.0f : x[c])")),
    "gain of one sign": (LAST, LAST.replace("gain *", "fabsf(gain) *")),
}
STATE_OF_LEVEL = {
    "stops": (
        "__global__",
        "__device__ int calls;\n__global__",
        "    float most =",
        "    if (calls > 3)\n        return;\n    if (row == rows - 1 && t == 31)\n"
        "        calls++;\n    float most =",
    ),
    "remembers": (
        "__global__",
        "__device__ float kept[1024];\n__global__",
        "    most = part[0];\n",
        "    most = part[0];\n    if (kept[row] != 0.0f)\n        most = kept[row];\n"
        "    __syncthreads();\n    if (t == 0)\n        kept[row] = most;\n",
    ),
}


def test_sizes_contents_and_state(tmp_path: Path) -> None:
    edits = {
        **FAULTS_OF_LEVEL,
        **CONTENTS_OF_LEVEL,
        **STATE_OF_LEVEL,
        "a choice": ("most = fmaxf(most, x[c]);", "most = most > x[c] ? most : x[c];"),
        "no number ignored": (LAST, LAST.replace("x[c]", "(x[c] == x[c] ? x[c] : 0.0f)")),
        **RIGHT_OF_LEVEL,
    }
    found, note = codes(tmp_path, LEVEL, OF_LEVEL, DATA_OF_LEVEL, edits)
    for name in FAULTS_OF_LEVEL:
        assert found[name] == {"other-size incorrect"}, name
    for name in CONTENTS_OF_LEVEL:
        assert "other-input incorrect" in found[name], name
    for name in STATE_OF_LEVEL:
        assert found[name] == {"state-between-launches incorrect"}, name
    for name in ("a choice", "no number ignored"):  # the same but for what is no number
        assert found[name] == {"special-values unverified"}, name
    for name in RIGHT_OF_LEVEL:
        assert found[name] == set(), name
    assert "cols = 1" in note
    assert "fails" not in note


TALLY = """
// total[k] += how many values are k, or in the last bin
__global__ void tally(const int *values, int *total, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int k = values[i];
        if (k < 0 || k > 31)
            k = 31;
        atomicAdd(&total[k], 1);
    }
}
"""

OF_TALLY = target_of(
    "tally",
    [("values", "int32", "n", "input"), ("total", "int32", "32", "inout")],
    [("n", "int32")],
    ("n = 1000", "n = 700"),
    ("4", "64"),
    'kind = "exact"',
)

DATA_OF_TALLY = """
import numpy as np


def case(seed, n):
    values = np.random.default_rng(seed).integers(-1, 1, n, dtype=np.int32)
    return {"values": values, "total": np.zeros(32, np.int32), "n": n}
"""


def test_integers_of_which_cases_have_few(tmp_path: Path) -> None:
    """Two of thirty-two bins, which are empty before."""
    limits = "if (k < 0 || k > 31)\n            k = 31;"
    edits = {
        "two bins": (limits, "k = k < 0 ? 31 : 0;"),
        "no upper limit": ("k < 0 || k > 31", "k < 0"),
        "not added to": (
            "        atomicAdd(&total[k], 1);\n    }\n",
            "        (void)k;\n    }\n    if (blockIdx.x == 0 && threadIdx.x < 32) {\n"
            "        int many = 0;\n        for (int i = 0; i < n; i++) {\n"
            "            int k = values[i] < 0 || values[i] > 31 ? 31 : values[i];\n"
            "            many += k == threadIdx.x;\n        }\n"
            "        total[threadIdx.x] = many;\n    }\n",
        ),
        "as it is": (),
        "unsigned": ("k < 0 || k > 31", "(unsigned)k > 31u"),
    }
    found, _ = codes(tmp_path, TALLY, OF_TALLY, DATA_OF_TALLY, edits)
    for name in ("two bins", "no upper limit", "not added to"):
        assert "other-input incorrect" in found[name], name
    assert found["as it is"] == found["unsigned"] == set()


COVER = """
// n is a multiple of 4
__global__ void cover(const float *in, float *out, int n) {
    int i = blockIdx.x * 16 + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += in[k] * k;
    out[i] = sum + in[i];
}
"""

OF_COVER = target_of(
    "cover",
    [("in", "float32", "n", "input"), ("out", "float32", "n", "output")],
    [("n", "int32")],
    ("n = 64", "n = 48"),
    ("n / 16", "16"),
)

DATA_OF_COVER = """
import numpy as np


def case(seed, n):
    return {"in": np.random.default_rng(seed).random(n, dtype=np.float32), "n": n}
"""


def test_sizes_for_which_a_kernel_is_not_made_tell_nothing(tmp_path: Path) -> None:
    """Blocks that cover the answers exactly need no check; by fours is what a comment allows."""
    edits = {
        "no check": ("    if (i >= n)\n        return;\n", ""),
        "by fours": (
            "    for (int k = 0; k < n; k++)\n        sum += in[k] * k;\n",
            "    for (int k = 0; k < n; k += 4)\n        for (int j = k; j < k + 4; j++)\n"
            "            sum += in[j] * j;\n",
        ),
        "few": ("k < n; k++", "k < n && k < 64; k++"),
    }
    found, note = codes(tmp_path, COVER, OF_COVER, DATA_OF_COVER, edits)
    assert found["no check"] == found["by fours"] == set()
    assert found["few"] == {"other-size incorrect"}
    assert "n = 49" not in note
    assert "left out, with which the reference fails or takes long: n = 4; n = 52" in note


MARK = """
__global__ void mark(const float *in, float *out, int n) {
    int i = blockIdx.x * 16 + threadIdx.x;
    if (i < n)
        out[i] = i == 0 ? in[n - 1] : i;
}
"""


def test_answers_of_which_hardly_any_change_verify_nothing(tmp_path: Path) -> None:
    """Whatever the input is, all but one of them are the same."""
    target = OF_COVER.replace("n / 16", "(n + 15) / 16").replace("cover", "mark")
    found, _ = codes(tmp_path, MARK, target, DATA_OF_COVER, {"as it is": ()})
    assert found["as it is"] == {"few-distinct-outputs unverified"}


SCALED = """
__global__ void scaled(const float *in, const float *by, float *out, int n) {
    int i = blockIdx.x * 16 + threadIdx.x;
    if (i < n)
        out[i] = in[i] * by[i];
}
"""

OF_SCALED = target_of(
    "scaled",
    [
        ("in", "float32", "n", "input"),
        ("by", "float32", "n", "input"),
        ("out", "float32", "n", "output"),
    ],
    [("n", "int32")],
    ("n = 64", "n = 48"),
    ("(n + 15) / 16", "16"),
)

ZEROS = """
import numpy as np


def case(seed, n):
    return {"in": np.zeros(n, np.float32), "by": np.zeros(n, np.float32), "n": n}
"""


def test_nothing_wins_where_no_input_has_any_effect(tmp_path: Path) -> None:
    """An example is a program that never fills its data."""
    edits = {"left out": ("in[i] * by[i]", "0.0f")}
    found, _ = codes(tmp_path, SCALED, OF_SCALED, ZEROS, edits)
    assert found["left out"] == {"nothing-varies unverified"}
    assert Objection("", lambda some: [], False, NOTHING_VARIES, Ruling.UNVERIFIED).fails
