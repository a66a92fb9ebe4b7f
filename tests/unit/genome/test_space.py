"""Configurations: defaults, changes, constraints, macros."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from gi_cuda.genome import Space
from gi_cuda.spec import Parameter, ParameterKind, Target, load_target, macros

TARGETS = Path(__file__).parents[3] / "targets"


@pytest.fixture(scope="module", params=sorted(p.parent.name for p in TARGETS.glob("*/target.toml")))
def target(request: pytest.FixtureRequest) -> Target:
    return load_target(TARGETS / request.param)


def test_default_changes_nothing(space: Space) -> None:
    assert space.default.changed == {}
    assert space.default.settings == ()
    assert dict(space.default) == {p.name: p.default for p in space.parameters}


def test_only_changes_are_listed_in_the_order_of_the_space(space: Space) -> None:
    configuration = space.default.having({"TYPE": "7", "CACHE": 16, "BLOCK_W": 128})
    assert list(configuration.changed.items()) == [("CACHE", 16), ("TYPE", "7")]
    assert [str(one) for one in configuration.settings] == ["CACHE=16", 'TYPE="7"']


def test_having_goes_back_to_the_default(space: Space) -> None:
    changed = space.default.having({"BLOCK_W": 512})
    assert changed != space.default
    back = changed.having({"BLOCK_W": 128})
    assert back == space.default
    assert hash(back) == hash(space.default)


def test_having_refuses_what_is_not_in_the_space(space: Space) -> None:
    with pytest.raises(ValueError, match="BLOCK_W does not take the value 33"):
        space.default.having({"BLOCK_W": 33})
    with pytest.raises(KeyError):
        space.default.having({"BLOCK": 64})


def test_constraints(space: Space) -> None:
    assert space.allows(space.default)
    assert space.allows(space.default.having({"CACHE": 32}))
    assert not space.allows(space.default.having({"CACHE": 64}))
    assert space.allows(space.default.having({"CACHE": 64, "BLOCK_W": 256}))


def test_macros(space: Space) -> None:
    assert space.default.macros == {
        "FIXED": "1",
        "BLOCK_W": "128",
        "CACHE": "0",
        "RATIO": "1.5",
        "TYPE": "int",
        "ONLY": "3",
    }
    assert space.default.having({"SECOND": 1}).macros["SECOND"] == "1"


def test_macros_are_those_that_the_build_defines(target: Target) -> None:
    space = Space.from_target(target)
    for parameter in space.parameters:
        for value in parameter.values:
            configuration = space.default.having({parameter.name: value})
            assert configuration.macros == macros(target, configuration)


def test_neighbours_are_next_by_size_whatever_the_order_written() -> None:
    numbers = Parameter("N", ParameterKind.MACRO, (64, 0, 1.5, 32), 64)
    words = Parameter("W", ParameterKind.MACRO, ("a", "b", 3), "a")
    neighbours = Space((numbers, words)).neighbours
    assert neighbours[0] == {0: (1.5,), 1.5: (0, 32), 32: (1.5, 64), 64: (32,)}
    assert neighbours[1] == {"a": (), "b": (), 3: ()}


def test_a_parameter_of_another_backend_stays_at_its_default(target: Target) -> None:
    for parameter in Space.from_target(target, "host").parameters:
        assert "host" in parameter.backends or parameter.values == (parameter.default,)


def test_survives_pickling(space: Space) -> None:
    configuration = space.default.having({"CACHE": 16})
    copy = pickle.loads(pickle.dumps(configuration))
    assert copy == configuration
    assert copy.macros == configuration.macros
