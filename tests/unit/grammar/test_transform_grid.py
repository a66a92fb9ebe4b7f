"""Numbers of blocks: the kernels that are offered these, and the rewritten launches."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launch_text import launch_splices
from gi_cuda.grammar.frontends.cuda.transforms.mapping.grid import Grid
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import Shape, launch_words
from tests.unit.grammar.grid_loops import (
    BEFORE_DECLINED,
    CASES,
    DECLINED,
    HEAD,
    HOST,
    LOOP,
    OTHER,
)

TURNS = (
    "for (int y = blockIdx.x; y < n; y += gridDim.x)"
    " for (int i = threadIdx.x; i < n; i += blockDim.x) b[y * n + i] = 0;"
)


def program_of(body: str, launch: str) -> CudaText:
    """Read a source with a kernel and its launch."""
    text = f"{HEAD}{body}}}\n{OTHER}{HOST.format(launch)}"
    return CudaText(convert(Source("k.cu", text), types=EDIT_SETS["all"]))


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_stays_and_the_launch_follows(name: str) -> None:
    case = CASES[name]
    program = program_of(case.body, case.before)
    made = {"grid_k.cu_2": Expansion((), case.choice)}
    assert program.unknown_launches(made) == ()
    assert program.changed(made).text == program_of(case.body, case.after).grammar.source.text


@pytest.mark.parametrize("name", CASES)
def test_choices_are_those_of_the_axes_with_loops(name: str) -> None:
    (site,) = Grid().sites(read_code(Source("k.cu", f"{HEAD}{CASES[name].body}}}\n")))
    numbers = ("1of4", "1of2", "2", "4", "8", "16", "64")
    axes = {"rows and columns": ("", "y"), "blocks along two axes": ("y",)}.get(name, ("",))
    assert site.choices == tuple(f"grid_K{n}{axis}" for axis in axes for n in numbers)


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    code = read_code(Source("k.cu", f"{BEFORE_DECLINED}{HEAD}    {DECLINED[name]}\n}}\n"))
    assert list(Grid().sites(code)) == []
    (kernel,) = code.kernels
    assert Grid().rewrite(code, kernel.at, "grid_K2") is None


def test_an_edit_of_the_loop_takes_the_choice_away() -> None:
    program = program_of(
        f"    {LOOP} {{\n        b[i] = a[i];\n    }}\n", "k<<<24, 64>>>(a, b, n);"
    )
    made = {
        "grid_k.cu_2": Expansion((), "grid_K4"),
        "for3_k.cu_3": Expansion(("for3_k.cu_3",), "for3_k.cu_3"),
    }
    assert program.shape(made) == {}


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"k.times.x": 4}, "grid.x = old grid.x * 4"),
        ({"k.items.x": 2}, "grid.x = ceil(old grid.x / 2)"),
        (
            {"k.times.x": 4, "k.threads.x": 64, "k.kept.x": 1},
            "grid.x = old grid.x * 4 and blocks of 64 threads, only where old block.x is a multiple"
            " of 64",
        ),
    ],
)
def test_launches_in_words(shape: dict[str, int], words: str) -> None:
    assert launch_words("k", shape) == f"launch k with {words}"


@pytest.mark.parametrize(
    ("number", "launch", "extents"),
    [
        ("4", "k<<<rows * 4, 64>>>(a, b, n);", (28, 64)),
        ("1of4", "k<<<(rows + 3) / 4, 64>>>(a, b, n);", (2, 64)),
    ],
)
def test_blocks_whose_threads_take_turns_may_get_smaller_too(
    number: str, launch: str, extents: tuple[int, int]
) -> None:
    host = "void f(const float *a, float *b, int n, int rows) {{ {} }}\n"
    before = Source("k.cu", f"{HEAD}    {TURNS}\n}}\n{host.format('k<<<rows, 256>>>(a, b, n);')}")
    program = CudaText(convert(before, types=EDIT_SETS["all"]))
    shape = program.shape(
        {
            "block_k.cu_2": Expansion((), "block_K64"),
            "grid_k.cu_2": Expansion((), f"grid_K{number}"),
        }
    )
    assert Shape.of("k", "x", shape).extents(7, 256) == extents
    found = launch_splices(read_code(before), shape)
    assert found.unknown == ()
    assert spliced(before, found.splices).text.endswith(host.format(launch))
