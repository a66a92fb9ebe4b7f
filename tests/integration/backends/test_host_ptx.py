"""Inline PTX, as PTX's manual has it."""

from __future__ import annotations

import numpy as np
import pytest


def asm(template, given, kind="r", result="r"):
    """A statement that works on in[0], in[1] and so on, and puts its result into out[0]."""
    operands = ", ".join(f'"{kind}"(in[{at}])' for at in range(given))
    return f'asm("{template}" : "={result}"(out[0]) : {operands});'


def each_of(statements, of, kind):
    """A kernel that runs one of them, by its number: all are compiled at once."""
    cases = "".join(
        f"    case {number}: {asm(template, len(given), kind, kind)} break;\n"
        for number, (template, given, _) in enumerate(statements)
    )
    parameters = f"int chosen, const {of} *in, {of} *out"
    return f"__global__ void k({parameters}) {{\n  switch (chosen) {{\n{cases}  }}\n}}"


def bits(values, dtype=np.uint32):
    return np.array(values, dtype)


INTEGERS = [
    ("add.u32 %0, %1, %2;", [7, 2**32 - 1], 6),
    ("sub.s32 %0, %1, %2;", [1, 3], 2**32 - 2),
    ("mul.lo.u32 %0, %1, %2;", [2**31, 3], 2**31),
    ("mul.hi.u32 %0, %1, %2;", [2**31, 6], 3),
    ("mul.hi.s32 %0, %1, %2;", [2**32 - 1, 6], 2**32 - 1),
    ("mad.lo.s32 %0, %1, %2, -5;", [3, 4], 7),
    ("mul24.lo.u32 %0, %1, %2;", [0xFF000003, 5], 15),
    ("sad.u32 %0, %1, %2, %3;", [3, 10, 100], 107),
    ("min.s32 %0, %1, %2;", [2**32 - 1, 4], 2**32 - 1),
    ("max.u32 %0, %1, %2;", [2**32 - 1, 4], 2**32 - 1),
    ("abs.s32 %0, %1;", [2**32 - 9], 9),
    ("and.b32 %0, %1, 0xF0;", [0x1234], 0x30),
    ("not.b32 %0, %1;", [0], 2**32 - 1),
    ("shl.b32 %0, %1, %2;", [3, 40], 0),
    ("shr.s32 %0, %1, %2;", [2**31, 40], 2**32 - 1),
    ("shr.u32 %0, %1, 4;", [2**31], 2**27),
    ("shf.l.wrap.b32 %0, %1, %2, 8;", [0xAA000000, 0x11], 0x11AA),
    ("shf.r.clamp.b32 %0, %1, %2, 40;", [1, 0x77], 0x77),
    ("popc.b32 %0, %1;", [0xF0F0], 8),
    ("clz.b32 %0, %1;", [0], 32),
    ("bfind.u32 %0, %1;", [0x00800000], 23),
    ("bfind.u32 %0, %1;", [0], 2**32 - 1),
    ("bfind.shiftamt.u32 %0, %1;", [0x00800000], 8),
    ("bfind.s32 %0, %1;", [2**32 - 2], 0),
    ("brev.b32 %0, %1;", [1], 2**31),
    ("bfe.u32 %0, %1, 8, 4;", [0x12345678], 6),
    ("bfe.s32 %0, %1, 8, 3;", [0x00000600], 2**32 - 2),
    ("bfe.u32 %0, %1, 28, 16;", [0xF2345678], 0xF),
    ("bfi.b32 %0, %1, %2, 8, 8;", [0xAB, 0x11223344], 0x1122AB44),
    ("prmt.b32 %0, %1, %2, 0x7610;", [0x33221100, 0x77665544], 0x77661100),
    ("prmt.b32 %0, %1, %2, 0x9810;", [0x00008001, 0], 0xFF008001),
    ("lop3.b32 %0, %1, %2, %3, 0xE8;", [0b1100, 0b1010, 0b0110], 0b1110),
    ("lop3.b32 %0, %1, %2, %3, 0x96;", [0b1100, 0b1010, 0b0110], 0),
    ("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;", [0x01020304, 0x04030201, 10], 18),
    ("dp4a.u32.u32 %0, %1, %2, %3;", [0x01020304, 0x01010101, 5], 15),
    ("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, 10, 20, p; }", [2**32 - 1, 4], 10),
    ("set.ge.u32.u32 %0, %1, %2;", [5, 5], 2**32 - 1),
    ("set.lt.s32.s32 %0, %1, %2;", [5, 2**32 - 1], 0),
    ("{ .reg .pred p; setp.eq.u32 p, %2, 7; set.lt.or.u32.u32 %0, %1, 3, p; }", [9, 7], 2**32 - 1),
    ("{ .reg .pred p, q; setp.lt.u32 p|q, %1, 4; @p mov.u32 %0, 1;@q mov.u32 %0, 2;}", [9], 2),
    ("{\\n.reg .u32 t<3>;\\n\\tmov.u32 t1, %1; // 1\\nadd.u32 %0, t1, t1;}", [21], 42),
    ("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l}; }", [0x12345678], 0x56781234),
    ("cvt.u32.u8 %0, %1;", [0x1FF], 0xFF),
    ("cvt.s32.s8 %0, %1;", [0x1FF], 2**32 - 1),
    ("cvt.sat.u8.s32 %0, %1;", [300], 255),
    ("add.sat.s32 %0, %1, %2;", [2**31 - 1, 5], 2**31 - 1),
]  # fmt: skip


