"""CUDA's language: memory spaces, atomics, vector types, templates, intrinsics."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.host.build.prepare import export
from gi_cuda.backends.host.running.runtime import Runtime
from gi_cuda.backends.host.running.shard import Shard

POISON = 0xFFFDA5A6


def test_static_shared_memory_is_poisoned_at_the_start_of_every_block(host):
    text = """
    __shared__ unsigned short file_level[6];
    __device__ unsigned helper(int i) {
      __shared__ double d[2];
      unsigned long long bits = __double_as_longlong(d[i]);
      d[i] = 1.0;
      return bits >> 32;
    }
    __global__ void k(unsigned *out) {
      __shared__ unsigned s[4];
      unsigned *o = out + 4 * blockIdx.x;
      o[0] = s[3]; o[1] = helper(1);
      o[2] = file_level[4] | file_level[5] << 16;
      o[3] = isnan(__uint_as_float(s[2]));
      s[3] = 17; s[2] = 0; file_level[4] = 1;
    }"""
    outcome = host.run(text, {"out": np.zeros(12, np.uint32)}, (3,), (1,))
    np.testing.assert_array_equal(
        outcome.outputs["out"].reshape(3, 4), [[POISON, POISON, POISON, 1]] * 3
    )


def test_shared_memory_that_nobody_writes_is_no_constant(host):
    text = """
    __global__ void k(unsigned *out) {
      __shared__ unsigned never;
      __shared__ int table[8];
      out[0] = never;
      out[1] = table[out[2]];
    }"""
    outcome = host.run(text, {"out": np.zeros(3, np.uint32)}, (1,), (1,))
    np.testing.assert_array_equal(outcome.outputs["out"], [POISON, POISON, 0])


def test_shared_memory_of_a_header_that_does_not_evolve_is_one_for_a_block(host):
    header = """
    __device__ int turned(int value) {
      __shared__ int s[32];
      s[threadIdx.x] = value;
      __syncthreads();
      return s[31 - threadIdx.x];
    }
    """
    (host.folder / "turned.cuh").write_text(header)
    text = f"""
    #include "{host.folder / "turned.cuh"}"
    __global__ void k(int *out) {{ out[threadIdx.x] = turned(threadIdx.x); }}"""
    outcome = host.run(text, {"out": np.zeros(32, np.int32)}, (1,), (32,))
    np.testing.assert_array_equal(outcome.outputs["out"], np.arange(32)[::-1])


def test_dynamic_shared_memory_is_one_array_and_poisoned_in_every_block(host):
    text = """
    extern __shared__ __align__(16) unsigned char raw[];
    template <class T> __device__ T &second_half(int i) {
      extern __shared__ T everything[];
      return everything[blockDim.x + i];
    }
    __global__ void k(const float *in, float *out) {
      extern __shared__ float tile[][2];
      int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
      bool poisoned = tile[t][0] != tile[t][0] && isnan(second_half<float>(t)) && raw[0] == 0xA6;
      __syncthreads();
      ((float *)raw)[t] = in[i];
      second_half<float>(t) = 2 * in[i];
      __syncthreads();
      int flat = 2 * t;
      out[2 * i] = poisoned ? tile[t][0] : -1;
      out[2 * i + 1] = poisoned ? reinterpret_cast<float *>(raw)[flat + 1] : -1;
    }"""
    values = np.arange(48, dtype=np.float32)
    outcome = host.run(
        text, {"in": values, "out": np.zeros(96, np.float32)}, (3,), (16,), shared=128
    )
    blocks = values.reshape(3, 16)
    expected = np.concatenate([blocks, 2 * blocks], axis=1).ravel()
    np.testing.assert_array_equal(outcome.outputs["out"], expected)


def test_templates_with_shared_memory(host):
    text = """
    template <class T, int N>
    __device__ T reversed(T value) {
      __shared__ T s[N];
      s[threadIdx.x] = value;
      __syncthreads();
      return s[N - 1 - threadIdx.x];
    }
    template <class T>
    __global__ void __launch_bounds__(64) generic(T *out) {
      out[threadIdx.x] = reversed<T, 64>(T(threadIdx.x)) + reversed<int, 64>(1);
    }
    __global__ void k(float *a, short *b, int which);
    __global__ void k(float *a, short *b, int which) {
      if (which) generic<float>(a); else generic<short>(b);
    }"""
    for which in (0, 1):
        arguments = {
            "a": np.zeros(64, np.float32),
            "b": np.zeros(64, np.int16),
            "which": np.int32(which),
        }
        outcome = host.run(text, arguments, (1,), (64,))
        name = "ba"[which]
        np.testing.assert_array_equal(outcome.outputs[name], 64 - np.arange(64))


def test_an_instance_of_a_template_may_be_exported(host):
    text = """
    template <class T, int N> __global__ void scale(T *out) { out[threadIdx.x] *= N; }
    """
    out = np.arange(8, dtype=np.int32)
    exports = [export("v0", "k", "scale<int, 3>")]
    outcome = host.run(text, {"out": out}, (1,), (8,), exports=exports)
    np.testing.assert_array_equal(outcome.outputs["out"], 3 * out)


def test_spans_of_libcu(host):
    text = """
    #include <cuda/cmath>
    #include <cuda/std/span>
    __device__ int sum(cuda::std::span<const int> part) {
      int all = 0;
      for (int one : part) all += one;
      return all;
    }
    __global__ void k(int *in, int *out) {
      cuda::std::span<int> whole(in, 10);
      int each = cuda::ceil_div(int(whole.size()), int(blockDim.x));
      int begin = each * threadIdx.x, many = min(each, 10 - begin);
      int local[] = {1, 2, 3};
      out[threadIdx.x] = sum(whole.subspan(begin, many)) + 100 * sum(local) + 1000 * whole[9];
    }"""
    given = {"in": np.arange(10, dtype=np.int32), "out": np.zeros(4, np.int32)}
    got = host.run(text, given, (1,), (4,)).outputs["out"]
    np.testing.assert_array_equal(got - 9600, [3, 12, 21, 9])


def test_values_of_thrust(host):
    text = """
    #include <thrust/complex.h>
    #include <thrust/functional.h>
    #include <thrust/iterator/counting_iterator.h>
    #include <thrust/pair.h>
    #include <thrust/tuple.h>
    template <class Indices, class Join>
    __device__ int joined(Indices at, int n, Join join) {
      int found = at[0];
      for (int i = 1; i < n; i++) found = join(found, *(at + i));
      return found;
    }
    __global__ void k(float *out) {
      auto from = thrust::make_counting_iterator(3);
      out[0] = joined(from, 4, thrust::plus<int>());
      out[1] = joined(from, 4, thrust::maximum<int>());
      thrust::complex<float> z(0.0f, 2.0f);
      z = z * z + thrust::exp(thrust::complex<float>(0.0f));
      thrust::pair<float, int> both = thrust::make_pair(z.real(), 7);
      thrust::tuple<int, float> more(both.second, both.first);
      out[2] = thrust::get<1>(more);
      out[3] = thrust::get<0>(more) + thrust::abs(z);
    }"""
    got = host.run(text, {"out": np.zeros(4, np.float32)}, (1,), (1,)).outputs["out"]
    np.testing.assert_array_equal(got, [3 + 4 + 5 + 6, 6, -3, 10])


def test_host_code_may_speak_of_thrust(host):
    """In what stands beside kernels; none of it runs."""
    text = """
    #include <thrust/device_vector.h>
    #include <thrust/host_vector.h>
    #include <thrust/sort.h>
    #include <thrust/iterator/zip_iterator.h>
    #include <thrust/system/cuda/experimental/pinned_allocator.h>
    using Pinned = thrust::system::cuda::experimental::pinned_allocator<int>;
    struct Items : thrust::device_vector<int> {
      thrust::host_vector<int, Pinned> copy;
      thrust::device_ptr<int> first;
      int *raw() { return thrust::raw_pointer_cast(&(*this)[0]); }
      int distinct(cudaStream_t stream) {
        thrust::sort(thrust::cuda::par.on(stream), begin(), end());
        iterator last = thrust::unique(begin(), end());
        erase(last, end());
        return last - begin();
      }
    };
    struct Range { int first, last; };
    inline Range range_of(Items &items) { return {0, items.distinct(0)}; }
    __global__ void k(int *out) {
      Range range = {3, 8};
      out[0] = range.last - range.first;
    }"""
    got = host.run(text, {"out": np.zeros(1, np.int32)}, (1,), (1,)).outputs["out"]
    np.testing.assert_array_equal(got, [5])


def test_vector_types(host):
    text = """
    struct __align__(8) Pair { int a; float b; };
    __global__ void k(float4 *f, uchar4 *c, int3 *i, double2 *d, unsigned *sizes, int4 by_value) {
      float4 v = f[0];
      f[0] = make_float4(v.w, v.z, v.y, v.x);
      c[0] = make_uchar4(1, 2, 3, c[0].w + 1);
      i[1] = make_int3(by_value.x, by_value.y, by_value.w);
      d[0] = make_double2(d[0].y, d[0].x);
      dim3 grid(3), copy = blockDim;
      uint3 back = copy;
      unsigned s[] = {sizeof(char3), alignof(char4), sizeof(short3), alignof(int2), sizeof(float3),
                      alignof(float4), sizeof(double3), alignof(double4), sizeof(ulonglong2),
                      sizeof(Pair), alignof(Pair), grid.x + grid.y + grid.z, back.x};
      for (int j = 0; j < 13; ++j) sizes[j] = s[j];
    }"""
    by_value = np.array([(5, 6, 7, 8)], np.dtype([(n, "i4") for n in "xyzw"]))[0]
    arguments = {
        "f": np.arange(4, dtype=np.float32),
        "c": np.array([9, 9, 9, 9], np.uint8),
        "i": np.zeros(6, np.int32),
        "d": np.array([1.0, 2.0]),
        "sizes": np.zeros(13, np.uint32),
        "by_value": by_value,
    }
    got = host.run(text, arguments, (1,), (1,)).outputs
    np.testing.assert_array_equal(got["f"], [3, 2, 1, 0])
    np.testing.assert_array_equal(got["c"], [1, 2, 3, 10])
    np.testing.assert_array_equal(got["i"], [0, 0, 0, 5, 6, 8])
    np.testing.assert_array_equal(got["d"], [2, 1])
    np.testing.assert_array_equal(got["sizes"], [3, 4, 6, 8, 12, 16, 24, 16, 16, 8, 8, 5, 1])


def test_constants_and_globals_are_set_from_outside(host):
    text = """
    __constant__ float weights[4];
    __device__ int offset = 3;
    __device__ const int fixed[2] = {10, 20};
    __global__ void k(float *out) { out[threadIdx.x] = weights[threadIdx.x] + offset + fixed[1]; }
    """
    symbols = {"weights": np.array([1, 2, 3, 4], np.float32), "offset": np.array([100], np.int32)}
    outcome = host.run(text, {"out": np.zeros(4, np.float32)}, (1,), (4,), symbols=symbols)
    np.testing.assert_array_equal(outcome.outputs["out"], [121, 122, 123, 124])


def test_loads_stores_unrolled_loops_and_c_linkage(host):
    text = """
    extern "C" {
    static __device__ __forceinline__ int load(const int *__restrict__ p, int i) {
      return __ldg(p + i) + __ldcg(&p[i]) + __ldcs(&p[i]);
    }
    }
    #pragma unroll
    extern "C" __global__ void __launch_bounds__(64, 2) k(const int *__restrict__ in, int *out) {
      int sum = 0;
    #pragma unroll
      for (int i = 0; i < 8; ++i) sum += load(in, i);
    #pragma unroll 3
      for (int i = 0; i < 8; ++i) sum += in[i];
    #pragma unroll (1 + 1)
      while (sum % 7) ++sum;
    #pragma unroll 4
      __stcg(out, sum);
      asm volatile("" ::: "memory");
    }"""
    values = np.arange(8, dtype=np.int32)
    outcome = host.run(text, {"in": values, "out": np.zeros(1, np.int32)}, (1,), (1,))
    assert outcome.outputs["out"] == 112


def test_floating_point_functions(host):
    text = """
    __global__ void k(const float *in, float *out, int *bits) {
      float x = in[threadIdx.x], *o = out + 16 * threadIdx.x;
      o[0] = sqrt(abs(x)); o[1] = rsqrtf(fabsf(x) + 1); o[2] = __expf(x); o[3] = __sinf(x);
      o[4] = pow(x, 3); o[5] = __fdividef(x, 3.0f); o[6] = __saturatef(x); o[7] = floor(x);
      o[8] = fmaf(x, x, 1.0f); o[9] = fminf(x, NAN_); o[10] = max(x, NAN_); o[11] = log1pf(fabs(x));
      float s, c; __sincosf(x, &s, &c); o[12] = s + c; o[13] = exp10f(x); o[14] = fmod(x, 1.5f);
      o[15] = sizeof(sqrt(x)) + 10 * sizeof(abs(x)) + 100 * isnan(NAN_) + 200 * isinf(x);
      bits[2 * threadIdx.x] = __float_as_int(x);
      bits[2 * threadIdx.x + 1] = __float2int_rn(x) + __float2int_rd(x) + __float2int_rz(1e20f * x);
    }""".replace("NAN_", "__int_as_float(0x7fffffff)")
    x = np.array([-2.5, -1.25, 0.0, 0.3, 0.5, 2.5, 3.75], np.float32)
    n = len(x)
    arguments = {"in": x, "out": np.zeros(16 * n, np.float32), "bits": np.zeros(2 * n, np.int32)}
    got = host.run(text, arguments, (1,), (n,)).outputs
    d = x.astype(np.float64)
    expected = [
        np.sqrt(abs(d)),
        1 / np.sqrt(abs(d) + 1),
        np.exp(d),
        np.sin(d),
        d**3,
        d / 3,
        np.clip(d, 0, 1),
        np.floor(d),
        d * d + 1,
        d,
        d,
        np.log1p(abs(d)),
        np.sin(d) + np.cos(d),
        10.0**d,
        np.fmod(d, 1.5),
        np.full(n, 144.0),
    ]
    np.testing.assert_allclose(got["out"].reshape(n, 16), np.stack(expected, 1), rtol=1e-6)
    assert got["bits"][::2].tobytes() == x.tobytes()
    big = np.where(d > 0, 2**31 - 1, np.where(d < 0, -(2**31), 0))
    whole = (np.rint(d) + np.floor(d)).astype(np.int64) + big
    np.testing.assert_array_equal(got["bits"][1::2], whole.astype(np.uint64).astype(np.int32))


def test_what_is_not_offered_is_named(host):
    with pytest.raises(RuntimeError, match=r"__nv_made_up.+was not declared"):
        host.compile("__global__ void k(int *o) { *o = __nv_made_up(3); }", ["k"])
    with pytest.raises(
        RuntimeError, match=r"the host backend does not know this PTX: tcgen05\.ld %0"
    ):
        host.compile('__global__ void k(int *o) { asm("tcgen05.ld %0;" : "=r"(*o)); }', ["k"])


def test_a_texture_reference_says_what_to_use_instead(host):
    text = "texture<float, 2> t; __global__ void k(float *o) { *o = tex2D(t, 0, 0); }"
    with pytest.raises(RuntimeError, match="pass the kernel a cudaTextureObject_t"):
        host.compile(text, ["k"])


def test_complex_numbers_and_constants(host):
    text = """
    #include <cuComplex.h>
    #include <math_constants.h>
    __global__ void k(float *out) {
      cuFloatComplex a = make_cuFloatComplex(1, 2), b = cuCaddf(a, make_cuComplex(2, -6));
      cuFloatComplex product = cuCmulf(a, b), quotient = cuCdivf(product, b);
      out[0] = product.x; out[1] = cuCimagf(product); out[2] = cuCabsf(b); out[3] = quotient.y;
      out[4] = CUDART_PI_F; out[5] = CUDART_INF_F;
    }"""
    got = host.run(text, {"out": np.zeros(6, np.float32)}, (1,), (1,)).outputs["out"]
    np.testing.assert_allclose(got, [11, 2, 5, 2, np.pi, np.inf], rtol=1e-6)


def test_a_function_that_is_nowhere_defined_is_named(host, library):
    shard = host.compile(
        "__device__ int missing(int);__global__ void k(int *o) { *o = missing(1); }", ["k"]
    )
    Runtime(library)
    with pytest.raises(OSError, match="missing"):
        Shard(shard)


@pytest.mark.parametrize("first", [True, False])
def test_the_standard_headers_may_come_along(host, first):
    names = ["math.h", "cmath", "cstdlib", "stdlib.h", "stdio.h", "string.h", "time.h", "algorithm"]
    headers = "\n".join(f"#include <{name}>" for name in names)
    text = """
    using namespace std;
    __global__ void k(float *out) {
      float x = out[0];
      int i = 2;
      out[0] = sqrt(x) + abs(x) + pow(x, 2.0f) + fabs(x) + min(i, 3) + max(x, 1.0f) + ::sqrt(x) +
               floor(x) + !isnan(x) + fmod(x, 3.0f) + exp(0) + std::abs(-i) + (clock() < 0);
    }"""
    own = '#include "gi_cuda_host.hpp"\n#include <cuda_runtime.h>\n'
    host.compile(text, ["k"], prelude=own + headers if first else headers)
