"""Matrix elements of each thread in ldmatrix, stmatrix and mma.sync, checked by PTX's manual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from gi_cuda.backends.host.ptx import Unknown, translated

LANE = np.arange(32)
GROUP, PART = LANE // 4, LANE % 4


def a_place(kind, i):
    """Row and column of a thread's i-th element of the left matrix."""
    if kind in ("f16", "bf16"):
        return GROUP + 8 * (i in (2, 3, 6, 7)), PART * 2 + (i & 1) + 8 * (i >= 4)
    if kind == "s8":
        return GROUP + 8 * (4 <= i < 8 or i >= 12), PART * 4 + (i & 3) + 16 * (i >= 8)
    if kind == "tf32":
        return GROUP + 8 * (i in (1, 3)), PART + 4 * (i >= 2)
    return GROUP, PART


def b_place(kind, i):
    """Row and column of a thread's i-th element of the right matrix."""
    if kind in ("f16", "bf16"):
        return PART * 2 + (i & 1) + 8 * (i >= 2), GROUP
    if kind == "s8":
        return PART * 4 + (i & 3) + 16 * (i >= 4), GROUP
    return PART + 4 * i, GROUP


def c_place(i):
    return GROUP + 8 * (i >= 2), PART * 2 + (i & 1)


@dataclass(frozen=True)
class Shape:
    """Shape and types of a matrix product."""

    rows: int
    depth: int
    kind: str
    numbers: type
    result: str
    results: type

    @property
    def text(self):
        types = f"{self.result}.{self.kind}.{self.kind}.{self.result}"
        return f"mma.sync.aligned.m{self.rows}n8k{self.depth}.row.col.{types}"


SHAPES = [
    Shape(16, 16, "f16", np.float16, "f32", np.float32),
    Shape(16, 8, "f16", np.float16, "f32", np.float32),
    Shape(16, 16, "f16", np.float16, "f16", np.float16),
    Shape(16, 16, "bf16", np.float32, "f32", np.float32),
    Shape(16, 8, "tf32", np.float32, "f32", np.float32),
    Shape(16, 4, "tf32", np.float32, "f32", np.float32),
    Shape(16, 32, "s8", np.int8, "s32", np.int32),
    Shape(16, 16, "s8", np.int8, "s32", np.int32),
    Shape(8, 16, "s8", np.int8, "s32", np.int32),
    Shape(8, 4, "f64", np.float64, "f64", np.float64),
]
CONSTRAINT = {np.uint32: ("r", "unsigned"), np.int32: ("r", "int")}
CONSTRAINT |= {np.float32: ("f", "float"), np.float64: ("d", "double")}