@pytest.mark.parametrize("chosen", range(len(INTEGERS)), ids=[one for one, *_ in INTEGERS])
def test_integers(host, chosen):
    _, given, wanted = INTEGERS[chosen]
    buffers = {"chosen": np.int32(chosen), "in": bits(given), "out": bits([0xDEAD])}
    text = each_of(INTEGERS, "unsigned", "r")
    assert host.run(text, buffers, (1,), (1,)).outputs["out"][0] == wanted


FLOATS = [
    ("add.rn.f32 %0, %1, %2;", [1.5, 2.0], 3.5),
    ("add.rz.ftz.f32 %0, %1, %2;", [1.0, 2.0**-30], 1.0),
    ("add.rp.f32 %0, %1, %2;", [1.0, 2.0**-30], 1 + 2.0**-23),
    ("fma.rn.f32 %0, %1, %2, %3;", [1 + 2.0**-23, 1 + 2.0**-23, -1], 2.0**-22 + 2.0**-46),
    ("mul.sat.f32 %0, %1, %2;", [3.0, 2.0], 1.0),
    ("div.full.f32 %0, %1, %2;", [3.0, 2.0], 1.5),
    ("rcp.approx.ftz.f32 %0, %1;", [4.0], 0.25),
    ("sqrt.rn.f32 %0, %1;", [2.25], 1.5),
    ("rsqrt.approx.f32 %0, %1;", [16.0], 0.25),
    ("ex2.approx.ftz.f32 %0, %1;", [5.0], 32.0),
    ("lg2.approx.f32 %0, %1;", [8.0], 3.0),
    ("max.f32 %0, %1, %2;", [np.nan, 2.0], 2.0),
    ("abs.f32 %0, %1;", [-2.0], 2.0),
    ("neg.f32 %0, %1;", [-2.0], 2.0),
    ("mov.f32 %0, 0f3F800000;", [0.0], 1.0),
    ("cvt.rni.f32.f32 %0, %1;", [2.5], 2.0),
    ("{ .reg .f64 d; cvt.f64.f32 d, %1; add.f64 d, d, d; cvt.rn.f32.f64 %0, d; }", [1.5], 3.0),
    ("{ .reg .s32 i; cvt.rzi.s32.f32 i, %1; cvt.rn.f32.s32 %0, i; }", [-2.7], -2.0),
    ("{ .reg .f16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }", [2049.0], 2048.0),
    ("set.gt.f32.f32 %0, %1, 2.0;", [3.0], 1.0),
    ("{ .reg .pred p; setp.geu.f32 p, %1, 0f00000000; selp.f32 %0, %1, 0.0, p; }", [3.0], 3.0),
]  # fmt: skip


