"""Several items of a thread that share loops: the text, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.jam import Jam
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.jam_kernels import BEFORE, HEAD
from tests.unit.grammar.jammed_kernels import AFTER

START = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
SUM = "    float sum = 0;\n    for (int j = 0; j < m; j++) sum += a[j * n + i];\n    c[i] = sum;\n"

DECLINED = {
    "no loop": START + "    c[i] = a[i];\n",
    "a loop of another length for each item": START + SUM.replace("j < m", "j < i"),
    "a loop that an item leaves": START
    + "    for (int j = 0; j < m; j++) {\n        if (a[j] > c[i]) break;\n"
    "        c[i]++;\n    }\n",
    "a block that shares memory": "    __shared__ float tile[64];\n" + START + SUM,
    "a barrier": START + SUM + "    __syncthreads();\n",
    "an index that changes": START + "    i = n - 1 - i;\n" + SUM,
    "an index that is used before": START.replace("    if", "    c[i] = 0;\n    if") + SUM,
    "the number of the block": START + SUM + "    if (blockIdx.x == 0) c[0] = 1;\n",
    "a variable from before": "    float sum = 0;\n"
    + START
    + SUM.replace("    float sum = 0;\n", ""),
    "a parameter that changes": START + "    n = i;\n" + SUM,
    "a thread that ends later": START + "    if (a[i] < 0) return;\n" + SUM,
    "a variable without a type": START + SUM.replace("float sum", "auto sum"),
    "a list of values": START + SUM.replace("float sum = 0", "float2 sum = {0, 1}"),
    "a macro that hides a variable": "#define LAST (c[i])\n" + START + SUM + "    LAST += 1;\n",
    "an index without a test that has one elsewhere": START.split("    if")[0]
    + SUM.replace("c[i] = sum", "if (i < n) c[i] = sum"),
    "memory that is changed once a thread": START + "    atomicAdd(c, 1.0f);\n" + SUM,
    "memory that is changed before": "    c[threadIdx.x] += 1;\n" + START + SUM,
    "a lower limit": START.replace("i >= n", "i < n") + SUM,
}


def read(body: str) -> Code:
    return read_code(Source("k.cu", f"{HEAD}{body}}}\n"))


@pytest.mark.parametrize("name", BEFORE)
def test_before_and_after(name: str) -> None:
    code = read(BEFORE[name])
    (site,) = Jam().sites(code)
    assert site.choices == ("jam_K2", "jam_K4", "jam_K8")
    rewrite = Jam().rewrite(code, site.at, "jam_K2")
    assert rewrite is not None
    assert rewrite.shape == {"k.items.x": 2}
    assert spliced(code.source, rewrite.splices).text == read(AFTER[name]).text


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert list(Jam().sites(read(DECLINED[name]))) == []


def test_rows_may_be_the_items() -> None:
    rows = "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n    if (y >= m) return;\n"
    code = read(
        START + rows + "    float sum = 0;\n    for (int j = 0; j < 3; j++)\n"
        "        sum += a[y * 3 + j] * b[j * n + i];\n    c[y * n + i] = sum;\n"
    )
    (site,) = Jam().sites(code)
    assert site.choices == ("jam_K2y", "jam_K4y", "jam_K8y")
    rewrite = Jam().rewrite(code, site.at, "jam_K4y")
    assert rewrite is not None
    assert rewrite.shape == {"k.items.y": 4}
    text = spliced(code.source, rewrite.splices).text
    assert "blockIdx.y * 4 * blockDim.y + threadIdx.y" in text
    assert "sum[item] += a[items[item] * 3 + j] * b[j * n + i];" in text


def test_without_a_test_of_the_index_the_work_is_that_of_whole_blocks() -> None:
    code = read(START.split("    if")[0] + SUM)
    (site,) = Jam().sites(code)
    rewrite = Jam().rewrite(code, site.at, "jam_K2")
    assert rewrite is not None
    assert rewrite.shape == {"k.items.x": 2, "k.exact.x": 1}
    assert "break" not in spliced(code.source, rewrite.splices).text


@pytest.mark.parametrize(
    ("parameter", "guards"), [("float *a", 3), ("const float *a", 1)], ids=["writes", "reads"]
)
def test_a_function_that_may_write_is_called_for_the_items_that_there_are(
    parameter: str, guards: int
) -> None:
    """A later loop may index memory by the function's result: no loop runs without a result."""
    work = f"    int start = f(c, i);\n{SUM.replace('a[j * n + i]', 'a[start + j]')}"
    function = f"__device__ int f({parameter}, int i) {{ return a[i]; }}\n"
    code = read_code(Source("k.cu", f"{function}{HEAD}{START}{work}}}\n"))
    (site,) = Jam().sites(code)
    rewrite = Jam().rewrite(code, site.at, "jam_K2")
    assert rewrite is not None
    assert spliced(code.source, rewrite.splices).text.count("== i) break;") == guards


