"""Cases of other sizes: few, within the domain, with different blocks and parities."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gi_cuda.errors import UserError
from gi_cuda.spec import Target, load_target
from gi_cuda.spec.case_data.other_sizes import (
    LARGER,
    MOST,
    OWN,
    SEEDS,
    numbers_in,
    other_seeds,
    other_sizes,
    own_sizes,
    sizes_near,
    sizes_of,
    stated_domain,
    tile_of,
)

TABLE = """
[target]
name = "table"
source = "kernel.cu"
kernels = ["table"]
domain = [{domain}]

[[buffer]]
name = "out"
type = "float32"
size = "rows * cols"
role = "output"

[[scalar]]
name = "rows"
type = "int32"

[[scalar]]
name = "cols"
type = "int32"

[[scalar]]
name = "blocks"
type = "int32"
value = "(cols + 47) / 48"

[[launch]]
kernel = "table"
grid = ["blocks", "rows"]
block = "32"
args = ["out", "rows", "cols"]

[oracle]
kind = "exact"

[[case]]
name = "train"
role = "train"
args = {{ seed = 1, rows = 20, cols = 96 }}

[[case]]
name = "held-out"
role = "held-out"
args = {{ seed = 2, rows = 6, cols = 144 }}
"""


def table(folder: Path, domain: str = "") -> Target:
    """A target of two sizes."""
    (folder / "kernel.cu").write_text("__global__ void table(float *out, int rows, int cols) {}")
    (folder / "data.py").write_text("def case(seed, rows, cols): ...\n")
    (folder / "target.toml").write_text(TABLE.format(domain=domain))
    return load_target(folder)


def test_after_how_many_elements_there_is_one_more_block(tmp_path: Path) -> None:
    target = table(tmp_path)
    sizes = sizes_of(target.cases[0])
    assert sizes == {"rows": 20, "cols": 96}
    assert tile_of(target, sizes, "cols") == 48
    assert tile_of(target, sizes, "rows") == 1


def test_what_other_sizes_there_are(tmp_path: Path) -> None:
    target = table(tmp_path)
    found = other_sizes(target, target.cases, {"cols": [100]})
    cols = {sizes_of(one.case)["cols"] for one in found}
    rows = {sizes_of(one.case)["rows"] for one in found}
    assert {1, 143, 144, 145, 146, 100} <= cols
    assert any(one > 144 and one % 48 == 0 for one in cols)
    assert any(one > 144 and one % 2 for one in cols)
    assert 1 in rows
    assert max(rows) > 20
    sizes = [sizes_of(one.case) for one in found]
    assert {"rows": 1, "cols": 1} in sizes
    assert any(one["rows"] == 1 and one["cols"] > 4 * 144 for one in sizes)


def test_other_sizes_are_few_and_small(tmp_path: Path) -> None:
    target = table(tmp_path)
    found = other_sizes(target, target.cases, {"cols": list(range(200, 300))})
    volumes = [math.prod(sizes_of(one.case).values()) for one in found]
    assert len(found) == MOST
    assert volumes == sorted(volumes)
    assert volumes[-1] <= LARGER * 20 * 96
    names = [one.case.name for one in found]
    assert len({*names, *(one.name for one in target.cases)}) == MOST + 2
    assert {one.case.args["seed"] for one in found} == {2}


def test_sizes_near_numbers_of_a_text(tmp_path: Path) -> None:
    target = table(tmp_path)
    numbers = numbers_in("if (cols > 1 << 20 || cols == 0x400u) x[12] = 1.5f * a7 + 3e4;")
    assert numbers == {1 << 20, 0x400, 12}
    sizes = [sizes_of(one.case) for one in sizes_near(target, target.cases, [1 << 20, 4096])]
    assert {"rows": 6, "cols": (1 << 20) + 1} in sizes
    assert {"rows": 1 << 20, "cols": 1} in sizes  # with more columns it is too much
    assert {"rows": 6, "cols": 4097} in sizes
    assert {"rows": 4096, "cols": 144} in sizes
    assert not sizes_near(target, target.cases, [OWN + 1])


def test_other_seeds_of_the_smallest_case_and_of_each_once(tmp_path: Path) -> None:
    target = table(tmp_path)
    found = other_seeds(target, [one.name for one in target.cases])
    assert len(found) == SEEDS + 1
    seeds = [one.case.args["seed"] for one in found]
    assert not {1, 2} & {*seeds}
    assert all(one.reseeded for one in found)
    assert [sizes_of(one.case)["rows"] for one in found] == [6] * SEEDS + [20]


def test_a_domain_leaves_sizes_out(tmp_path: Path) -> None:
    target = table(tmp_path, '"cols % 16 == 0 && rows > 1", "1000 / rows > 10"')
    sizes = [sizes_of(one.case) for one in other_sizes(target, target.cases, {})]
    assert sizes
    for one in sizes:
        assert one["cols"] % 16 == 0
        assert one["rows"] > 1
        assert 1000 // one["rows"] > 10


def test_a_case_without_sizes_has_no_others(tmp_path: Path) -> None:
    target = table(tmp_path)
    text = target.file.read_text().replace("rows = 20, cols = 96", 'file = "a"')
    target.file.write_text(text.replace("rows = 6, cols = 144", 'file = "b"'))
    target = load_target(tmp_path)
    assert other_sizes(target, target.cases, {}) == []


@pytest.mark.parametrize(
    ("domain", "told"),
    [
        ('"depth > 1"', "'depth' in `depth > 1` is no integer that a case gives"),
        ('"cols % 96 == 0"', "the case 'held-out' is outside the domain: not `cols % 96 == 0`"),
        ('"cols >"', "not a C expression"),
    ],
)
def test_what_is_wrong_in_a_domain_is_told(domain: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        table(tmp_path, domain)
    assert told in error.value.what
    assert str(error.value.where).startswith(f"{tmp_path / 'target.toml'}:")


def test_sizes_of_the_source_and_what_its_comments_say() -> None:
    text = """
        // rows, cols and depth are multiples of 16; other is a multiple of 3
        int main() { int rows = 1 << 10, cols = 48; launch(rows); }
        /* cols must be a multiple of 4 */
    """
    assert own_sizes(text, ["rows", "cols"]) == {"rows": [1024], "cols": [48]}
    stated = [one.text for one in stated_domain(text, ["rows", "cols"])]
    assert stated == ["rows % 16 == 0", "cols % 16 == 0", "cols % 4 == 0"]
    assert stated_domain("rows are multiples of 16", ["rows"]) == []
