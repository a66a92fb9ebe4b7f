"""Kernels before and after ``narrow``, and kernels that have no such version.

Threads beyond ``n`` do nothing, ``a`` is read and has any values, ``b`` is written; blocks have 64
threads.
"""

from __future__ import annotations

from typing import NamedTuple

PARAMETERS = "const int *a, double *b, int64_t n, int64_t w, int s, size_t u"
INDEX = "int64_t i = blockIdx.x * blockDim.x + threadIdx.x;"
GRID = "(unsigned long long)gridDim.x * blockDim.x <= 0x7fffffff"
TURNS = (
    "for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)"
)
LIMIT = "(unsigned long long)n <= 0x7fffffff"
WIDTH = "(unsigned long long)w <= 0x7fffffff"
SIZE = "(unsigned long long)u <= 0x7fffffff"


class Case(NamedTuple):
    """A kernel.

    Attributes:
        before: its body, a statement a line.
        after: the lines of the body that change, by their first version.
        conditions: the lines of the test at its head.
        ahead: text before ``__global__``.
        name: the name of the body's function.
        flag: its parameter.
    """

    before: str
    after: dict[str, str]
    conditions: tuple[str, ...]
    ahead: str = ""
    name: str = "k_with"
    flag: str = "narrow"

    @property
    def source(self) -> str:
        return f"{self.ahead}__global__ void k({PARAMETERS}) {{\n{self.before}}}\n"

    @property
    def expected(self) -> str:
        body = self.before
        for old, new in self.after.items():
            assert body.count(old) == 1
            body = body.replace(old, new)
        called = f"{self.name}<T>" if "template" in self.ahead else self.name
        condition = " &&\n            ".join(self.conditions)
        return (
            f"{self.ahead}static __device__ __forceinline__ void {self.name}"
            f"(const bool {self.flag}, {PARAMETERS}) {{\n{body}}}\n\n"
            f"{self.ahead}__global__ void k({PARAMETERS}) {{\n    if ({condition})\n"
            f"        {called}(true, a, b, n, w, s, u);\n    else\n"
            f"        {called}(false, a, b, n, w, s, u);\n}}\n"
        )


def lines(*text: str) -> str:
    return "".join(f"    {line}\n" for line in text)