@pytest.mark.parametrize("chosen", range(len(FLOATS)), ids=[one for one, *_ in FLOATS])
def test_floats(host, chosen):
    _, given, wanted = FLOATS[chosen]
    buffers = {"chosen": np.int32(chosen), "in": bits(given, np.float32)}
    buffers |= {"out": bits([7], np.float32)}
    text = each_of(FLOATS, "float", "f")
    assert host.run(text, buffers, (1,), (1,)).outputs["out"][0] == np.float32(wanted)


SMALL = [
    ("add.f16 %0, %1, %2;", [1.5, 2048.0], [2050.0]),
    ("sub.rn.ftz.f16 %0, %1, %2;", [1.5, 0.25], [1.25]),
    ("mul.f16x2 %0, %1, %2;", [3.0, -0.5], [-1.5, 0.25]),
    ("fma.rn.f16x2 %0, %1, %2, %3;", [1.5, 1.5, -2.0], [0.25, 0.75]),
    ("fma.rn.relu.f16 %0, %1, %2, %3;", [1.0, 2.0, -3.0], [0.0]),
    ("fma.rn.sat.f16 %0, %1, %2, %3;", [1.0, 2.0, 3.0], [1.0]),
    ("neg.f16x2 %0, %1;", [2.5], [-2.5, -0.5]),
    ("abs.f16 %0, %1;", [-2.5], [2.5]),
    ("min.f16 %0, %1, %2;", [np.nan, 2.0], [2.0]),
    ("max.f16x2 %0, %1, %2;", [7.0, 2.0], [7.0, 0.5]),
    ("ex2.approx.f16 %0, %1;", [3.0], [8.0]),
    ("tanh.approx.f16x2 %0, %1;", [0.0], [0.0, np.tanh(0.5)]),
    ("{ .reg .pred p; setp.lt.f16 p, %1, %2; selp.b32 %0, %1, %2, p; }", [2.0, 3.0], [2.0]),
]  # fmt: skip
"""Instructions, operands in the lower halves, and results: of the lower half, and of the upper half
(whose operands are 0.5) if the instruction computes both."""


@pytest.mark.parametrize("chosen", range(len(SMALL)), ids=[one for one, *_ in SMALL])
def test_small_floats(host, chosen):
    _, given, wanted = SMALL[chosen]
    lower = np.array([*given, *[0] * (3 - len(given))], np.float16)
    both = np.stack([lower, np.full(3, 0.5, np.float16)], 1).ravel().view(np.uint32)
    buffers = {"chosen": np.int32(chosen), "in": both, "out": bits([0])}
    out = host.run(each_of(SMALL, "unsigned", "r"), buffers, (1,), (1,)).outputs["out"]
    np.testing.assert_array_equal(out.view(np.float16)[: len(wanted)], np.float16(wanted))


def test_small_floats_of_the_other_kind(host):
    text = """
    __global__ void k(const unsigned *in, unsigned *out) {
      asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(out[0]) : "r"(in[0]), "r"(in[1]));
      unsigned short a = in[0], b;
      asm("{neg.bf16 %0, %1;}" : "=h"(b) : "h"(a));
      out[1] = b;
    }"""
    given = np.array([1.5, -2.0, 0.25, 8.0], np.float32).view(np.uint32) >> 16
    given = (given[::2] | given[1::2] << 16).astype(np.uint32)
    out = host.run(text, {"in": given, "out": bits([0, 0])}, (1,), (1,)).outputs["out"]
    found = np.array([out[0] << 16, out[0] & 0xFFFF0000, out[1] << 16], np.uint32).view(np.float32)
    np.testing.assert_array_equal(found, [1.75, 6.0, -1.5])


