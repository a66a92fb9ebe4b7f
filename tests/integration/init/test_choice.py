"""``gi-cuda init`` chooses among several kernels, or takes several."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.spec import load_target
from tests.integration.init.proposing import SOURCES, init, passes, refused, roles, said


def test_kernels_are_chosen_by_namespace_and_by_types(tmp_path: Path) -> None:
    assert init("several.cu", tmp_path / "1", "--kernel", "b::scale").kernels == ("b::scale",)
    chosen = init("several.cu", tmp_path / "2", "--kernel", "shift(double*,int)")
    assert chosen.kernels == ("shift(double *, int)",)
    assert chosen.buffers[0].dtype == "float64"
    words = init("several.cu", tmp_path / "3", "--kernel", "whole")
    assert [s.name for s in words.scalars] == ["in", "N"]


def test_of_several_kernels_one_is_chosen(tmp_path: Path) -> None:
    lines = said(SOURCES / "several.cu", tmp_path / "t")
    assert lines[0] == "chose a::scale: no launch of it was found, most work"
    assert lines[1].startswith("other kernels, each taken by --kernel NAME: b::scale, shift(")
    assert load_target(tmp_path / "t").kernels == ("a::scale",)


def test_what_cannot_become_a_target_is_passed_over(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    best = (
        "__global__ void best(int (*f)(int), int *a) { for (int i = 0; i < 9; i++) a[i] = f(i); }\n"
    )
    worse = "__global__ void worse(int (*f)(int), int *a) { a[0] = f(1); }\n"
    source.write_text(best + worse + "__global__ void simple(int *a) { a[0] = 1; }\n")
    lines = said(source, tmp_path / "t")
    assert lines[0].startswith("passed over best (no launch of it was found, most work): the para")
    assert lines[1].startswith("passed over worse (no launch of it was found): the parameter 'f'")
    assert lines[2] == "chose simple: no launch of it was found"
    assert not lines[3].startswith("other kernels")
    source.write_text(best + worse)
    message = refused(tmp_path, str(source))
    assert "k.cu:1: the parameter 'f' of best is of type `int (*f)(int)`" in message
    assert "nor can its other kernels become targets, for reasons of their own: worse" in message


CHAIN = """__global__ void add(const float *x, const float *y, float *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
__global__ void count(const int *x, int *n, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) n[i] = x[i] + 1;
}
int main() {
    int m = 5000, *from, *to;
    float *a, *b, *c;
    cudaMalloc(&a, m * sizeof(float));
    cudaMalloc(&b, m * sizeof(float));
    cudaMalloc(&c, m * sizeof(float));
    cudaMalloc(&from, m * sizeof(int));
    cudaMalloc(&to, m * sizeof(int));
    add<<<(m + 255) / 256, 256>>>(a, b, c, m);
    scale<<<(m + 63) / 64, 64>>>(c, 0.5f, m);
    count<<<(m + 127) / 128, 128>>>(from, to, m);
}
"""


def test_several_kernels_are_launched_as_host_code_does(tmp_path: Path) -> None:
    source = tmp_path / "chain.cu"
    source.write_text(CHAIN)
    named = [word for name in ("count", "scale", "add") for word in ("--kernel", name)]
    lines = said(source, tmp_path / "t", *named)
    assert lines[0] == (
        "launches add, then scale, then count: once each, in the order of the host code"
    )
    assert lines[1] == "  z is shared by add, scale"
    target = load_target(tmp_path / "t")
    assert target.kernels == ("add", "scale", "count")
    steps = [step for sequence in target.launches for step in sequence.steps]
    assert [step.args for step in steps] == [
        ("x", "y", "z", "n"),
        ("z", "by", "n"),
        ("from", "to", "n"),
    ]
    assert [step.grid[0].text for step in steps] == [
        *("(n + 255) / 256", "(n + 63) / 64", "(n + 127) / 128")
    ]
    assert roles(target) == {
        **{"x": "input", "y": "input", "z": "output"},
        **{"from": "input", "to": "output"},
    }
    passes(tmp_path / "t", tmp_path / "scratch")


def test_several_kernels_without_host_code_share_by_name(tmp_path: Path) -> None:
    source = tmp_path / "chain.cu"
    source.write_text(CHAIN.partition("int main")[0])
    lines = said(source, tmp_path / "t", "--kernel", "scale", "--kernel", "add")
    assert lines[0] == "launches scale, then add: once each, in an order that is to be confirmed"
    assert roles(load_target(tmp_path / "t")) == {"x": "inout", "y": "input", "z": "output"}
    message = refused(tmp_path, str(source), "--kernel", "add", "--kernel", "count")
    assert "count takes `x` as int32, and another kernel as float32" in message
    assert "name fewer kernels" in message
