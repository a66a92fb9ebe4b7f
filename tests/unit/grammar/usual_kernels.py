"""Kernels before and after ``usual``, with 2 as the usual value of ``s``, 3 of ``w``, 1 of ``on``.

``n`` is the number of items, ``a`` is read and ``b`` written; blocks have 64 threads.
"""

from __future__ import annotations

from typing import NamedTuple

USUAL = {"s": 2, "w": 3, "on": 1}
INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


class Case(NamedTuple):
    """A kernel: its head, its body, the head of the body's function, and the kernel after it.

    Attributes:
        ahead: text before the kernel.
    """

    head: str
    body: str
    function: str
    kernel: str
    ahead: str = ""

    @property
    def before(self) -> str:
        return f"{self.ahead}{self.head}{self.body}\n"

    @property
    def after(self) -> str:
        return f"{self.ahead}{self.function}{self.body}\n\n{self.kernel}\n"


PLAIN = "const float *a, float *b, int n, int s, int w"
FUNCTION = "static __device__ __forceinline__ void k_with"
KERNEL = f"""\
__global__ void k({PLAIN}) {{
    if (s == 2 && w == 3)
        k_with(a, b, n, 2, 3);
    else
        k_with(a, b, n, s, w);
}}"""

CASES = {
    "a window with steps": Case(
        f"__global__ void k({PLAIN}) ",
        "{\n" + INDEX + "    if (i >= n) return;\n    float sum = 0;\n"
        "    for (int j = 0; j < w; j++)\n        sum += a[(i * s + j) % n];\n    b[i] = sum;\n}",
        f"{FUNCTION}({PLAIN}) ",
        KERNEL,
    ),
    "divisions": Case(
        f"__global__ void k({PLAIN})\n",
        "{\n" + INDEX + "    if (i < n) b[i] = a[i / s] + i % w;\n}",
        f"{FUNCTION}({PLAIN})\n",
        KERNEL.replace(") {", ")\n{"),
    ),
    "bounds of a launch": Case(
        "static __global__ __launch_bounds__(64) void k(float *b, int s, int n) ",
        "{\n" + INDEX + "    if (i < n) b[i] = i / s;\n}",
        f"{FUNCTION}(float *b, int s, int n) ",
        "static __global__ __launch_bounds__(64) void k(float *b, int s, int n) {\n"
        "    if (s == 2)\n        k_with(b, 2, n);\n"
        "    else\n        k_with(b, s, n);\n}",
    ),
    "shared memory and barriers": Case(
        f"__global__ void k({PLAIN}) ",
        "{\n    __shared__ float tile[64];\n"
        + INDEX
        + "    tile[threadIdx.x] = i < n ? a[i] : 0;\n"
        "    __syncthreads();\n    float sum = 0;\n    for (int j = 0; j < w; j++)\n"
        "        sum += tile[(threadIdx.x * s + j) % 64];\n    if (i < n)\n        b[i] = sum;\n}",
        f"{FUNCTION}({PLAIN}) ",
        KERNEL,
    ),
    "a template": Case(
        "template <typename T, int C = 2>\n"
        "__global__ void k(const T *__restrict__ a, T *b, int n, size_t s) ",
        "{\n" + INDEX + "    if (i < n) b[i] = a[i / s] * C;\n}",
        f"template <typename T, int C = 2>\n{FUNCTION}"
        "(const T *__restrict__ a, T *b, int n, size_t s) ",
        "template <typename T, int C = 2>\n"
        "__global__ void k(const T *__restrict__ a, T *b, int n, size_t s) {\n"
        "    if (s == 2)\n        k_with<T, C>(a, b, n, 2);\n"
        "    else\n        k_with<T, C>(a, b, n, s);\n}",
    ),
    "a name of C": Case(
        'extern "C" __global__ void k(float *b, unsigned char s, int n) ',
        "{\n" + INDEX + "    if (i < n) b[i] = i % s;\n}",
        f"{FUNCTION}(float *b, unsigned char s, int n) ",
        'extern "C" __global__ void k(float *b, unsigned char s, int n) {\n'
        "    if (s == 2)\n        k_with(b, 2, n);\n"
        "    else\n        k_with(b, s, n);\n}",
    ),
    "a parameter that changes": Case(
        f"__global__ void k({PLAIN}) ",
        "{\n" + INDEX + "    if (i >= n) return;\n    const int *left = &w;\n"
        "    for (b[i] = 0; s < n; s += *left) b[i] += a[s];\n}",
        f"{FUNCTION}({PLAIN}) ",
        KERNEL,
    ),
    "one line, after a declaration": Case(
        "__global__ void k(float *b, int n, int s = 2) ",
        "{ if (threadIdx.x < n) b[threadIdx.x] = threadIdx.x / s; }",
        f"{FUNCTION}(float *b, int n, int s = 2) ",
        "__global__ void k(float *b, int n, int s = 2) {\n"
        "    if (s == 2)\n        k_with(b, n, 2);\n"
        "    else\n        k_with(b, n, s);\n}",
        "__global__ void k(float *, int, int);\n",
    ),
    "names that are taken, and lines of their own": Case(
        "__global__ void k(\n  float *b, // result ...\n  const int n,\n  const int w)\n",
        "{\n  int i = threadIdx.x;\n  while (i < n) {\n    b[i] = k_with(w);\n    i += 64;\n  }\n}",
        f"{FUNCTION}2(\n  float *b, // result ...\n  const int n,\n  const int w)\n",
        "__global__ void k(\n  float *b, // result ...\n  const int n,\n  const int w)\n{\n"
        "  if (w == 3)\n    k_with2(b, n, 3);\n  else\n    k_with2(b, n, w);\n}",
        "__device__ int k_with(int w) { return 12 / w; }\n",
    ),
    "a flag": Case(
        "__global__ void k(const float *a, float *b, int n, bool on) ",
        "{\n\t" + INDEX.strip() + "\n\tif (i < n)\n\t\tb[i] = on ? a[i] : -a[i];\n}",
        f"{FUNCTION}(const float *a, float *b, int n, bool on) ",
        "__global__ void k(const float *a, float *b, int n, bool on) {\n"
        "\tif (on == 1)\n\t\tk_with(a, b, n, 1);\n"
        "\telse\n\t\tk_with(a, b, n, on);\n}",
    ),
    "a macro with a parameter in it": Case(
        f"__global__ void k({PLAIN}) ",
        "{\n" + INDEX + "    if (i < n) b[i] = a[FROM(i)];\n#ifdef MORE\n"
        "    if (i < n) b[i] += w;\n#endif\n    for (; w > 0; w--) if (i < n) b[i] += w;\n}",
        f"{FUNCTION}({PLAIN}) ",
        KERNEL,
        "#define FROM(i) ((i) / s)\n",
    ),
    "a parameter that is not used": Case(
        f"__global__ void k({PLAIN}) ",
        "{\n" + INDEX + "    if (i < n) b[i] = a[i / w];\n}",
        f"{FUNCTION}({PLAIN}) ",
        KERNEL.replace("s == 2 && ", "").replace("n, 2, 3", "n, s, 3"),
    ),
    "a long list": Case(
        f"__global__ void k({PLAIN}, int the_first_of_two_numbers, int the_other_one) ",
        "{\n" + INDEX + "    if (i < n)\n        b[i] = a[i / s / w] + the_first_of_two_numbers"
        " - the_other_one;\n}",
        f"{FUNCTION}({PLAIN}, int the_first_of_two_numbers, int the_other_one) ",
        f"__global__ void k({PLAIN}, int the_first_of_two_numbers, int the_other_one)"
        " {\n    if (s == 2 && w == 3)\n"
        "        k_with(a, b, n, 2, 3, the_first_of_two_numbers, the_other_one);\n"
        "    else\n"
        "        k_with(a, b, n, s, w, the_first_of_two_numbers, the_other_one);\n}",
    ),
}

