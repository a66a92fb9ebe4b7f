"""T1 descriptions become targets; mistakes are reported with their path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gi_cuda.errors import UserError
from gi_cuda.genome.space import Space
from gi_cuda.init import files_of_problem, write_folder
from gi_cuda.spec import Target, load_target
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.t1.t1 import Problem, read_t1
from gi_cuda.tune.t1.t1_export import t1_description
from tests.t1 import Json, kernel_tuner, ktt, write


def changed(description: Json, path: str, new: object) -> Json:
    """A description with one item changed, or removed if `new` is None."""
    *parents, last = [int(key) if key.isdecimal() else key for key in path.split("/")]
    at: Any = description
    for key in parents:
        at = at[key]
    if new is None:
        del at[last]
    else:
        at[last] = new
    return description


def read(folder: Path, description: Json) -> Problem:
    return read_t1(write(folder, description))


def target_of(folder: Path, description: Json) -> Target:
    path = write(folder, description)
    write_folder(folder / "target", files_of_problem(read_t1(path), folder / "target", path))
    return load_target(folder / "target")


def spec(key: str) -> str:
    return f"KernelSpecification/{key}"


def test_parameters_and_constraints(tmp_path: Path) -> None:
    found = read(tmp_path, kernel_tuner())
    assert [(p.name, p.values, p.default) for p in found.parameters] == [
        ("block_size_x", (32, 64, 96, 128), 64),
        ("tile_size", (1, 2, 3, 4), 2),
    ]
    assert [one.that.text for one in found.constraints] == [
        "32 <= block_size_x * tile_size && block_size_x * tile_size <= 256"
    ]


def test_default_without_a_definition_is_the_first_allowed(tmp_path: Path) -> None:
    description = changed(kernel_tuner(), spec("KernelFile"), "plain.cu")
    (tmp_path / "plain.cu").write_text("__global__ void smooth() {}")
    conditions = description["ConfigurationSpace"]["Conditions"]
    conditions[0]["Expression"] = "block_size_x * tile_size >= 96"
    found = read(tmp_path, description)
    assert [p.default for p in found.parameters] == [32, 3]
    description["ConfigurationSpace"]["TuningParameters"][1]["Default"] = 4
    assert [p.default for p in read(tmp_path, description).parameters] == [32, 4]


@pytest.mark.parametrize(
    ("path", "new", "grid", "block"),
    [
        (
            spec("GridDivX"),
            ["block_size_x", "tile_size"],
            "(1000 + (block_size_x * tile_size) - 1) / (block_size_x * tile_size)",
            "block_size_x",
        ),
        (spec("GridDivX"), None, "(1000 + block_size_x - 1) / block_size_x", "block_size_x"),
        (spec("LocalSize"), None, None, "block_size_x"),
        (spec("ProblemSize"), ["tile_size * 8"], None, "block_size_x"),
        (spec("ProblemSize"), 1000, None, "block_size_x"),
    ],
)
def test_launch(tmp_path: Path, path: str, new: object, grid: str | None, block: str) -> None:
    description = changed(kernel_tuner(), path, new)
    if "ProblemSize" in path:
        for one in description["KernelSpecification"]["Arguments"][:2]:
            one["Size"] = 1002
    found = read(tmp_path, description)
    assert found.block == (block,)
    if grid is not None:
        assert found.grid == (grid,)


@pytest.mark.parametrize(
    ("kind", "grid"),
    [
        ("CUDA", "1000 / tile_size + 1"),
        ("OpenCL", "((1000 / tile_size + 1) + block_size_x - 1) / block_size_x"),
    ],
)
def test_launch_of_ktt(tmp_path: Path, kind: str, grid: str) -> None:
    assert read(tmp_path, changed(ktt(), spec("GlobalSizeType"), kind)).grid == (grid,)


def test_target(tmp_path: Path) -> None:
    target = target_of(tmp_path, kernel_tuner())
    assert [(b.name, b.role, b.symbol) for b in target.buffers] == [
        ("out", "output", None), ("in", "input", None), ("weights", "input", "weights"),
    ]  # fmt: skip
    assert [b.size.text for b in target.buffers if b.size] == ["1000", "1002", "3"]
    assert target.launches[0].steps[0].args == ("out", "in", "n", "scale")
    assert target.build.options["cuda"] == ("-O3", "-use_fast_math")
    assert (target.build.standard, target.build.define) == ("c++17", {"LIMIT": "4"})
    names: dict[str, Any] = {}
    exec((tmp_path / "target" / "data.py").read_text(), names)
    case = names["case"](seed=1)
    assert case["weights"].tolist() == [0.25, 0.5, 0.25]
    assert (case["in"].dtype, case["in"].shape) == (np.float32, (1002,))
    assert case["scale"] == 0.37


def test_thresholds_of_references_are_tolerances(tmp_path: Path) -> None:
    text = files_of_problem(read(tmp_path, ktt()), tmp_path / "t", tmp_path / "smooth.json")
    assert "absolute = 0.01\nrelative = 0.0" in text["target.toml"]


@pytest.mark.parametrize(
    ("fill", "made"),
    [
        ({"FillType": "Constant", "FillValue": -2}, "np.full(7, -2, np.int32)"),
        ({"FillType": "Random", "FillValue": 9}, "rng.integers(0, 10, 7).astype(np.int32)"),
        ({"FillType": "Generator", "DataSource": "i//2"}, "np.array([i // 2 for i in range(7)]"),
        ({}, "rng.integers(0, 1, 7).astype(np.int32)"),
    ],
)
def test_data(tmp_path: Path, fill: Json, made: str) -> None:
    argument = {"Type": "int32", "MemoryType": "Vector", "AccessType": "ReadWrite", "Size": 7}
    description = changed(kernel_tuner(), spec("Arguments"), [argument | fill])
    (found,) = read(tmp_path, description).arguments
    assert (found.name, found.role) == ("argument0", "inout")
    assert found.fill.startswith(made)


def test_data_from_a_file(tmp_path: Path) -> None:
    np.arange(7, dtype=np.float32).tofile(tmp_path / "data.bin")
    argument = kernel_tuner()["KernelSpecification"]["Arguments"][1]
    argument |= {"FillType": "BinaryRaw", "DataSource": "data.bin", "AccessType": "ReadWrite"}
    (found,) = read(tmp_path, changed(kernel_tuner(), spec("Arguments"), [argument])).arguments
    assert eval(found.fill, {"np": np}).tolist() == list(range(7))


def test_name_that_is_taken_gets_another(tmp_path: Path) -> None:
    description = changed(kernel_tuner(), spec("Arguments/1/Name"), "tile_size")
    assert [one.name for one in read(tmp_path, description).arguments][1] == "tile_size_"


@pytest.mark.parametrize("line", ["out[i] += x;", "atomicAdd(&out[i], x);"])
def test_output_that_the_kernel_adds_to_is_given(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, kernel_tuner())
    source = tmp_path / "smooth.cu"
    source.write_text(source.read_text().replace("out[i] = sum * scale;", line))
    out = read_t1(path).arguments[0]
    assert (out.role, out.fill) == ("inout", "np.full(1000, 0.0, np.float32)")


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("", {"tile_size": 2}),
        ("// kernel_tuner", {"kernel_tuner": 1, "block_size_x": 64, "tile_size": 2}),
        ("#define tile_size 4", {}),
        ("#define tile_size 9", {"tile_size": 2}),
        ("#define tile_size (TWO)", {}),
    ],
)
def test_macros_from_outside(tmp_path: Path, line: str, given: Json) -> None:
    description = kernel_tuner()
    description["ConfigurationSpace"]["TuningParameters"][1]["Default"] = 2
    path = write(tmp_path, description)
    source = tmp_path / "smooth.cu"
    source.write_text(source.read_text().replace("#define tile_size 2", line))
    assert read_t1(path).define == given


@pytest.mark.parametrize(
    ("line", "values"), [("", (0,)), ("// unused", (0, 1)), ('#include "more.h"', (0, 1))]
)
def test_parameter_that_nothing_uses_stays_at_its_default(
    tmp_path: Path, line: str, values: tuple[int, ...]
) -> None:
    description = kernel_tuner()
    unused = {"Name": "unused", "Type": "int", "Values": [0, 1]}
    description["ConfigurationSpace"]["TuningParameters"].append(unused)
    path = write(tmp_path, description)
    source = tmp_path / "smooth.cu"
    source.write_text(f"{line}\n{source.read_text()}")
    assert read_t1(path).parameters[2].values == values


def test_constant_that_the_kernel_takes_as_well(tmp_path: Path) -> None:
    path = write(tmp_path, kernel_tuner())
    source = tmp_path / "smooth.cu"
    source.write_text(source.read_text().replace("int n,", "const float *more, int n,"))
    found = read_t1(path).arguments
    assert [one.name for one in found] == ["out", "in", "weights", "weights_argument", "n", "scale"]
    assert (found[3].symbol, found[3].fill) == (False, 'made["weights"]')


BAD = [
    (spec("Language"), "OpenCL", "KernelSpecification.Language: the language is OpenCL"),
    (spec("KernelFile"), "none.cu", "KernelSpecification.KernelFile: there is no file none.cu"),
    (spec("KernelName"), None, "KernelSpecification: the key 'KernelName' is missing"),
    (spec("LocalSize/X"), "block", "KernelSpecification.LocalSize.X: `block` cannot be translated"),
    (spec("GridDivX/1"), "tile", "KernelSpecification.GridDivX[1]: `tile` cannot be translated"),
    (spec("ProblemSize"), [1000, "n m"], "KernelSpecification.ProblemSize[1]: `n m` cannot"),
    (spec("KernelName"), 'a"""b', "KernelSpecification.KernelName: "),
    (spec("Arguments/1/Type"), "custom", "KernelSpecification.Arguments[1].Type: the type"),
    (spec("Arguments/1/Size"), "ProblemSize[3]", "KernelSpecification.Arguments[1].Size: `Prob"),
    (spec("Arguments/1/Size"), 0, "KernelSpecification.Arguments[1].Size: a size is"),
    (spec("Arguments/1/MemoryType"), "Local", "Arguments[1].MemoryType: memory of the kind Local"),
    (spec("Arguments/1/FillType"), "Script", "Arguments[1].FillType: data of the kind Script"),
    (spec("Arguments/1/Name"), "a b", "Arguments[1].Name: 'a b' is no name in C"),
    (spec("Arguments/2/DataSource"), "open('x')", "Arguments[2].DataSource: `open('x')` is not"),
    (spec("Arguments/2/DataSource"), "i.real", "Arguments[2].DataSource: `i.real` is not"),
    (spec("Arguments/3/FillValue"), "7", "Arguments[3].FillValue: a number is needed"),
    (spec("Arguments"), [], "KernelSpecification: no argument is written to"),
    ("ConfigurationSpace/TuningParameters/0/Name", "a(", "[0].Name: 'a(' is no name in C"),
    ("ConfigurationSpace/TuningParameters/0/Values", "[]", "Values: a parameter needs at least"),
    ("ConfigurationSpace/TuningParameters/0/Values", [], "Values: a parameter needs at least"),
    ("ConfigurationSpace/TuningParameters/0/Values", "f()", "Values: `f()` has no value"),
    ("ConfigurationSpace/TuningParameters/0/Values", "[[1]]", "Values[0]: a parameter's value"),
    ("ConfigurationSpace/Conditions/0/Expression", "x > 1", "Conditions[0].Expression: `x > 1`"),
    ("ConfigurationSpace/Conditions/0/Expression", "tile_size > 9", "no configuration keeps"),
    (
        "ConfigurationSpace/Conditions/0/Expression",
        "block_size_x / (tile_size * 64) == 0.5",
        "Conditions[0].Expression: `block_size_x / (tile_size * 64) == 0.5` cannot be translated",
    ),
    (
        "ConfigurationSpace/Conditions/0/Expression",
        "tile_size / 3 == 1",
        "in C differs for tile_size = 4",
    ),
]


