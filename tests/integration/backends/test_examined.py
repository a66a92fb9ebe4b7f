"""A closer look at variants that the host compiler really compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.backends.host.build.examine import ASSEMBLY, AT_LOAD
from gi_cuda.backends.host.build.library import find_compiler
from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Phenotype, Variant

HEADERS = "#include <cuda_runtime.h>\n#include <assert.h>\n"


def compiler() -> HostCompiler:
    return HostCompiler(
        cxx=find_compiler(),
        file_name="k.cu",
        front=HEADERS,
        kernels=("k",),
        options=("-std=c++17", "-O2"),
        jobs=1,
    )


def examined(text: str, body: str = "") -> Examination:
    whole = f"{text}\n__global__ void k(float *out, int n) {{ {body} }}\n"
    return compiler().examined(Variant(3, whole, {}))


def test_host_functions_are_told_also_those_that_others_call() -> None:
    found = examined(
        """
        __device__ float asked() { return std::getenv("HOME") ? 1 : 2; }
        __device__ void kept(float v) { FILE *f = fopen("/tmp/x", "wb"); fwrite(&v, 4, 1, f); }
        void only_the_host(const char *words) { system(words); }
        """,
        "out[0] = asked(); kept(out[0]);",
    )
    assert found.foreign == {"getenv", "fopen", "fwrite"}


def test_device_functions_are_not_told() -> None:
    found = examined(
        """
        __constant__ float table[4] = {1, 2, 3, 4};
        __device__ const int steps[2] = {3, 5};
        template <class F> __device__ float with(F f, float v) { return f(v); }
        """,
        """
        __shared__ float part[32];
        static const float few[2] = {0.5f, 0.25f};
        assert(n > 0);
        float *own = (float *)malloc(16), v = part[threadIdx.x & 31];
        memset(own, 0, 16);
        float wide;
        asm("add.rn.f32 %0, %1, %2;" : "=f"(wide) : "f"(v), "f"(own[n & 3]));
        v = with([=](float x) { return sinf(x) + powf(x, 0.3f) + table[n & 3]; }, wide);
        v += __shfl_xor_sync(~0u, v, 1) + float(clock64() & 1) + fmodf(v, few[n & 1]);
        if (n > 3) printf("%f of %d", v, steps[n & 1]);
        part[threadIdx.x & 31] = v;
        __syncthreads();
        atomicAdd(out, part[0]);
        free(own);
        """,
    )
    assert found == Examination()


@pytest.mark.parametrize(
    "text",
    [
        "#ifndef GI_HOST\n#error no\n#endif",
        "#define TWO(a, b) a##b\n#define BOTH(a, b) TWO(a, b)\n#if BOTH(GI_, HOST)\n#endif",
        'extern "C" void gi_limit(double);',
    ],
    ids=["asked for", "put together", "declared"],
)
def test_names_of_the_emulator_are_told(text: str) -> None:
    assert examined(text, "out[0] = n;").foreign <= {"GI_HOST", "gi_limit"}
    assert examined(text, "out[0] = n;").foreign


def test_assembly_that_only_looks_like_a_text_and_code_that_runs_at_loading_are_told() -> None:
    hidden = 'R"(\n)"; asm volatile("nop"); const char *other = "'
    found = examined(
        "int began(); int once = began(); int began() { volatile int x = 3; return x; }",
        f'const char *said = {hidden}"; out[0] = said[0] + other[0] + once;',
    )
    assert {ASSEMBLY, AT_LOAD} <= found.foreign


def test_new_variables_that_kernels_write_are_told() -> None:
    found = examined(
        "__device__ int counter; namespace own { struct Kept { static __device__ float last; }; }"
        "__device__ float own::Kept::last;",
        "static int calls; out[0] = ++calls + counter++; out[1] = own::Kept::last += out[0];",
    )
    assert found.state == {"counter", "own::Kept::last", "k(float*, int)::calls"}


def test_locals_that_loops_carry_are_perhaps_unset() -> None:
    found = examined("", "float m; for (int i = 0; i < n; i++) m = fmaxf(m, out[i]); out[0] = m;")
    assert found.perhaps_unset == {"m"}
    assert not found.unset


def test_an_undefined_function_fails_its_variant_alone(tmp_path: Path) -> None:
    kernel = "__global__ void k(float *out, int n) { out[0] = %s; }"
    texts = [kernel % "1", f"__device__ int lost(int);\n{kernel % 'lost(n)'}", kernel % "2"]
    variants = [Variant(number, text, {}) for number, text in enumerate(texts)]
    found = compiler().preprocess(variants)
    ready = [one for one in found.values() if isinstance(one, Phenotype)]
    built = {one.ident: one for one in compiler().compile(ready, tmp_path)}
    assert isinstance(built[0], Binary)
    assert isinstance(built[2], Binary)
    assert isinstance(built[1], BuildFailure)
    said = "k.cu:1: lost(int) is declared, but nothing that is compiled defines it"
    assert built[1].message == said