DECLINED = {
    "a directive in the head": "__global__ void k(float *b,\n#ifdef WIDE\n    long s\n#else\n"
    "    int s\n#endif\n) { b[0] = 4 / s; }",
    "a list without an end": "template <typename... T>\n"
    "__global__ void k(float *b, int s, T... all) { b[0] = 4 / s + sizeof...(all); }",
    "a template of templates": "template <template <typename> class V>\n"
    "__global__ void k(V<float> b, int s) { b[0] = 4 / s; }",
    "a template for one type": "template <typename T> __global__ void k(T *b, int s);\n"
    "template <> __global__ void k<float>(float *b, int s) { b[0] = 4 / s; }",
    "a parameter without a name": "__global__ void k(float *b, int s, int) { b[0] = 4 / s; }",
    "parameters of a macro": "#define LIST float *b, int s\n"
    "__global__ void k(LIST) { b[0] = 4 / s; }",
    "parameters in constant memory": "__global__ void k(float *b, const __grid_constant__ int s)"
    " { b[0] = 4 / s; }",
    "no integer": "__global__ void k(float *b, float s) { b[0] = 4 / s; }",
    "a type of the template": "template <typename T>\n__global__ void k(float *b, T s)"
    " { b[0] = 4 / s; }",
    "a type that is not known": "__global__ void k(float *b, Count s) { b[0] = 4 / s; }",
    "a use of the kernel": "__global__ void k(float *b, int s)"
    " { if (s > 4) k<<<1, 1>>>(b, s / 2); b[0] = s; }",
    "a use of the kernel's name": "__global__ void k(float *b, int s)"
    ' { printf("%s", __func__); b[0] = s; }',
    "no use": "__global__ void k(float *b, int s) { b[0] = 4; }",
    "a pointer": "__global__ void k(float *b, int *s) { b[0] = *s; }",
}