CASES = {
    "an index": Case(
        lines(INDEX, "if (i >= n) return;", "b[i] = a[i] + i / w;"),
        {"i / w": "(narrow ? (long)((unsigned)i / (unsigned)w) : i / w)"},
        (GRID, WIDTH),
    ),
    "turns": Case(
        lines(TURNS, "    b[i] = i % u + i / s;"),
        {
            "i % u": "(narrow ? (unsigned long)((unsigned)i % (unsigned)u) : i % u)",
            "i / s": "(narrow ? (long)((unsigned)i / (unsigned)s) : i / s)",
        },
        (GRID, f"{LIMIT} && {SIZE} && s >= 0"),
    ),
    "divisions of what divisions left": Case(
        lines(
            *(
                "size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, rest = i / u;",
                "if (i < n) {",
            ),
            *(
                "    double last = rest % s;",
                "    rest = rest / s;",
                "    b[i] = last + rest % u;",
                "}",
            ),
        ),
        {
            "= rest % s": "= (narrow ? (unsigned long)((unsigned)rest % (unsigned)s) : rest % s)",
            "= rest / s": "= (narrow ? (unsigned long)((unsigned)rest / (unsigned)s) : rest / s)",
            "rest % u": "(narrow ? (unsigned long)((unsigned)rest % (unsigned)u) : rest % u)",
            "= i / u": "= (narrow ? (unsigned long)((unsigned)i / (unsigned)u) : i / u)",
        },
        (GRID, f"{SIZE} && s >= 0"),
    ),
    "a chain": Case(
        lines(INDEX, "if (i < n) b[i] = (i / w) / s % 5;"),
        {
            "(i / w) / s % 5": "(narrow ? (long)((unsigned)i / (unsigned)w / (unsigned)s %"
            " (unsigned)5) : (i / w) / s % 5)"
        },
        (GRID, f"{WIDTH} && s >= 0"),
    ),
    "variables of any type, and a product": Case(
        lines(
            *("auto i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;", "auto size = w * s;"),
            *("if (n > i) {", "    auto row = i / size;", "    b[i] = row % w;", "}"),
        ),
        {
            "i / size": "(narrow ? (long)((unsigned)i / (unsigned)size) : i / size)",
            "row % w": "(narrow ? (long)((unsigned)row % (unsigned)w) : row % w)",
        },
        (GRID, f"(unsigned long long)(w * s) <= 0x7fffffff && {WIDTH}"),
    ),
    "numbers with a sign": Case(
        lines(
            INDEX,
            "if (i < n) {",
            "    int64_t at = a[i] - 7;",
            "    if (at % w == 0 || s > 2) {",
            "        at /= w;",
            "    }",
            "    b[i] = at;",
            "}",
        ),
        {
            "at % w": "(narrow ? (long)((int)at % (int)w) : at % w)",
            "at /= w": "at = (narrow ? (long)((int)at / (int)w) : at / w)",
        },
        (WIDTH,),
    ),
    "32 bits by 64": Case(
        lines("int i = blockIdx.x * blockDim.x + threadIdx.x;", "if (i < n) b[i] = a[i] / w;"),
        {"a[i] / w": "(narrow ? (long)((int)(a[i]) / (int)w) : a[i] / w)"},
        (WIDTH,),
    ),
    "a block's number in a loop": Case(
        lines(INDEX, "for (int j = 0; j < 3 && i < n; j++)", "    b[i] += blockIdx.x % u;"),
        {
            "blockIdx.x % u": "(narrow ? (unsigned long)((unsigned)blockIdx.x % (unsigned)u)"
            " : blockIdx.x % u)"
        },
        (SIZE,),
    ),
    "a loop of a thread": Case(
        lines(
            *(INDEX, "double sum = 0;", "for (size_t j = 0; j <= s && j < 40; j++) {"),
            *("    sum += j / u;", "}", "if (i < n) b[i] = sum;"),
        ),
        {"j / u": "(narrow ? (unsigned long)((unsigned)j / (unsigned)u) : j / u)"},
        (f"s >= 0 && {SIZE}",),
    ),
    "steps of a thread": Case(
        lines(
            *(INDEX, "double sum = 0;", "for (int64_t j = 3; j < blockDim.x; j += s)"),
            *("    sum += j % w;", "if (i < n) b[i] = sum;"),
        ),
        {"j % w": "(narrow ? (long)((unsigned)j % (unsigned)w) : j % w)"},
        (f"s >= 0 && {WIDTH}",),
    ),
    "shared memory and barriers": Case(
        lines(
            *(
                "__shared__ double tile[64];",
                INDEX,
                "tile[threadIdx.x] = i / w;",
                "__syncthreads();",
            ),
            *("if (i < n) b[i] = tile[63 - threadIdx.x];",),
        ),
        {"i / w": "(narrow ? (long)((unsigned)i / (unsigned)w) : i / w)"},
        (GRID, WIDTH),
    ),
    "differences and casts in a divisor": Case(
        lines(
            INDEX, "const int64_t last = (int64_t)s - 1;", "if (i < n) b[i] = i / (last * 2 + w);"
        ),
        {
            "i / (last * 2 + w)": "(narrow ? (long)((unsigned)i / (unsigned)(last * 2 + w))"
            " : i / (last * 2 + w))"
        },
        (GRID, "(unsigned long long)(((int64_t)((int64_t)s - 1) * 2) + w) <= 0x7fffffff"),
    ),
    "names that are taken": Case(
        lines(INDEX, "float narrow = w, k_with = 2;", "if (i < n) b[i] = narrow * k_with + i / w;"),
        {"i / w": "(narrow2 ? (long)((unsigned)i / (unsigned)w) : i / w)"},
        (GRID, WIDTH),
        name="k_with2",
        flag="narrow2",
    ),
    "only some divisions": Case(
        lines(INDEX, "if (i < n) b[i] = i / w + i / (w + a[0] * a[0]) + i * w / 7 + i / 7;"),
        {"= i / w": "= (narrow ? (long)((unsigned)i / (unsigned)w) : i / w)"},
        (GRID, WIDTH),
    ),
    "a template": Case(
        lines(INDEX, "if (i < n) b[i] = T(a[i]) + i / w;"),
        {"i / w": "(narrow ? (long)((unsigned)i / (unsigned)w) : i / w)"},
        (GRID, WIDTH),
        ahead="template <typename T>\n",
    ),
}