def test_special_registers(host):
    text = """
    __global__ void k(unsigned *out) {
      unsigned lane, tid, lt, warp, ge, n, block;
      unsigned long long time;
      asm("mov.u32 %0, %%laneid;" : "=r"(lane));
      asm volatile("mov.u32 %0, %tid.x;" : "=r"(tid));
      asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
      asm("mov.u32 %[ge], %%lanemask_ge;" : [ge] "=r"(ge));
      asm("mov.u32 %0, %%warpid; mov.u32 %1, %%ntid.x; mov.u32 %2, %%ctaid.x;"
          : "=r"(warp), "=r"(n), "=r"(block));
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time) :: "memory");
      unsigned *o = out + 8 * (tid + 64 * block);
      o[0] = lane; o[1] = tid; o[2] = lt; o[3] = ge; o[4] = warp; o[5] = n;
      o[6] = block; o[7] = time > 0;
    }"""
    got = host.run(text, {"out": np.zeros(1024, np.uint32)}, (2,), (64,)).outputs["out"]
    tid, block = np.tile(np.arange(64), 2), np.repeat([0, 1], 64)
    lane = tid % 32
    columns = [lane, tid, 2**lane - 1, 2**32 - 2**lane, tid // 32, 64 + 0 * tid, block, 1 + 0 * tid]
    np.testing.assert_array_equal(got.reshape(128, 8), np.stack(columns, 1))


def test_long_arithmetic_carries_from_one_statement_to_the_next(host):
    text = """
    __global__ void k(const unsigned *in, unsigned *out) {
      const unsigned *a = in, *b = in + 4;
      asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(out[0]) : "r"(a[0]), "r"(b[0]));
      for (int i = 1; i < 3; ++i)
        asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(out[i]) : "r"(a[i]), "r"(b[i]));
      asm volatile("addc.u32 %0, %1, %2;" : "=r"(out[3]) : "r"(a[3]), "r"(b[3]));
      asm("sub.cc.u32 %0, %2, %4; subc.u32 %1, %3, %5;"
          : "=r"(out[4]), "=r"(out[5]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
      asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, 0;"
          : "=r"(out[6]), "=r"(out[7]) : "r"(a[0]), "r"(b[0]), "r"(a[1]));
      unsigned long long wide;
      asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(a[0]), "r"(b[0]));
      asm("mov.b64 {%0, %1}, %2;" : "=r"(out[8]), "=r"(out[9]) : "l"(wide));
    }"""
    given = np.random.default_rng(2).integers(2**31, 2**32, 8, dtype=np.uint32)
    a, b = (sum(int(x) << 32 * i for i, x in enumerate(half)) for half in (given[:4], given[4:]))
    got = host.run(text, {"in": given, "out": bits([0] * 10)}, (1,), (1,)).outputs["out"]
    whole = [sum(int(x) << 32 * i for i, x in enumerate(part)) for part in np.split(got, [4, 6, 8])]
    low = int(given[0]) * int(given[4])
    assert whole[0] == (a + b) % 2**128
    assert whole[1] == ((a % 2**64) - (b % 2**64)) % 2**64
    assert whole[2:] == [low + int(given[1]), low]


def test_memory_of_all_kinds(host):
    text = """
    __global__ void k(const float *in, float *out, unsigned *count) {
      __shared__ float fixed[32];
      extern __shared__ float more[];
      int i = threadIdx.x;
      unsigned place = __cvta_generic_to_shared(fixed + i);
      unsigned other = static_cast<unsigned>(__cvta_generic_to_shared(more + 4 * i));
      float a, b, c, d;
      asm volatile("cp.async.cg.shared.global [%0], [%1], %2;"
                   :: "r"(other), "l"(in + 4 * i), "n"(16));
      asm volatile("cp.async.commit_group;\\n" ::);
      asm volatile("cp.async.wait_group %0;\\n" :: "n"(0));
      asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1+4];" : "=f"(a) : "l"(in + 4 * i));
      asm volatile("st.shared.f32 [%0], %1;" :: "r"(place), "f"(a));
      asm volatile("bar.sync 0;" ::: "memory");
      asm volatile("{ .reg .u64 p; cvta.to.shared.u64 p, %1; ld.shared.f32 %0, [p]; }"
                   : "=f"(b) : "l"(fixed + (i + 1) % 32));
      asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(c), "=f"(d) : "r"(other + 8));
      asm volatile("st.global.cs.v2.f32 [%0], {%1, %2};"
                   :: "l"(out + 4 * i), "f"(a), "f"(b) : "memory");
      asm volatile("st.global.f32 [%0+8], %1;\\n\\tst.volatile.global.f32 [%0+12], %2;"
                   :: "l"(out + 4 * i), "f"(c), "f"(d));
      asm volatile("red.global.add.u32 [%0], %1;" :: "l"(count), "r"(2));
      unsigned old;
      asm volatile("atom.global.max.u32 %0, [%1], %2;" : "=r"(old) : "l"(count + 1), "r"(i));
      asm volatile("membar.gl; fence.acq_rel.gpu; prefetch.global.L2 [%0];" :: "l"(in));
    }"""
    x = np.arange(128, dtype=np.float32)
    buffers = {"in": x, "out": np.zeros(128, np.float32), "count": np.zeros(2, np.uint32)}
    got = host.run(text, buffers, (1,), (32,), shared=512).outputs
    rows = x.reshape(32, 4)
    wanted = np.stack([rows[:, 1], np.roll(rows[:, 1], -1), rows[:, 2], rows[:, 3]], 1)
    np.testing.assert_array_equal(got["out"].reshape(32, 4), wanted)
    np.testing.assert_array_equal(got["count"], [64, 31])


def test_warps(host):
    text = """
    __global__ void k(int *out) {
      int lane = threadIdx.x, down, up, any, x = 100 + lane;
      unsigned ballot, sum;
      asm volatile("shfl.sync.down.b32 %0, %1, %2, %3, %4;"
                   : "=r"(down) : "r"(x), "r"(3), "r"(0x1f), "r"(~0u));
      asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %1, 1, 0x0, -1; @p add.s32 %0, %0, 99; }"
                   : "=r"(up) : "r"(x));
      asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 120; vote.sync.ballot.b32 %0, p, -1; }"
                   : "=r"(ballot) : "r"(x));
      asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(lane));
      asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 0x1f, 0xffffffff;" : "=r"(any) : "r"(x));
      int *o = out + 5 * lane;
      o[0] = down; o[1] = up; o[2] = ballot; o[3] = sum; o[4] = any;
    }"""
    got = host.run(text, {"out": np.zeros(160, np.int32)}, (1,), (32,)).outputs["out"]
    lane = np.arange(32)
    down = 100 + np.where(lane < 29, lane + 3, lane)
    up = np.where(lane > 0, 198 + lane, 100)
    ballot = np.int32(-(2**21))
    wanted = [down, up, ballot + 0 * lane, 496 + 0 * lane, 100 + (lane ^ 16)]
    np.testing.assert_array_equal(got.reshape(32, 5), np.stack(wanted, 1))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ('asm("wgmma.fence.sync.aligned;");', r"wgmma\.fence\.sync\.aligned"),
        ('asm("add.u32 %0, %1, %2;" : "=r"(*o) : "r"(1));', "%2"),
        ('asm("add.weird %0, %0, %0;" : "+r"(*o));', "add.weird %0"),
        ('asm("rdtsc" : "=a"(*o));', "rdtsc"),
    ],
)
def test_what_is_not_known_is_named(host, statement, said):
    with pytest.raises(RuntimeError, match=f"does not know this PTX: .*{said}"):
        host.compile(f"__global__ void k(unsigned *o) {{ {statement} }}", ["k"])


@pytest.mark.parametrize(
    ("statement", "off"),
    [
        ('"ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(in + AT)', 1),
        ('"st.global.v4.u32 [%0], {%1, %1, %1, %1};" : : "l"(out + AT), "r"(x)', 2),
        ('"cp.async.ca.shared.global [%0], [%1], 16;" : : "r"(to), "l"(in + AT)', 3),
        ('"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(to + 4 * AT)', 1),
    ],
)  # fmt: skip
def test_what_a_device_refuses_as_misaligned_fails(host, statement, off):
    def ended(at):
        text = f"""__global__ void k(const unsigned *in, unsigned *out) {{
          __shared__ __align__(16) unsigned tile[64];
          unsigned x = 0, y, to = __cvta_generic_to_shared(tile);
          asm volatile({statement.replace("AT", str(at))});
          out[threadIdx.x] = x;
        }}"""
        buffers = {"in": np.zeros(64, np.uint32), "out": np.zeros(64, np.uint32)}
        return host.run(text, buffers, (1,), (32,))

    assert ended(0).status == 0
    assert "misaligned" in ended(off).report
