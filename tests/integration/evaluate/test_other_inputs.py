"""Rewrites that are right on all cases and wrong on other inputs are told, with the kind of fault;
those that are right everywhere are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.scrutiny.objections import NOTHING_VARIES, Objection, Ruling
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject

TARGET = """
[target]
name = "{kernel}"
source = "kernel.cu"
kernels = ["{kernel}"]

[build]
host = ["-O1"]
{declared}
[[launch]]
kernel = "{kernel}"
grid = "{grid}"
block = "{block}"
args = [{args}]

[oracle]
{oracle}

[[case]]
name = "train"
role = "train"
args = {{ seed = 1, {train} }}

[[case]]
name = "held-out"
role = "held-out"
args = {{ seed = 2, {held_out} }}
"""

BUFFER = '\n[[buffer]]\nname = "{}"\ntype = "{}"\nsize = "{}"\nrole = "{}"\n'
SCALAR = '\n[[scalar]]\nname = "{}"\ntype = "{}"\n'
NEAR = 'kind = "tolerance"\nabsolute = 1e-4\nrelative = 1e-4'


def codes(
    folder: Path, kernel: str, target: str, data: str, edits: Mapping[str, Sequence[str]]
) -> tuple[dict[str, set[str]], str]:
    """The kinds of objections to each edit of a kernel, and which sizes were tried.

    Args:
        edits: by name, texts that are replaced and what stands in their place, in turn.
    """
    for name, text in (("kernel.cu", kernel), ("target.toml", target), ("data.py", data)):
        (folder / name).write_text(text.lstrip())
    subject = load_subject(folder, "host")
    whole = unmodified(subject)
    candidates = []
    for edit in edits.values():
        text = whole.text
        for old, new in zip(edit[::2], edit[1::2], strict=True):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        candidates.append(replace(whole, text=text))
    with open_tools(subject, folder / "scratch", workers=2, jobs=2) as tools:
        dependence = tools.certification.dependence
        found = dependence.findings(candidates)
        told = {
            name: {f"{one.code} {one.ruling}" for one in some}
            for name, some in zip(edits, found, strict=True)
        }
        return told, dependence.note


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

OF_LEVEL = TARGET.format(
    kernel="level",
    declared=BUFFER.format("in", "float32", "rows * cols", "input")
    + BUFFER.format("out", "float32", "rows * cols", "output")
    + "".join(SCALAR.format(*one) for one in (("rows", "int32"), ("cols", "int32")))
    + SCALAR.format("gain", "float32"),
    grid="rows",
    block="32",
    args='"in", "out", "rows", "cols", "gain"',
    oracle=NEAR,
    train="rows = 16, cols = 64",
    held_out="rows = 8, cols = 128",
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

OF_TALLY = TARGET.format(
    kernel="tally",
    declared=BUFFER.format("values", "int32", "n", "input")
    + BUFFER.format("total", "int32", "32", "inout")
    + SCALAR.format("n", "int32"),
    grid="4",
    block="64",
    args='"values", "total", "n"',
    oracle='kind = "exact"',
    train="n = 1000",
    held_out="n = 700",
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


MODES = """
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

OF_MODES = TARGET.format(
    kernel="pick",
    declared=BUFFER.format("in", "float32", "n", "input")
    + BUFFER.format("out", "float32", "n", "output")
    + "".join(SCALAR.format(name, "int32") for name in ("n", "border", "shift"))
    + SCALAR.format("slope", "float32"),
    grid="(n + 31) / 32",
    block="32",
    args='"in", "out", "n", "border", "shift", "slope"',
    oracle=NEAR,
    train="n = 64",
    held_out="n = 100",
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
        "a switch": ("    if (border == 1)\n", "    switch (border) case 1:\n"),
    }
    found, _ = codes(tmp_path, MODES, OF_MODES, DATA_OF_MODES, edits)
    for name in ("no mirror", "slope of one sign"):
        assert "other-input incorrect" in found[name], name
    assert found["a switch"] == set()


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

OF_PRICE = TARGET.format(
    kernel="price",
    declared=BUFFER.format("options", "uint8", "n * 16", "input")
    + BUFFER.format("out", "float32", "n", "output")
    + SCALAR.format("n", "int32"),
    grid="(n + 31) / 32",
    block="32",
    args='"options", "out", "n"',
    oracle=NEAR,
    train="n = 64",
    held_out="n = 100",
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

OF_LEVELS = TARGET.format(
    kernel="level",
    declared=BUFFER.format("in", "int32", "64", "input")
    + BUFFER.format("out", "int32", "64", "output"),
    grid="1",
    block="64",
    args='"in", "out"',
    oracle='kind = "exact"',
    train="",
    held_out="",
).replace(",  }", " }")

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

OF_COVER = TARGET.format(
    kernel="cover",
    declared=BUFFER.format("in", "float32", "n", "input")
    + BUFFER.format("out", "float32", "n", "output")
    + SCALAR.format("n", "int32"),
    grid="n / 16",
    block="16",
    args='"in", "out", "n"',
    oracle=NEAR,
    train="n = 64",
    held_out="n = 48",
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

OF_SCALED = TARGET.format(
    kernel="scaled",
    declared=BUFFER.format("in", "float32", "n", "input")
    + BUFFER.format("by", "float32", "n", "input")
    + BUFFER.format("out", "float32", "n", "output")
    + SCALAR.format("n", "int32"),
    grid="(n + 15) / 16",
    block="16",
    args='"in", "by", "out", "n"',
    oracle=NEAR,
    train="n = 64",
    held_out="n = 48",
)

ZEROS = """
import numpy as np


def case(seed, n):
    return {"in": np.zeros(n, np.float32), "by": np.zeros(n, np.float32), "n": n}
"""


def test_nothing_wins_where_no_input_has_any_effect(tmp_path: Path) -> None:
    """As in a program that never fills its data."""
    edits = {"left out": ("in[i] * by[i]", "0.0f")}
    found, _ = codes(tmp_path, SCALED, OF_SCALED, ZEROS, edits)
    assert found["left out"] == {"nothing-varies unverified"}
    assert Objection("", lambda some: [], False, NOTHING_VARIES, Ruling.UNVERIFIED).fails
