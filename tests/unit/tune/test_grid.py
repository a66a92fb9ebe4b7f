"""The points of a configuration space: their number, their neighbours, random points."""

from __future__ import annotations

import random
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.tune.grid import Grid, Point, Rule


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Grids of up to five parameters with up to four rules, each between several parameters."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    rules: list[Rule] = []
    for _ in range(draw(st.integers(0, 4))):
        read = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1, max_size=3))
        modulus, rest = draw(st.integers(2, 4)), draw(st.integers(0, 3))
        rules.append((tuple(sorted(read)), lambda places, m=modulus, r=rest: sum(places) % m != r))
    names = tuple(f"p{at}" for at in range(len(shape)))
    return Grid(names, tuple(tuple(range(count)) for count in shape), tuple(rules))


def allowed(grid: Grid) -> list[Point]:
    return [point for point in product(*map(range, grid.shape)) if grid.allows(point)]


@given(grids())
@settings(deadline=None)
def test_the_size_is_the_number_of_points(grid: Grid) -> None:
    points = allowed(grid)
    assert grid.size == len(points)
    assert list(map(tuple, grid.points.tolist())) == points == list(grid.each())
    listed = Grid(grid.names, grid.values, listed=frozenset(points))
    assert listed.size == grid.size
    assert (listed.points == grid.points).all()


@given(grids(), st.integers(0, 30))
@settings(deadline=None)
def test_a_listing_is_given_up_to_a_limit(grid: Grid, limit: int) -> None:
    points = allowed(grid)
    for one in (grid, Grid(grid.names, grid.values, listed=frozenset(points))):
        found = one.listing(limit)
        assert (found is None) == (len(points) > limit)
        assert found is None or list(map(tuple, found.tolist())) == points


@given(grids(), st.integers())
@settings(deadline=None)
def test_random_points_are_allowed(grid: Grid, seed: int) -> None:
    point = grid.draw(random.Random(seed))
    assert (point is None) == (grid.size == 0)
    assert point is None or grid.allows(point)
    listed = Grid(grid.names, grid.values, listed=frozenset(allowed(grid)))
    point = listed.draw(random.Random(seed))
    assert (point is None) == (grid.size == 0)


@given(grids(), st.sampled_from([1, 2, None]))
@settings(deadline=None)
def test_neighbours_differ_in_one_parameter(grid: Grid, reach: int | None) -> None:
    points = allowed(grid)
    for point in points[:5]:
        expected = [
            other
            for other in points
            if sum(a != b for a, b in zip(point, other, strict=True)) == 1
            and all(reach is None or abs(a - b) <= reach for a, b in zip(point, other, strict=True))
        ]
        assert sorted(grid.neighbours(point, reach)) == expected


def test_a_rule_between_several_parameters_is_asked_about_their_places_in_order() -> None:
    values = ((32, 64), (1, 2, 4), (8, 16))
    seen: set[Point] = set()

    def keeps(places: Point) -> bool:
        seen.add(places)
        return values[0][places[0]] % values[2][places[1]] == 0

    grid = Grid(("a", "b", "c"), values, (((0, 2), keeps),))
    assert grid.size == 12
    assert seen == {(0, 0), (0, 1), (1, 0), (1, 1)}
