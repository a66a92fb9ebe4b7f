"""Faults of kernels are caught, explained in one line, and end the process by their own signal."""

from __future__ import annotations

import signal

import numpy as np
import pytest

OUT = {"in": np.arange(1000, dtype=np.int32), "out": np.zeros(1000, np.int32)}


def fault(host, statement, *, grid=(2,), block=(64,), **options):
    text = "__device__ int zero() { return gridDim.z - 1; }\n"
    text += f"__global__ void k(int *in, int *out) {{ {statement} }}"
    return host.run(text, OUT, grid, block, **options)


@pytest.mark.parametrize(
    ("statement", "report"),
    [
        ("out[1000] = 1;", "write 0 bytes past the end of 'out' (4000 bytes)"),
        ("out[0] = in[1001];", "read 4 bytes past the end of 'in' (4000 bytes)"),
        ("out[-1000] = 1;", "write 4000 bytes before the begin of 'out' (4000 bytes)"),
        ("out[0] = in[0xFFFDA5A5];", None),
        (
            "out[0] = in[int(0xFFFDA5A5)];",
            "read 616812 bytes before the begin of 'in' (4000 bytes)",
        ),
        ("*(int *)(size_t)(8 + zero()) = 1;", "write through a null pointer (address 0x8)"),
    ],
)
def test_accesses_beside_a_buffer(host, statement, report):
    outcome = fault(host, statement)
    assert outcome.status == -signal.SIGSEGV
    if report:
        assert outcome.report == f"{report} in thread (0,0,0) of block (0,0,0)\n"
    assert outcome.report.count("\n") == 1


SHARED = """
template <int N> __device__ int *filled(int i) {
  __shared__ int tile[N];
  __shared__ int next[N];
  tile[i] = next[i] = i;
  return tile;
}
__shared__ unsigned char flags[3];
__global__ void k(int *out, int i, int n) {
  __shared__ int s[64];
  s[threadIdx.x] = flags[threadIdx.x % 3] = threadIdx.x;
  int *tile = filled<256>(threadIdx.x);
  STATEMENT;
  out[threadIdx.x] = s[n] + tile[0];
}"""


def shared(host, statement, i):
    arguments = {"out": np.zeros(64, np.int32), "i": np.int32(i), "n": np.int32(1)}
    return host.run(SHARED.replace("STATEMENT", statement), arguments, (2,), (64,))


@pytest.mark.parametrize(
    ("statement", "i", "report"),
    [
        ("s[i] = 1", 64, "write 0 bytes past the end of '__shared__ s' (256 bytes)"),
        ("n = s[i]", 65, "read 4 bytes past the end of '__shared__ s' (256 bytes)"),
        ("n = s[i] & 1", -1000, "read 4000 bytes before the begin of '__shared__ s' (256 bytes)"),
        ("flags[i] = 1", 3, "write 0 bytes past the end of '__shared__ flags' (3 bytes)"),
        ("tile[i] = 1", 256, "write 0 bytes past the end of '__shared__ tile' (1024 bytes)"),
        (
            "n = tile[i] & 1",
            5000,
            "read 18976 bytes past the end of '__shared__ tile' (1024 bytes)",
        ),
    ],
)
def test_accesses_beyond_static_shared_memory(host, statement, i, report):
    outcome = shared(host, statement, i)
    assert outcome.status == -signal.SIGSEGV
    assert outcome.report == f"{report} in thread (0,0,0) of block (0,0,0)\n"


@pytest.mark.parametrize(
    ("statement", "i", "name"),
    [
        ("s[i] = 1", -1, "s"),
        ("tile[i] = 1", -1, "tile"),
        ("tile[i] = 1", -3, "tile"),
        ("tile[i] = s[i]", -1, "tile"),
        ("unsigned unwritten; s[i] = (unwritten = 0xFFFDA5A5)", -1, "s"),
    ],
)
def test_a_write_just_beside_static_shared_memory_is_found_after_the_launch(
    host, statement, i, name
):
    outcome = shared(host, statement, i)
    assert outcome.error == f"Overrun: the bytes beside '__shared__ {name}' were written"


def test_what_is_beside_static_shared_memory_is_poison(host):
    outcome = shared(host, "s[1] = s[i]", -1)
    assert (outcome.status, outcome.error) == (0, "")
    found = int(outcome.outputs["out"].view(np.uint32)[5])
    assert 0xFFFD0000 < found < 0xFFFDA5A5, "it is a NaN, and not what nothing was written to holds"


@pytest.mark.parametrize(
    "statement",
    [
        "int i = blockIdx.x * 64 + threadIdx.x; if (i > n) return; out[i] = in[i]",
        "out[-1] = in[-1]",
        "in[-1] = out[-1]",
        "out[-1] = 0xFFFDA5A5",
    ],
)
def test_what_lies_beside_one_buffer_is_not_copied_beside_another_unseen(host, statement):
    items = np.arange(1001, dtype=np.int32)
    text = f"__global__ void k(int *in, int *out, int n) {{ {statement}; }}"
    arguments = {"in": items, "out": 0 * items, "n": np.int32(1001)}
    outcome = host.run(text, arguments, (16,), (64,))
    assert outcome.error in [f"Overrun: the bytes beside buffer '{x}' were written" for x in OUT]


