"""The kernels that ``benchmarks.honesty`` searches on, and their target."""

from __future__ import annotations

COPY = """
#ifndef TAG
#define TAG %d
#endif
__global__ void copy(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
    if (n < 0)
        out[0] = TAG;
}
"""

SHUFFLED = """
#ifndef TAG
#define TAG %d
#endif
__global__ void copy(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v;
    if (n < 0)
        out[0] = TAG;
    v = in[i < n ? i : 0];
    if (n < -1)
        out[1] = TAG + 1;
    if (i < n)
        out[i] = v;
    if (n < -2)
        out[2] = TAG + 2;
}
"""

WASTEFUL = """
#ifndef TAG
#define TAG %d
#endif
__global__ void copy(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = in[i];
    for (int k = 0; k < TAG; ++k)
        v = v * 1.0001f + 0.001f;
    out[i] = v < 0.0f ? v : in[i];
}
"""

SMALL = """
__global__ void small(const float *in, float *few, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float sum = 0.0f;
        for (int k = 0; k < 8; k++)
            sum += expf(-in[k]) / (1.0f + in[i]);
        few[i] = sum;
    }
}
"""
"""A second kernel with one block; no change of it can gain anything."""

NULL = {"copy": COPY, "shuffled": SHUFFLED}

DATA = """
import numpy as np


def case(seed, n):
    rng = np.random.default_rng(seed)
    return {"in": rng.random(n, dtype=np.float32), "n": n, "m": 60}
"""

TARGET = """
[target]
name = "honesty"
source = "kernel.cu"
kernels = ["copy", "small"]
[[parameter]]
name = "TAG"
values = %s
default = %d
[[buffer]]
name = "in"
type = "float32"
size = "n"
role = "input"
[[buffer]]
name = "out"
type = "float32"
size = "n"
role = "output"
[[buffer]]
name = "few"
type = "float32"
size = "m"
role = "output"
[[scalar]]
name = "n"
type = "int32"
[[scalar]]
name = "m"
type = "int32"
[[launch]]
kernel = "copy"
grid = "(n + 63) / 64"
block = "64"
args = ["in", "out", "n"]
[[launch]]
kernel = "small"
grid = "1"
block = "64"
args = ["in", "few", "m"]
[oracle]
kind = "tolerance"
relative = 1e-4
absolute = 1e-4
[[case]]
name = "train"
role = "train"
args = { seed = 1, n = %d }
[[case]]
name = "held-out"
role = "held-out"
args = { seed = 2, n = %d }
"""
