"""No variable of a library keeps anything from one run of a variant to the next."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.backends.host.build.library import build_library, find_compiler
from gi_cuda.backends.host.running.runtime import Runtime
from gi_cuda.backends.host.running.variables import Libraries, OpenLibrary
from gi_cuda.backends.protocol.variants import Binary, Variant

FRONT = "static int header;\n"

TEXT = """
__device__ int zero, *points = &zero;
static __device__ int five = 5;
__constant__ int fixed[2] = {1, 2};
__device__ unsigned char large[1 << 20];
__device__ int first() { return 11; }
__device__ int computed = first();
template <int N> struct Of { static int value; };
template <int N> int Of<N>::value = N;
namespace inner { struct Held { int a, b; }; __device__ Held held = {3, 4}; }
extern "C" { __device__ int plain = 6; }

__device__ int count() { static int calls = 7; return calls++; }

__global__ void k(int *out) {
    static int own;
    large[4096] += 1;
    points = points == &zero ? &five : &zero;
    int seen[] = {zero++, five++, fixed[1]++, large[4096], computed++, Of<9>::value++,
                  inner::held.b++, plain++, count(), own++, header++, points == &five};
    for (int i = 0; i < 12; i++)
        out[i] = seen[i];
}
"""

SEEN = [0, 5, 2, 1, 11, 9, 4, 6, 7, 0, 0, 1]
"""Values of the variables in the kernel's first run."""


@pytest.fixture(scope="module")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> list[Binary]:
    compiler = HostCompiler(
        file_name="kernel.cu",
        front=FRONT,
        options=("-O2",),
        jobs=1,
        kernels=("k",),
        cxx=find_compiler(),
    )
    # Variant 1 is told from 15 by more than how their names begin.
    variants = [Variant(ident, TEXT, {}) for ident in (1, 15)]
    built = build_batch(compiler, variants, tmp_path_factory.mktemp("variables"))
    found = [one for _, one in sorted(built.items()) if isinstance(one, Binary)]
    assert found[0].path == found[1].path
    return found


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return Runtime(build_library())


def run(runtime: Runtime, library: OpenLibrary, binary: Binary) -> list[int]:
    out = runtime.alloc("out", np.int32, len(SEEN))
    kernel = library.shard.kernel(binary.namespace, "k")
    runtime.run(runtime.call(kernel, [out], [1], [1]))
    seen = [int(one) for one in out]
    runtime.free(out)
    return seen


def test_all_are_what_they_were(runtime: Runtime, binaries: list[Binary]) -> None:
    libraries, (one, other) = Libraries(), binaries
    library = libraries.open(one.path, one.namespace)
    assert run(runtime, library, one) == SEEN
    assert run(runtime, library, one) != SEEN
    library.restore(one.namespace)
    assert run(runtime, library, one) == SEEN
    # A variant that is loaded when others have run.
    again = libraries.open(other.path, other.namespace)
    again.restore(other.namespace)
    assert run(runtime, again, other) == SEEN
    # One that is loaded a second time, by way of a library that stays open.
    libraries.close(again)
    again = libraries.open(one.path, one.namespace)
    again.restore(one.namespace)
    assert run(runtime, again, one) == SEEN
    libraries.close(again)
    libraries.close(library)


def test_each_variant_has_its_own(runtime: Runtime, binaries: list[Binary]) -> None:
    libraries, (one, other) = Libraries(), binaries
    library = libraries.open(one.path, one.namespace)
    libraries.open(other.path, other.namespace)
    run(runtime, library, one)
    library.restore(other.namespace)
    seen = run(runtime, library, one)
    assert (seen[0], seen[1]) == (1, 6)
    # What comes from a header is all variants'.
    assert seen[10] == 0
