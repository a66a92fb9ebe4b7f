"""Kernels before and after neighbouring elements are accessed at once."""

from __future__ import annotations

HEAD = """\
__global__ void k(const float *a, float *b, float *c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
"""

KERNELS = {
    "loads of one statement": (
        "pack_K4",
        """\
    c[i] = a[4 * i] + a[4 * i + 1] - a[4 * i + 2] * a[4 * i + 3];
""",
        """\
    __align__(16) float a4[4];
    LOAD float4 a[4 * i]
    c[i] = a4[0] + a4[1] - a4[2] * a4[3];
""",
    ),
    "loads of several statements": (
        "pack_K2",
        """\
    const float x = a[2 * i];
    c[2 * n - i] = 3;
    c[i] = x * a[2 * i + 1];
""",
        """\
    __align__(8) float a2[2];
    LOAD float2 a[2 * i]
    const float x = a2[0];
    c[2 * n - i] = 3;
    c[i] = x * a2[1];
""",
    ),
    "stores": (
        "pack_K4",
        """\
    b[i * 4 + 0] = 1;
    b[i * 4 + 1] = a[i];
    b[i * 4 + 2] = a[i] * 2;
    b[i * 4 + 3] = n;
""",
        """\
    __align__(16) float b4[4];
    b4[0] = 1;
    b4[1] = a[i];
    b4[2] = a[i] * 2;
    b4[3] = n;
    STORE float4 b[i * 4 + 0]
""",
    ),
    "loads before stores of the same elements": (
        "pack_K2",
        """\
    const float x = b[2 * i], y = b[2 * i + 1];
    b[2 * i] = y;
    b[2 * i + 1] = x;
""",
        """\
    __align__(8) float b2[2];
    LOAD float2 b[2 * i]
    const float x = b2[0], y = b2[1];
    __align__(8) float b22[2];
    b22[0] = y;
    b22[1] = x;
    STORE float2 b[2 * i]
""",
    ),
    "rows of any length, which are aligned or not": (
        "pack_K2",
        """\
    c[i] = a[i * n + 1] - a[i * n];
""",
        """\
    __align__(8) float a2[2];
    LOAD float2 a[i * n]
    c[i] = a2[1] - a2[0];
""",
    ),
    "a loop along a row that counts up by 4": (
        "pack_K4",
        """\
    float sum = 0;
    for (int j = 0; j < 4 * n; j += 4) {
        sum += a[i * 4 * n + j] + 2 * a[i * 4 * n + j + 1]
            + 3 * a[i * 4 * n + j + 2] + a[i * 4 * n + j + 3];
    }
    c[i] = sum;
""",
        """\
    float sum = 0;
    for (int j = 0; j < 4 * n; j += 4) {
        __align__(16) float a4[4];
        LOAD float4 a[i * 4 * n + j]
        sum += a4[0] + 2 * a4[1]
            + 3 * a4[2] + a4[3];
    }
    c[i] = sum;
""",
    ),
    "a loop over the grid": (
        "pack_K2",
        """\
    float sum = 0;
    for (int j = i * 2; j < 2 * n; j += blockDim.x * gridDim.x * 2) {
        sum += a[j] * a[j + 1];
    }
    c[i] = sum;
""",
        """\
    float sum = 0;
    for (int j = i * 2; j < 2 * n; j += blockDim.x * gridDim.x * 2) {
        __align__(8) float a2[2];
        LOAD float2 a[j]
        sum += a2[0] * a2[1];
    }
    c[i] = sum;
""",
    ),
    "twice as many elements as a vector has": (
        "pack_K2",
        """\
    c[i] = a[4 * i + 3] + a[4 * i + 2] + a[4 * i + 1] + a[4 * i];
""",
        """\
    __align__(8) float a4[4];
    if ((size_t)(&a[4 * i]) % 8 == 0) {
        #pragma unroll
        for (int k2 = 0; k2 < 2; k2++) reinterpret_cast<float2 *>(a4)[k2] = \
reinterpret_cast<const float2 *>(&a[4 * i])[k2];
    } else {
        #pragma unroll
        for (int k2 = 0; k2 < 4; k2++) a4[k2] = (&a[4 * i])[k2];
    }
    c[i] = a4[3] + a4[2] + a4[1] + a4[0];
""",
    ),
    "one element twice, and one that is left over": (
        "pack_K2",
        """\
    c[i] = a[4 * i] * a[4 * i] + a[4 * i + 1] + a[4 * i + 2];
""",
        """\
    __align__(8) float a2[2];
    LOAD float2 a[4 * i]
    c[i] = a2[0] * a2[0] + a2[1] + a[4 * i + 2];
""",
    ),
    "loads that bypass a cache": (
        "pack_K2",
        """\
    c[i] = __ldg(&a[2 * i]) + __ldg(&a[2 * i + 1]);
""",
        """\
    __align__(8) float a2[2];
    LOAD float2 a[2 * i]
    c[i] = a2[0] + a2[1];
""",
    ),
    "offsets below zero": (
        "pack_K2",
        """\
    const int end = 2 * i + 2;
    c[i] = a[end - 1] - a[end - 2];
""",
        """\
    const int end = 2 * i + 2;
    __align__(8) float a2[2];
    LOAD float2 a[end - 2]
    c[i] = a2[1] - a2[0];
""",
    ),
    "the condition of an if": (
        "pack_K2",
        """\
    if (a[2 * i] > a[2 * i + 1]) { c[i] = 1; }
""",
        """\
    __align__(8) float a2[2];
    LOAD float2 a[2 * i]
    if (a2[0] > a2[1]) { c[i] = 1; }
""",
    ),
    "a pointer to a row": (
        "pack_K2",
        """\
    const float *row = a + i * n;
    c[i] = row[0] - row[1];
""",
        """\
    const float *row = a + i * n;
    __align__(8) float row2[2];
    LOAD float2 row[0]
    c[i] = row2[0] - row2[1];
""",
    ),
    "the address of a row": (
        "pack_K2",
        """\
    float *const row = &b[i * 4];
    row[0] = 1;
    row[1] = 2;
    row[2] = 3;
""",
        """\
    float *const row = &b[i * 4];
    __align__(8) float row2[2];
    row2[0] = 1;
    row2[1] = 2;
    STORE float2 row[0]
    row[2] = 3;
""",
    ),
    "statements of an inner block": (
        "pack_K2",
        """\
    if (i % 3 == 1) {
        b[2 * i] = i; // first
        b[2 * i + 1] = -i; // second
    }
""",
        """\
    if (i % 3 == 1) {
        __align__(8) float b2[2];
        b2[0] = i; // first
        b2[1] = -i; // second
        STORE float2 b[2 * i]
    }
""",
    ),
    "an index that is a shift": (
        "pack_K2",
        """\
    const int at = i << 1;
    c[i] = a[at] + (n > 3 ? 1 : 0) * a[at + 1];
""",
        """\
    const int at = i << 1;
    __align__(8) float a2[2];
    LOAD float2 a[at]
    c[i] = a2[0] + (n > 3 ? 1 : 0) * a2[1];
""",
    ),
}

