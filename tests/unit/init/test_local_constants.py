"""Constants of host functions, and how launches name them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile
from gi_cuda.init import Proposal, from_options, propose
from gi_cuda.init.host.host import read_host_code
from gi_cuda.init.host.local_constants import local_constants

KERNEL = """
template <typename T, int THREADS> __global__ void k(T *a, int n) {
    __shared__ T part[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    if (i < n) a[i] = part[threadIdx.x] + 1;
}
"""


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("const int threads = 64;", {"threads": "64"}),
        ("static constexpr unsigned threads{0x40u};", {"threads": "0x40u"}),
        ("int threads = 64; dim3 block(2, n * threads);", {"threads": "64"}),
        ("int threads = 64; if (n > 9) threads = 32;", {}),
        ("int threads = 64; threads *= 2;", {}),
        ("int threads = 64; --threads;", {}),
        ("int threads = 64; read(&threads);", {}),
        ("int threads = n;", {}),
        ("const float threads = 1.5f;", {}),
        ("const int k = 64;", {}),
        ("const int wide = 64;", {}),
        ("const int same = 64;", {}),
        ("{ const int threads = 64; } { const int threads = 32; }", {}),
    ],
)
def test_a_constant_has_one_meaning_and_one_number(
    read: Callable[[str], CudaFile], host: str, found: dict[str, str]
) -> None:
    code = read(
        f"const int wide = 8;\n{KERNEL}\nvoid other(int same) {{}}\nvoid run(int n) {{ {host} }}\n"
    )
    assert local_constants([read_host_code(code)]) == found


def test_names_in_device_code_do_not_matter(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "template <int threads> __global__ void k(float *a) { a[threads] = 1; }\n"
        "void run(float *a) { const int threads = 64; k<threads><<<1, threads>>>(a); }\n"
    )
    assert local_constants([read_host_code(code)]) == {"threads": "64"}


def proposed(tmp_path: Path, host: str, templates: tuple[str, ...] = ()) -> Proposal:
    source = tmp_path / "k.cu"
    source.write_text(f"{KERNEL}void run(float *a, int n) {{ {host} }}\n")
    return propose(source, None, from_options((), ()), templates=templates)


LAUNCH = (
    "const int threads = 64; k<float, threads><<<(n + threads - 1) / threads, threads>>>(a, n);"
)


def test_a_template_argument_and_a_block_follow_the_constant(tmp_path: Path) -> None:
    found = proposed(tmp_path, LAUNCH)
    assert found.kernel == "k<float, threads>"
    assert found.launching.block == ("threads",)
    assert found.launching.grid == ("(n + threads - 1) / threads",)
    (one,) = found.parameters
    assert (one.name, one.kind, one.default, one.active) == ("threads", "constant", 64, True)
    assert one.values == (32, 64, 128, 256)


@pytest.mark.parametrize(("seen", "kernel"), [("64", "k<float, threads>"), ("32", "k<float, 32>")])
def test_an_instance_that_was_seen_follows_if_it_has_that_number(
    tmp_path: Path, seen: str, kernel: str
) -> None:
    """``capture`` proposes such a kernel: it knows the template arguments of the launch."""
    assert proposed(tmp_path, LAUNCH, ("float", seen)).kernel == kernel


def test_a_block_alone_makes_a_parameter_of_a_variable(tmp_path: Path) -> None:
    found = proposed(tmp_path, "int b = 64; dim3 block(b); k<float, 64><<<n / 64, block>>>(a, n);")
    (one,) = found.parameters
    assert (one.name, one.why) == ("b", "size of a block")
    assert one.values == (32, 64, 128, 256)
    assert (found.kernel, found.launching.block) == ("k<float, 64>", ("b",))


def test_other_constants_of_host_code_are_not_offered(tmp_path: Path) -> None:
    found = proposed(tmp_path, "const int much = 64; k<float, 64><<<much, 64>>>(a, n);")
    assert found.parameters == ()
    assert found.launching.grid == ("64",)
