"""Launches that follow from a target, a configuration and a case."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.spec import (
    Launch,
    LaunchError,
    Target,
    buffer_sizes,
    defaults,
    final_storage,
    load_case,
    load_target,
    plan,
)

from .conftest import DATA, Write


def planned(target: Target, **values: int | str) -> tuple[Launch, ...]:
    case = load_case(target, target.cases[0])
    return plan(target, {**defaults(target), **values}, case.scalars)


def test_a_plan(write: Write) -> None:
    first, second, third, scale = planned(load_target(write()))
    n = np.int32(1000)
    assert first == Launch("smooth", (16, 1, 1), (64, 1, 1), 256, ("a", "b", n, np.int32(0)))
    assert second.args == ("b", "a", n, np.int32(1))
    assert third.args == ("a", "b", n, np.int32(2))
    # After three swaps the newest values, called a, lie in the storage of b.
    assert scale == Launch("scale", (16, 1, 1), (64, 2, 1), 0, ("b", n, np.float32(1.5)))
    assert [type(argument) for argument in first.args[2:]] == [np.int32, np.int32]


def test_geometry_follows_the_configuration(write: Write) -> None:
    launch = planned(load_target(write()), BLOCK_W=128)[0]
    assert (launch.grid, launch.block, launch.shared) == ((8, 1, 1), (128, 1, 1), 512)


def test_geometry_follows_the_counter(write: Write) -> None:
    folder = write(('shared = "BLOCK_W * sizeof(float)"', 'shared = "BLOCK_W << round"'))
    assert [launch.shared for launch in planned(load_target(folder))[:3]] == [64, 128, 256]


@pytest.mark.parametrize("steps", range(4))
def test_where_the_contents_lie_in_the_end(steps: int, write: Write) -> None:
    target = load_target(write(data=DATA.replace("steps=3", f"steps={steps}")))
    case = load_case(target, target.cases[0])
    swapped = steps % 2 == 1
    assert final_storage(target, defaults(target), case.scalars) == {
        "a": "b" if swapped else "a",
        "b": "a" if swapped else "b",
        "table": "table",
    }
    launches = planned(target)
    assert len(launches) == steps + 1
    assert launches[-1].args[0] == ("b" if swapped else "a")


def test_only_launches_that_say_so_are_cooperative(write: Write) -> None:
    together = '  block = "BLOCK_W"\n  cooperative = true'
    target = load_target(write(('  block = "BLOCK_W"', together)))
    case = load_case(target, target.cases[0])
    launches = plan(target, defaults(target), case.scalars)
    assert {one.kernel: one.cooperative for one in launches} == {"smooth": True, "scale": False}


def test_sizes_of_buffers(write: Write) -> None:
    target = load_target(
        write(
            ('swap = [["a", "b"]]\n', ""),
            ('"n"\nrole = "scratch"', '"n * BLOCK_W"\nrole = "scratch"'),
        )
    )
    case = load_case(target, target.cases[0])
    assert buffer_sizes(target, defaults(target), case) == {"a": 1000, "b": 64000, "table": 4}
    wide = {**defaults(target), "BLOCK_W": 128}
    assert buffer_sizes(target, wide, case)["b"] == 128000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('block = "BLOCK_W"', 'block = "BLOCK_W * 32"', "smooth: a block of 2048 x 1 x 1"),
        ('block = "BLOCK_W"', 'block = "BLOCK_W - 64"', "smooth: a block of 0 x 1 x 1"),
        ('block = "BLOCK_W"', 'block = ["BLOCK_W", 32]', "a block of 2048 threads"),
        ('grid = ["blocks"]', 'grid = ["1", "65536"]', "a grid of 1 x 65536 x 1"),
        ('grid = ["blocks"]', 'grid = ["n / (BLOCK_W - 64)"]', "division by zero"),
        ('"BLOCK_W * sizeof(float)"', '"0 - n"', "-1000 bytes of shared memory"),
        ('repeat = "steps"', 'repeat = "0 - steps"', "-3 repetitions"),
        ('repeat = "steps"', 'repeat = "n * 10000"', "10000000 repetitions"),
        ('value = "(n + ', 'value = "(1 << 40) + (n + ', "does not fit into int32"),
    ],
)
def test_what_cannot_be_launched(old: str, new: str, message: str, write: Write) -> None:
    folder = write((old, new))
    target = load_target(folder)
    with pytest.raises(LaunchError) as caught:
        planned(target)
    assert message in str(caught.value)
    assert str(caught.value.where).startswith(f"{folder / 'target.toml'}:")


def test_the_message_gives_the_values_behind_it(write: Write) -> None:
    target = load_target(write(('block = "BLOCK_W"', 'block = "BLOCK_W * 32"')))
    with pytest.raises(LaunchError, match=r"from `BLOCK_W \* 32` with BLOCK_W = 64"):
        planned(target)


def test_a_scratch_buffer_without_elements(write: Write) -> None:
    target = load_target(
        write(
            ('swap = [["a", "b"]]\n', ""),
            ('"n"\nrole = "scratch"', '"BLOCK_W - 64"\nrole = "scratch"'),
        )
    )
    case = load_case(target, target.cases[0])
    with pytest.raises(LaunchError, match="the buffer 'b' has 0 elements"):
        buffer_sizes(target, defaults(target), case)


def test_kernels_get_something_else_and_as_much_is_launched(write: Write) -> None:
    target = load_target(write())
    scalars = load_case(target, target.cases[0]).scalars
    halved = plan(target, defaults(target), scalars, {"n": lambda n: n.dtype.type(n // 2)})
    given = planned(target)
    assert [one.args[2] for one in halved[:-1]] == [np.int32(500)] * 3
    assert halved[-1].args == ("b", np.int32(500), np.float32(1.5))
    assert [(one.grid, one.block) for one in halved] == [(one.grid, one.block) for one in given]


def test_a_redrawn_scalar_is_another_one_in_each_draw(write: Write) -> None:
    seed = '[[scalar]]\nname = "seed"\ntype = "int8"\nredraw = true\n\n'
    folder = write(
        ('[[scalar]]\nname = "gain"', seed + '[[scalar]]\nname = "gain"'),
        ('"gain"]', '"gain", "seed"]'),
        data=DATA.replace('"gain": ', '"seed": 126, "gain": '),
    )
    *smooths, scale = planned(load_target(folder))
    assert scale.redrawn
    assert [scale.at(draw).args[-1] for draw in range(4)] == [126, 127, -128, -127]
    assert {type(scale.at(draw).args[-1]) for draw in range(3)} == {np.int8}
    assert scale.at(1).args[:-1] == scale.args[:-1]
    assert all(smooth.at(3) is smooth for smooth in smooths)