LINES = """\
if ((size_t)(&{at}) % {width} == 0) {{
    *reinterpret_cast<{vector} *>({to}) = *reinterpret_cast<const {vector} *>({source});
}} else {{
    #pragma unroll
    for (int k2 = 0; k2 < {count}; k2++) {moved};
}}
"""


def after(name: str) -> str:
    """Return the body of a kernel after, with the lines that ``LOAD`` and ``STORE`` stand for."""
    lines, copies = list[str](), list[str]()
    for line in KERNELS[name][2].splitlines(keepends=True):
        word, _, rest = line.strip().partition(" ")
        if word.startswith("__align__"):
            copies.append(rest.split()[1].partition("[")[0])
        if word not in ("LOAD", "STORE"):
            lines.append(line)
            continue
        vector, _, at = rest.partition(" ")
        count, ends = int(vector[-1]), (copies[-1], f"&{at}")
        each = f"{copies[-1]}[k2]", f"(&{at})[k2]"
        (to, source), (left, right) = (ends, each) if word == "LOAD" else (ends[::-1], each[::-1])
        given = {"width": 4 * count, "to": to, "source": source, "moved": f"{left} = {right}"}
        text = LINES.format(at=at, vector=vector, count=count, **given)
        lines += [line[: -len(line.lstrip())] + one for one in text.splitlines(keepends=True)]
    return "".join(lines)