def test_each_block_finds_poison_in_what_templates_share(host):
    text = """
    template <int N> __device__ void step(unsigned *out) {
      __shared__ unsigned s[N];
      out[blockIdx.x] = s[0];
      s[0] = 1;
    }
    __global__ void k(unsigned *out) { step<4>(out); }"""
    outcome = host.run(text, {"out": np.zeros(3, np.uint32)}, (3,), (1,))
    assert outcome.outputs["out"].tolist() == [0xFFFDA5A6] * 3


def test_the_report_names_the_thread(host):
    outcome = fault(host, "int i = blockIdx.x * 64 + threadIdx.x; if (i == 100) out[1 << 20] = 1;")
    assert outcome.status == -signal.SIGSEGV
    assert outcome.report.endswith("in thread (36,0,0) of block (1,0,0)\n")


def test_the_report_names_the_thread_that_runs_on_another_fibre(host):
    outcome = fault(host, "__syncthreads(); if (threadIdx.x == 17) out[1 << 20] = 1;")
    assert outcome.status == -signal.SIGSEGV
    assert outcome.report.endswith("in thread (17,0,0) of block (0,0,0)\n")


@pytest.mark.parametrize("index", [-1, 3])
def test_a_write_too_near_for_the_guard_page_is_found_after_the_launch(host, index):
    text = "__global__ void k(char *out, int i) { out[i] = 1; }"
    arguments = {"out": np.zeros(3, np.int8), "i": np.int32(index)}
    outcome = host.run(text, arguments, (1,), (1,))
    assert outcome.error == "Overrun: the bytes beside buffer 'out' were written"


def test_dynamic_shared_memory_ends_at_a_guard_page(host):
    text = """
    __global__ void k(int *out) {
      extern __shared__ int s[];
      s[blockDim.x * (blockIdx.x + 1)] = 1;
    }"""
    arguments = {"out": np.zeros(1, np.int32)}
    outcome = host.run(text, arguments, (2,), (64,), shared=2 * 64 * 4)
    assert outcome.status == -signal.SIGSEGV
    assert outcome.report == (
        "write 0 bytes past the end of 'dynamic shared memory' (512 bytes) "
        "in thread (0,0,0) of block (1,0,0)\n"
    )


def test_division_by_zero(host):
    outcome = fault(host, "out[0] = in[5] / zero();")
    assert outcome.status == -signal.SIGFPE
    assert outcome.report.startswith("integer division by zero")


def test_trap(host):
    outcome = fault(host, "if (threadIdx.x == 3) __trap();")
    assert outcome.status in (-signal.SIGILL, -signal.SIGTRAP)
    assert outcome.report.startswith("__trap")
    assert outcome.report.endswith("in thread (3,0,0) of block (0,0,0)\n")


def test_assertions(host):
    outcome = fault(host, "assert(in[threadIdx.x] < 5);")
    assert outcome.status == -signal.SIGABRT
    assert "in[threadIdx.x] < 5" in outcome.report
    assert "in thread (5,0,0) of block (0,0,0)" in outcome.report


@pytest.mark.parametrize(
    "statement",
    [
        "for (;;) ;",
        "while (zero() == 0) ;",
        "__syncthreads(); if (threadIdx.x == 7) for (int i = 1; i > 0; ++i) i = 5;",
        "while (!in[0]) __nanosleep(10);",
    ],
)
def test_endless_loops_end_with_the_limit(host, statement):
    outcome = fault(host, statement, limit=0.05)
    assert outcome.status == -signal.SIGPROF


def test_the_limit_is_for_each_launch_alone(host):
    outcome = fault(host, "out[0] = 1;", limit=1e9)
    assert outcome.status == 0
    assert outcome.outputs["out"][0] == 1


@pytest.mark.parametrize("barrier", ["", "__syncthreads();"])
def test_stack_overflow(host, barrier):
    text = """
    __device__ __noinline__ int deep(volatile int *p, int n) {
      volatile int local[64];
      local[n & 63] = n;
      return deep(p, n + 1) + local[*p & 63];
    }
    __global__ void k(int *out) { BARRIER out[0] = deep(out, 0); }""".replace("BARRIER", barrier)
    outcome = host.run(text, {"out": np.zeros(1, np.int32)}, (1,), (64,))
    assert outcome.status == -signal.SIGSEGV
    assert outcome.report.startswith("stack overflow in thread (")


def test_local_arrays_of_many_kilobytes_fit(host):
    text = """
    __global__ void k(int *out) {
      volatile int local[40000];
      for (int i = 0; i < 40000; ++i) local[i] = i;
      __syncthreads();
      out[threadIdx.x] = local[threadIdx.x + 39000];
    }"""
    outcome = host.run(text, {"out": np.zeros(256, np.int32)}, (1,), (256,))
    np.testing.assert_array_equal(outcome.outputs["out"], 39000 + np.arange(256))