def test_a_comment_before_the_body_of_a_loop_stays() -> None:
    code = read(START + SUM.replace("j++) sum", "j++)  // all rows\n        sum"))
    (site,) = Jam().sites(code)
    rewrite = Jam().rewrite(code, site.at, "jam_K2")
    assert rewrite is not None
    text = spliced(code.source, rewrite.splices).text
    assert "j++) {  // all rows\n        #pragma unroll\n        for (int item" in text
    assert text.count("{") == text.count("}")


def jammed(body: str, head: str = HEAD) -> str:
    code = read_code(Source("k.cu", f"{head}{body}}}\n"))
    rewrite = Jam().rewrite(code, next(code.kernels).at, "jam_K2")
    assert rewrite is not None
    return spliced(code.source, rewrite.splices).text


@pytest.mark.parametrize("fill", ["fill(v, a, i);", "float *p = v;\n    p[0] = a[i];"])
def test_each_item_has_its_own_array_that_is_filled_through_a_pointer(fill: str) -> None:
    function = "__device__ void fill(float *v, const float *a, int i) { v[0] = a[i]; }\n"
    work = f"    float v[2];\n    {fill}\n{SUM.replace('a[j * n + i]', 'v[j % 2]')}"
    text = jammed(START + work, function + HEAD)
    assert "float v[2][2];" in text
    assert "sum[item] += v[item][j % 2];" in text


def test_items_share_a_loop_that_all_leave_together() -> None:
    text = jammed(
        START + "    float sum = 0;\n    for (int j = 0; j < m; j++) {\n"
        "        if (b[j] < 0) break;\n        sum += a[j * n + i];\n    }\n    c[i] = sum;\n"
    )
    assert "        if (b[j] < 0) break;\n        #pragma unroll" in text


def test_a_variable_that_is_declared_with_others_stays_single() -> None:
    text = jammed(START + SUM.replace("float sum = 0", "float first = b[0], sum = first"))
    assert "    float first = b[0];\n    float sum[2];\n" in text
    assert "sum[item] = first;" in text


def test_a_member_is_no_variable_of_its_name() -> None:
    """``two.x`` does not depend on the item ``x``."""
    body = START.replace("int i", "int x").replace("i >=", "x >=")
    text = jammed(
        body + "    float2 two = {1, 2};\n    float sum = two.x;\n"
        "    for (int j = 0; j < m; j++) sum += a[j * n + x];\n    c[x] = sum;\n"
    )
    assert "    float2 two = {1, 2};\n    float sum[2];\n" in text


def test_a_number_in_an_address_that_a_function_writes_is_the_same_for_all_items() -> None:
    function = "__device__ void store(float *to, float x) { *to = x; }\n"
    loop = "    for (int j = 0; j < m; j++) store(&c[j * n + i], b[j]);\n"
    text = jammed(START + loop, function + HEAD)
    assert "for (int j = 0; j < m; j++) {\n" in text
    assert "store(&c[j * n + items[item]], b[j]);" in text