DECLINED = {
    "a dividend from memory": "int64_t at = b[i]; b[i] = at / w;",
    "a product": "b[i] = i * w / s;",
    "a sum": "b[i] = (i + w) / s;",
    "a difference": "b[i] = (w - i) / s;",
    "a divisor from memory": "b[i] = i / (int64_t)a[i];",
    "a divisor of each thread": "b[i] = i / (w + threadIdx.x);",
    "a number that all threads of a block have": "b[i] = blockIdx.x % u;",
    "a number as a divisor": "b[i] = i / 7 + i % sizeof(double);",
    "32 bits": "b[i] = (int)i / s;",
    "fractions": "b[i] = i / 2.5 / w;",
    "a parameter that changes": "w += 1; b[i] = i / w;",
    "a variable that counts": "int64_t at = i; at += a[i]; b[i] = at / w;",
    "a variable of which a pointer exists": "int64_t at = i, *p = &at; *p = w; b[i] = at / w;",
    "a variable that is referred to": "int64_t at = i; auto &r = at; r = w; b[i] = at / w;",
    "a name of two variables": "{ int64_t at = i; b[i] = at / w; } { int64_t at = w; b[i] = at; }",
    "a variable without a value": "int64_t at; b[i] = at / w;",
    "a number of 16 bits": "short at = i; b[i] = at / w;",
    "a cast to 16 bits": "b[i] = (unsigned short)i / w;",
    "a negative number without a sign": "size_t at = a[i] - 7; b[i] = at / u;",
    "a number with a sign by one without": "b[i] = (a[i] - 7) / u;",
    "a number with a sign that one without divides": "int64_t at = a[i]; at /= u; b[i] = at / w;",
    "a divisor with a sign": "int64_t at = a[i]; b[i] = i / at;",
    "a loop that counts down": "for (int64_t j = n; j > 0; j--) b[i] += j / w;",
    "a loop whose body counts": "for (int64_t j = 0; j < n; j++) { b[i] += j / w; j += a[i]; }",
    "a loop with a limit that changes": (
        "int64_t m = n; for (int64_t j = 0; j < m; j++) { b[i] = j / w; m = a[j]; }"
    ),
    "a loop that begins anywhere": "for (int64_t j = a[i] * w; j < n; j++) b[i] += j / w;",
    "a loop with any step": "for (int64_t j = 0; j < n; j += a[i]) b[i] += j / w;",
    "a counter in the test itself": "for (int64_t j = 0; j / w < n && j < n; j++) b[i] += 1;",
    "an index with an offset": (
        "int64_t at = blockIdx.x * blockDim.x + threadIdx.x + w; b[i] = at / w;"
    ),
    "a product of more than an index": (
        "int64_t at = blockIdx.x * blockDim.x * blockDim.x + threadIdx.x; b[i] = at / w;"
    ),
    "a number that assembler sets": 'int64_t at = i; asm("" : "=l"(at)); b[i] = at / w;',
    "a kernel that has its own name": "b[i] = i / w + sizeof(__func__);",
}
"""Statements behind ``INDEX``."""
