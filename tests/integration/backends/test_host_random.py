"""cuRAND's device functions: the numbers of the original, for seeds, sequences and offsets."""

from __future__ import annotations

import numpy as np
import pytest

KERNEL = """
#include <curand_kernel.h>
__global__ void k(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                  unsigned *bits, double *numbers) {
  STATE s;
  curand_init(seed, sequence, offset, &s);
  for (int i = 0; i < 3; ++i) bits[i] = curand(&s);
  numbers[0] = curand_uniform(&s);
  numbers[1] = curand_uniform_double(&s);
  numbers[2] = curand_normal(&s);
  numbers[3] = curand_normal(&s);
  numbers[4] = curand_normal_double(&s);
}"""


@pytest.mark.parametrize(
    ("state", "arguments", "bits", "uniform", "normal"),
    [
        (
            "curandState",
            (0, 0, 0),
            [3179217846, 1883133293, 2220552389],
            (0.156988621, 0.46250842073016324),
            [1.51097095, -0.822750092, -0.456207218986],
        ),
        (
            "curandStateXORWOW",
            (1234, 5, 0),
            [3732235839, 2152834071, 919474540],
            (0.3802872, 0.62932654820218703),
            [-0.848760843, 0.163443461, 1.82920319413],
        ),
        (
            "curandState",
            (3917405024756549, 1000003, 77),
            [3519786993, 317144020, 2149967923],
            (0.987880707, 0.79407443498788721),
            [1.51198852, -0.512107849, 2.32890611589],
        ),
        (
            "curandStatePhilox4_32_10_t",
            (1234, 0, 0),
            [546353992, 3665621163, 1140953199],
            (0.796055257, 0.62083233660086989),
            [-0.299034804, 2.06982613, -1.59424062789],
        ),
        (
            "curandStatePhilox4_32_10",
            (3917405024756549, 1000003, 77),
            [264871465, 1763787524, 1640216332],
            (0.949322283, 0.81516615650616586),
            [-2.49201632, 0.479929775, -0.610538698594],
        ),
    ],
)
def test_numbers_are_those_of_curand(host, state, arguments, bits, uniform, normal):
    names = ("seed", "sequence", "offset")
    given = {name: np.uint64(value) for name, value in zip(names, arguments, strict=True)}
    buffers = {**given, "bits": np.zeros(3, np.uint32), "numbers": np.zeros(5)}
    got = host.run(KERNEL.replace("STATE", state), buffers, (1,), (1,)).outputs
    assert list(got["bits"]) == bits
    assert list(got["numbers"][:2]) == [np.float32(uniform[0]), uniform[1]]
    np.testing.assert_allclose(got["numbers"][2:], normal, rtol=1e-6)


@pytest.mark.parametrize("state", ["curandState", "curandStatePhilox4_32_10_t"])
def test_skipping_is_drawing(host, state):
    text = f"""
    #include <curand_kernel.h>
    __global__ void k(unsigned *out) {{
      {state} a, b;
      curand_init(7, threadIdx.x, 0, &a);
      curand_init(7, threadIdx.x, 11, &b);
      for (int i = 0; i < 11; ++i) curand(&a);
      out[2 * threadIdx.x] = curand(&a);
      skipahead(0ull, &b);
      out[2 * threadIdx.x + 1] = curand(&b);
    }}"""
    got = host.run(text, {"out": np.zeros(64, np.uint32)}, (1,), (32,)).outputs["out"]
    np.testing.assert_array_equal(got[::2], got[1::2])
    assert len(set(got[::2])) == 32
