"""Warp functions whose mask excludes a calling thread: refused, or done as devices do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.host.build.objects import OPTIONS, code_keys
from tests.integration.backends.conftest import Host
from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests

LEFT_OUT = """
__global__ void k(const int *in, int *out) {
  int value = in[threadIdx.x];
  unsigned mask = 0x0000ffffu;
  value += __shfl_down_sync(mask, value, 16);
  value += __shfl_xor_sync(mask, value, 1);
  out[threadIdx.x] = value;
}"""


def test_who_is_left_out_is_told_of_with_line_block_and_thread(host):
    out = np.zeros(64, np.int32)
    outcome = host.run(LEFT_OUT, {"in": np.arange(64, dtype="i4"), "out": out}, (1,), (64,))
    assert outcome.error.startswith("BadMask: line ")
    assert "of block (0,0,0), lane " in outcome.error
    assert outcome.error.endswith(
        "calls a warp function with the mask 0x0000ffff, which leaves it out"
    )


def test_as_devices_do_those_at_a_place_exchange_whatever_their_masks(host):
    values = np.arange(64, dtype=np.int32) ** 2
    out = np.zeros(64, np.int32)
    outcome = host.run(LEFT_OUT, {"in": values, "out": out}, (1,), (64,), masks="device")
    warps = values.reshape(2, 32)
    down = warps + np.hstack([warps[:, 16:], warps[:, 16:]])
    np.testing.assert_array_equal(
        outcome.outputs["out"].reshape(2, 32), down + down[:, np.arange(32) ^ 1]
    )


def test_as_devices_do_those_a_mask_names_are_waited_for(host):
    text = """
    __global__ void k(int *out) {
      __shared__ int s[64];
      int t = threadIdx.x, lane = t % 32, value = 0;
      if (lane >= 16) value = __shfl_sync(0xffff0000u, t, 20);
      s[t] = value;
      if (t & 1) { __syncwarp(); value += s[t ^ 16]; }
      else { value += 1; __syncwarp(); }
      value += __popc(__ballot_sync(0xffffffffu, lane < 5));
      __syncthreads();
      if (t < 40) value += 100 * __popc(__activemask());
      out[t] = value;
    }"""
    outcome = host.run(text, {"out": np.zeros(64, np.int32)}, (1,), (64,), masks="device")
    t = np.arange(64)
    upper = t // 32 * 32 + 20
    own = np.where(t % 32 >= 16, upper, 0)
    expected = own + np.where(t % 2, own[t ^ 16], 1) + 5
    expected += np.where(t < 40, 100 * np.where(t < 32, 32, 8), 0)
    np.testing.assert_array_equal(outcome.outputs["out"], expected)


def test_as_devices_do_a_thread_may_be_named_by_nobody(host):
    text = """
    __global__ void k(int *out) {
      int t = threadIdx.x;
      if (t >= 24) return;
      out[t] = __shfl_up_sync(t & 32, t, 1) + 100 * __any_sync(1u << 31, t == 3);
    }"""
    outcome = host.run(text, {"out": np.zeros(32, np.int32)}, (1,), (32,), masks="device")
    t = np.arange(32)
    np.testing.assert_array_equal(
        outcome.outputs["out"], np.where(t < 24, np.maximum(t - 1, 0) + 100, 0)
    )


def test_lines_are_in_the_code_only_where_a_mask_may_leave_somebody_out(
    folder: Path, library: Path
) -> None:
    text = """
    __global__ void k(const int *in, int *out) {
      int value = in[threadIdx.x];
      LINES
      for (int d = 16; d; d /= 2) value += __shfl_down_sync(0xffffffffu, value, d);
      __syncwarp();
      out[threadIdx.x] = value + __any_sync(~0u, value > 3);
    }"""
    keys = []
    for lines in ("", "\n\n\n"):
        here = Host(folder, library, {})
        made = here.compile(text.replace("LINES", lines), ["k"], options=("-O2", *OPTIONS))
        keys.append(code_keys(Elf(made.with_suffix(".o").read_bytes())))
    assert keys[0] == keys[1]
    assert keys[0][0]["k"]
