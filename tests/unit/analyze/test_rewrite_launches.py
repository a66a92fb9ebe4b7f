"""Launches of rewrites, read from their host code with the target's names."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.analyze.rewrites.host_readings import HostReading, period
from gi_cuda.analyze.rewrites.launches import LaunchReader
from gi_cuda.analyze.rewrites.refusals import Refused
from gi_cuda.init import Compilation
from gi_cuda.results.status import Status
from gi_cuda.spec import load_target
from gi_cuda.spec.launching.own_launches import OwnLaunches

KERNEL = """\
__global__ void scale(const float *in, float *out, int count, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i] * width;
}
"""
HOST = """\
void run(const float *d_in, float *d_out, int n, int w)
{
    scale<<<(n + 127) / 128, 128>>>(d_in, d_out, n, w);
}
"""
TARGET = """\
[target]
name = "scale"
source = "old.cu"
kernels = ["scale"]
data = "data.py"
[[buffer]]
name = "in"
type = "float32"
size = "count"
role = "input"
[[buffer]]
name = "out"
type = "float32"
size = "count"
role = "output"
[[scalar]]
name = "count"
type = "int32"
[[scalar]]
name = "width"
type = "int32"
[[launch]]
kernel = "scale"
grid = ["(count + 127) / 128"]
block = ["128"]
args = ["in", "out", "count", "width"]
[[oracle]]
kind = "exact"
[[case]]
name = "train"
role = "train"
args = { count = 100, width = 3 }
[[case]]
name = "held-out"
role = "held-out"
args = { count = 200, width = 3 }
"""


def read(folder: Path, rewritten: str, original: str = KERNEL + HOST) -> OwnLaunches | None:
    """The launches of a rewrite of the kernel."""
    (folder / "old.cu").write_text(original)
    (folder / "data.py").write_text("def case(count, width): ...\n")
    (folder / "target.toml").write_text(TARGET)
    new = folder / "new" / "old.cu"
    new.parent.mkdir()
    new.write_text(rewritten)
    readings = (HostReading(path, Compilation()) for path in (folder / "old.cu", new))
    return LaunchReader(load_target(folder), *readings).read()


def words(launches: OwnLaunches | None) -> list[str]:
    """Each launch as host code would have it."""
    steps = [step for one in launches.launches for step in one.steps] if launches else []
    return [
        f"{one.kernel}<<<{', '.join(e.text for e in one.grid)};"
        f" {', '.join(e.text for e in one.block)}; {one.shared.text}>>>({', '.join(one.args)})"
        for one in steps
    ]


@pytest.mark.parametrize(
    "rewritten",
    [
        pytest.param(KERNEL.replace("* width", "* (float)width") + HOST, id="same launch"),
        pytest.param(KERNEL.replace("* width", "* (float)width"), id="no host code"),
        pytest.param(
            KERNEL + HOST.replace("{\n", "{\n    int t = 128;\n").replace("128>>>", "t>>>"),
            id="written otherwise",
        ),
    ],
)
def test_the_targets_launch_holds(tmp_path: Path, rewritten: str) -> None:
    assert read(tmp_path, rewritten) is None


@pytest.mark.parametrize(
    ("kernel", "host", "expected"),
    [
        pytest.param(
            KERNEL,
            HOST.replace("127", "255").replace("128", "256"),
            ["scale<<<(count + 255) / 256; 256; 0>>>(in, out, count, width)"],
            id="geometry",
        ),
        pytest.param(
            KERNEL.replace("scale", "fast"),
            HOST.replace("scale", "fast"),
            ["fast<<<(count + 127) / 128; 128; 0>>>(in, out, count, width)"],
            id="name",
        ),
        pytest.param(
            KERNEL.replace("int count, int width", "int width, int count"),
            HOST.replace("d_out, n, w)", "d_out, w, n)"),
            ["scale<<<(count + 127) / 128; 128; 0>>>(in, out, width, count)"],
            id="order of arguments",
        ),
        pytest.param(
            "template <int N>\n" + KERNEL,
            HOST.replace("scale<", "scale<4><"),
            ["scale<4><<<(count + 127) / 128; 128; 0>>>(in, out, count, width)"],
            id="template",
        ),
        pytest.param(
            KERNEL.replace(
                "const float *in, float *out, int count", "const float4 *in, float4 *out, int count"
            ),
            HOST.replace("(d_in, d_out, n", "((const float4 *)d_in, (float4 *)d_out, n / 4"),
            ["scale<<<(count + 127) / 128; 128; 0>>>(in, out, count_1_of_rewrite, width)"],
            id="vectors",
        ),
        pytest.param(
            KERNEL.replace("{\n", "{\n    extern __shared__ float tile[];\n", 1),
            HOST.replace("128>>>", "128, w * sizeof(float)>>>"),
            ["scale<<<(count + 127) / 128; 128; width * 4>>>(in, out, count, width)"],
            id="dynamic shared memory",
        ),
        pytest.param(
            KERNEL + KERNEL.replace("scale", "second"),
            HOST.replace("}\n", "    second<<<1, 64>>>(d_in, d_out, n, w);\n}\n"),
            [
                "scale<<<(count + 127) / 128; 128; 0>>>(in, out, count, width)",
                "second<<<1; 64; 0>>>(in, out, count, width)",
            ],
            id="two kernels",
        ),
    ],
)
def test_another_launch_is_the_rewrites(
    tmp_path: Path, kernel: str, host: str, expected: list[str]
) -> None:
    assert words(read(tmp_path, kernel + host)) == expected


def test_a_number_of_another_type_is_converted(tmp_path: Path) -> None:
    launches = read(tmp_path, KERNEL.replace("int count", "long count") + HOST)
    assert launches is not None
    (made,) = launches.scalars[2:]
    assert (made.dtype.name, made.value and made.value.text) == ("int64", "count")


@pytest.mark.parametrize(
    ("rewritten", "code", "status"),
    [
        pytest.param(
            KERNEL.replace("int width", "int width, float by") + HOST.replace("w)", "w, 2.0f)"),
            "other-parameters",
            Status.INVALID,
            id="one more parameter",
        ),
        pytest.param(
            KERNEL.replace("int width", "int width, float by"),
            "other-parameters",
            Status.INVALID,
            id="one more parameter, and no launch",
        ),
        pytest.param(
            KERNEL + "void run(const float *d_in, float *d_out, int n, int w) {}\n",
            "not-launched",
            Status.INVALID,
            id="launched no more",
        ),
        pytest.param(
            KERNEL.replace("scale", "fast"), "no-kernel", Status.INVALID, id="no such kernel"
        ),
        pytest.param(
            KERNEL.replace("{\n", "{\n    extern __shared__ float tile[];\n", 1) + HOST,
            "no-shared-size",
            Status.INCONCLUSIVE,
            id="shared memory of no size",
        ),
        pytest.param(
            KERNEL
            + KERNEL.replace("scale", "second")
            + HOST.replace("}\n", "    if (w)\n        second<<<1, 64>>>(d_in, d_out, n, w);\n}\n"),
            "launch-not-read",
            Status.INCONCLUSIVE,
            id="under a condition",
        ),
    ],
)
def test_what_cannot_be_launched_is_refused(
    tmp_path: Path, rewritten: str, code: str, status: Status
) -> None:
    with pytest.raises(Refused) as raised:
        read(tmp_path, rewritten)
    assert (raised.value.refusal.code, raised.value.refusal.status) == (code, status)


def test_launches_of_other_kernels_are_none_of_the_rewrite(tmp_path: Path) -> None:
    other = "__global__ void clear(float *out) { out[threadIdx.x] = 0; }\n"
    host = HOST.replace("{\n", "{\n    clear<<<1, 32>>>(d_out);\n", 1)
    changed = host.replace("128", "64").replace("127", "63")
    launches = read(tmp_path, other + KERNEL + changed, other + KERNEL + host)
    assert words(launches) == ["scale<<<(count + 63) / 64; 64; 0>>>(in, out, count, width)"]


def test_a_launch_in_a_warm_up_and_in_a_loop_is_one() -> None:
    assert period(["a", "b", "a", "b"]) == 2
    assert period(["a", "a", "a"]) == 1
    assert period(["a", "b", "b"]) == 3
