"""Macros and constants proposed as parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from gi_cuda.grammar import convert
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile
from gi_cuda.init.kernel.tuning import Tunable, tunables, within_blocks


def proposed(
    code: CudaFile, define: Mapping[str, str], launched: frozenset[str] = frozenset()
) -> dict[str, Tunable]:
    functions = convert(code.source, None).functions
    return {one.name: one for one in tunables(code, functions, define, launched, launched)}


def guarded(name: str, value: str) -> str:
    return f"#ifndef {name}\n#define {name} {value}\n#endif\n"


@pytest.mark.parametrize(
    ("name", "value", "values"),
    [
        ("BLOCK_SIZE", "256", (64, 128, 256, 512, 1024)),
        ("THREADS_PER_BLOCK", "96", (32, 64, 96, 128, 256)),
        ("TILE", "16", (8, 16, 32)),
        ("UNROLL_FACTOR", "(4)", (2, 4, 8)),
        ("ITEMS_PER_THREAD", "3", (2, 3, 4)),
        ("USE_SHARED", "1", (0, 1)),
    ],
)
def test_guarded_macros_about_speed_are_parameters(
    read: Callable[[str], CudaFile], name: str, value: str, values: tuple[int, ...]
) -> None:
    code = read(f"{guarded(name, value)}__global__ void k(int *a) {{ a[0] = {name}; }}")
    one = proposed(code, {})[name]
    assert (one.active, one.values) == (True, values)
    assert one.default in one.values


def test_what_changes_results_or_cannot_be_set_is_only_offered(
    read: Callable[[str], CudaFile],
) -> None:
    code = read(
        guarded("RADIUS", "2")
        + guarded("N", "1024")
        + guarded("ACCURACY", "1e-3f")
        + "#define SQUARE(x) ((x) * (x))\n"
        "__global__ void k(int *a) {\n"
        "#ifdef DEBUG_PRINT\nprintf();\n#endif\n#if MODE == 2 && __CUDA_ARCH__ > 300\n#endif\n"
        "a[0] = SQUARE(RADIUS) + N + ACCURACY; }"
    )
    found = proposed(code, {})
    assert set(found) == {"RADIUS", "DEBUG_PRINT", "MODE"}
    assert {one.active for one in found.values()} == {False}


def test_a_macro_needs_no_guard(read: Callable[[str], CudaFile]) -> None:
    code = read("#define BLOCK_SIZE 128\n__global__ void k(int *a) { a[BLOCK_SIZE] = 1; }")
    found = proposed(code, {"BLOCK_SIZE": "64"})["BLOCK_SIZE"]
    # What comes from outside does not count where the source is built as it is.
    assert (found.active, found.default) == (True, 128)


def test_flags_given_and_macros_reached_through_others(read: Callable[[str], CudaFile]) -> None:
    code = read(
        guarded("TILE", "8") + "#define AREA (TILE * TILE)\n"
        "__global__ void k(int *a) {\n#if defined(USE_LDG)\na[1] = 1;\n#endif\na[0] = AREA; }"
    )
    found = proposed(code, {"USE_LDG": "1", "TILE": "16"})
    assert (found["USE_LDG"].kind, found["USE_LDG"].default) == ("flag", 1)
    assert found["TILE"].default == 16


def test_macros_of_launches_count_too(read: Callable[[str], CudaFile]) -> None:
    code = read(guarded("TPB", "128") + "__global__ void k(int *a) { a[0] = 1; }")
    assert "TPB" not in proposed(code, {})
    assert proposed(code, {}, frozenset({"TPB"}))["TPB"].active


def test_constants_are_parameters_like_macros(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "constexpr int WARP = 32, FIXED = 9;\nconstexpr int WARP_SIZE = 32;\n"
        "constexpr int WARPS_PER_BLOCK = 4;\nconst unsigned int TILE = 8;\nconst int N = 1024;\n"
        "const int UNUSED = 3;\nconst int CHUNK = TILE * 2;\n"
        "__global__ void k(int *a) { const int inner = 5; a[inner] = WARP_SIZE + TILE + N; }"
    )
    found = proposed(code, {}, frozenset({"WARPS_PER_BLOCK"}))
    assert set(found) == {"WARPS_PER_BLOCK", "TILE"}
    assert {(one.kind, one.active) for one in found.values()} == {("constant", True)}
    assert (found["TILE"].values, found["TILE"].default) == ((4, 8, 16), 8)


def test_a_constant_that_is_declared_twice_is_no_parameter(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "namespace a {\nconst int TILE = 8;\n}\nnamespace b {\nconst int TILE = 16;\n}\n"
        "__global__ void k(int *x) { x[0] = b::TILE; }"
    )
    assert not proposed(code, {})


def test_a_macro_that_blocks_are_made_of_is_a_parameter(read: Callable[[str], CudaFile]) -> None:
    code = read(guarded("TX", "16") + "#define TY 4\n__global__ void k(int *a) { a[0] = TX; }")
    found = proposed(code, {}, frozenset({"TX", "TY"}))
    assert (found["TX"].active, found["TX"].values) == (True, (8, 16, 32))
    assert (found["TY"].active, found["TY"].values) == (True, (2, 4, 8))
    assert not proposed(code, {})["TX"].active


def test_what_hardware_says_is_no_parameter(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "#define WARP_SIZE 32\n#define FULL_MASK 0xffffffff\n#define WARPS 4\n"
        "__global__ void k(int *a) { a[WARP_SIZE] = FULL_MASK + WARPS; }"
    )
    assert set(proposed(code, {}, frozenset({"WARP_SIZE"}))) == {"WARPS"}


@pytest.mark.parametrize(
    ("block", "default", "values", "expected"),
    [
        (("B",), 256, (64, 128, 256, 512, 1024), (64, 128, 256, 512, 1024)),
        (("B", "B", "1"), 32, (32, 64, 128), (32,)),
        (("B", "B", "1"), 16, (8, 16, 32), (8, 16, 32)),
        (("B", "ROWS", "1"), 128, (32, 64, 128, 256, 512), (32, 64, 128)),
        # It is no matter of this parameter.
        (("B", "B", "B"), 32, (16, 32), (16, 32)),
        (("ROWS", "1", "1"), 32, (32, 2048), (32, 2048)),
    ],
)
def test_values_are_those_that_a_block_may_have(
    block: tuple[str, ...], default: int, values: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    one = Tunable("B", "macro", values, default, "threads per block", active=True)
    rows = Tunable("ROWS", "macro", (8,), 8, "rows")
    assert within_blocks([one, rows], [block])[0].values == expected
