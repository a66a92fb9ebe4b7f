"""Shards call library functions of the process that loads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.backends.host.build.library import build_library, find_compiler
from gi_cuda.backends.host.running.runtime import Runtime
from gi_cuda.backends.host.running.shard import Shard
from gi_cuda.backends.protocol.variants import Binary, Variant

TEXT = """
__device__ float lasting() { static float value = expf(2.0f); return value; }

__global__ void k(double *out, int n) {
    int *one = new int(n);
    out[0] = pow((double)*one, 1.5);
    out[1] = powf(n, 2.5f);
    out[2] = (long long)((__int128)n * 1000000007LL * 1000000007LL / (n + 1));
    out[3] = lasting();
    delete one;
}
"""


def test_functions_of_the_languages_libraries(tmp_path: Path) -> None:
    words = {"file_name": "kernel.cu", "front": "#include <math.h>\n", "options": ("-O2",)}
    compiler = HostCompiler(**words, jobs=1, kernels=("k",), cxx=find_compiler())
    built = build_batch(compiler, [Variant(1, TEXT, {})], tmp_path)[1]
    assert isinstance(built, Binary), built
    # Otherwise the linker reads many names of which hardly any shard needs one.
    assert b"libstdc++" not in Elf(built.path.read_bytes()).content(".dynstr")
    runtime = Runtime(build_library())
    shard = Shard(built.path)
    out = runtime.alloc("out", "float64", 4)
    runtime.run(runtime.call(shard.kernel("v1", "k"), [out, np.int32(7)], (1,), (1,)))
    expected = [7**1.5, 7**2.5, 7 * 1000000007**2 // 8, np.exp(2)]
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    runtime.free(out)
    shard.close()