@pytest.mark.parametrize(("path", "new", "said"), BAD)
def test_mistake_is_reported_with_its_path(
    tmp_path: Path, path: str, new: object, said: str
) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, changed(kernel_tuner(), path, new))
    assert said in str(caught.value)
    assert str(tmp_path / "smooth.json") in str(caught.value)


def test_exact_true_division_is_translated(tmp_path: Path) -> None:
    path = "ConfigurationSpace/Conditions/0/Expression"
    found = read(tmp_path, changed(kernel_tuner(), path, "block_size_x / 32 >= tile_size"))
    assert found.constraints[0].that.text == "block_size_x / 32 >= tile_size"


def test_description_of_a_target_is_read_as_the_same_space(tmp_path: Path) -> None:
    target = target_of(tmp_path, kernel_tuner())
    space = Space.from_target(target)
    sizes = {"out": 1000, "in": 1002, "weights": 3}
    written = t1_description(target, space, sizes, {"n": 1000, "scale": 0.37}, "GPU 1")
    again = read(tmp_path, written)
    grid = Grid.of_space(Space(again.parameters, again.constraints))
    assert grid.points.tolist() == Grid.of_space(space).points.tolist()
    assert [p.default for p in again.parameters] == [64, 2]
    assert [one.name for one in again.arguments if one.symbol] == ["weights"]
    for one in (*again.grid, *again.block):
        assert "block_size_x" in one
    names = {"block_size_x": 96, "tile_size": 2}
    launch = target.launches[0].steps[0]
    assert [one.evaluate(names) for one in launch.grid] == [
        eval(str(size), {}, names) for size in written["KernelSpecification"]["ProblemSize"]
    ]


def test_description_of_several_launches_is_refused() -> None:
    target = load_target(Path(__file__).parents[3] / "gi_cuda" / "examples" / "sw_naive")
    with pytest.raises(UserError, match="T1 describes one launch, and this target has 2"):
        t1_description(target, Space.from_target(target), {}, {})