def held(matrix, place, kind):
    """The words of each thread that make up a matrix."""
    elements = np.stack([matrix[place(kind, i)] for i in range(matrix.size // 32)], axis=1)
    if kind == "bf16":
        elements = (np.ascontiguousarray(elements).view(np.uint32) >> 16).astype(np.uint16)
    word = np.float64 if kind == "f64" else np.uint32
    return np.ascontiguousarray(elements).view(word)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.text[17:])
def test_products(host, shape):
    rng = np.random.default_rng(2)
    sizes = (shape.rows, shape.depth), (shape.depth, 8), (shape.rows, 8)
    left, right, added = (rng.integers(-9, 10, size).astype(shape.numbers) for size in sizes)
    sums = np.stack([added[c_place(i)] for i in range(added.size // 32)], axis=1)
    sums = sums.astype(shape.results)
    c = sums.view(np.uint32) if shape.result == "f16" else sums
    words = {"a": held(left, a_place, shape.kind), "b": held(right, b_place, shape.kind), "c": c}
    number, lists, inputs, parameters = c.shape[1], [], [], []
    letter, unit = CONSTRAINT[c.dtype.type]
    outputs = [f'"={letter}"(d[threadIdx.x * {number} + {i}])' for i in range(number)]
    lists.append(range(number))
    for name, one in words.items():
        way, kind = CONSTRAINT[one.dtype.type]
        parameters.append(f"const {kind} *{name}")
        count = one.shape[1]
        lists.append(range(number, number + count))
        inputs += [f'"{way}"({name}[threadIdx.x * {count} + {i}])' for i in range(count)]
        number += count
    registers = ", ".join("{" + ", ".join(f"%{at}" for at in one) + "}" for one in lists)
    text = f"""__global__ void k({", ".join(parameters)}, {unit} *d) {{
      asm volatile("{shape.text} {registers};\\n" : {", ".join(outputs)} : {", ".join(inputs)});
    }}"""
    buffers = {name: one.reshape(-1) for name, one in words.items()}
    buffers["d"] = np.zeros(c.size, c.dtype)
    got = host.run(text, buffers, (1,), (32,)).outputs["d"].view(shape.results).reshape(32, -1)
    wanted = left.astype(np.float64) @ right.astype(np.float64) + added
    for i in range(got.shape[1]):
        np.testing.assert_array_equal(got[:, i], wanted[c_place(i)].astype(shape.results))


@pytest.mark.parametrize("transposed", ["", ".trans"])
@pytest.mark.parametrize("back", ["", ".trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices_are_loaded_and_stored(host, count, transposed, back):
    matrices = np.arange(64 * count, dtype=np.uint16).reshape(count, 8, 8)
    loaded = ", ".join(f"%{at}" for at in range(count))
    stored = ", ".join(f"%{at + 1}" for at in range(count))
    results = ", ".join(f'"=r"(words[{at}])' for at in range(count))
    values = ", ".join(f'"r"(words[{at}])' for at in range(count))
    shape = f"m8n8.x{count}"
    text = f"""
    __global__ void k(const unsigned short *in, unsigned *held, unsigned short *out) {{
      __shared__ __align__(16) unsigned short tile[{64 * count}], other[{64 * count}];
      for (int i = threadIdx.x; i < {64 * count}; i += 32) tile[i] = in[i];
      __syncwarp();
      unsigned words[{count}], row = threadIdx.x % {8 * count} * 8;
      unsigned from = __cvta_generic_to_shared(tile + row);
      unsigned to = __cvta_generic_to_shared(other + row);
      asm volatile("ldmatrix.sync.aligned.{shape}{transposed}.shared.b16 {{{loaded}}}, [%{count}];"
                   : {results} : "r"(from));
      asm volatile("stmatrix.sync.aligned.{shape}{back}.shared.b16 [%0], {{{stored}}};"
                   : : "r"(to), {values});
      for (int i = 0; i < {count}; ++i) held[threadIdx.x * {count} + i] = words[i];
      __syncwarp();
      for (int i = threadIdx.x; i < {64 * count}; i += 32) out[i] = other[i];
    }}"""
    buffers = {
        "in": matrices.reshape(-1),
        "held": np.zeros(32 * count, np.uint32),
        "out": np.zeros(64 * count, np.uint16),
    }
    got = host.run(text, buffers, (1,), (32,)).outputs
    meant = matrices.transpose(0, 2, 1) if transposed else matrices
    for at in range(count):
        words = got["held"].reshape(32, count)[:, at]
        np.testing.assert_array_equal(words & 0xFFFF, meant[at][GROUP, 2 * PART])
        np.testing.assert_array_equal(words >> 16, meant[at][GROUP, 2 * PART + 1])
    stored = meant.transpose(0, 2, 1) if back else meant
    np.testing.assert_array_equal(got["out"].reshape(count, 8, 8), stored)


@pytest.mark.parametrize(
    "instruction",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1}, {%2, %3}, {%4, %5}, {%6, %7};",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0}, {%1}, {%2}, {%3};",
        "mma.sync.aligned.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1}, [%2];",
    ],
)
def test_what_is_not_known_is_refused(instruction):
    inputs = ", ".join('"r"(x)' for _ in range(instruction.count("%") - 1))
    with pytest.raises(Unknown, match=instruction.split()[0]):
        translated(f'"{instruction}" : "=r"(y) : {inputs}')
