"""``gi-cuda tune``: a target's configurations on a device, and those that were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gi_cuda.subject import Subject
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.recorded import read_recorded
from tests.command import gi_cuda


def test_all_configurations_of_a_small_target_and_the_files_of_other_tuners(
    scale: Subject, tmp_path: Path
) -> None:
    files = ("--t1-output", "t1.json", "--t4-output", "t4.json", "--kernel-tuner-cache", "c.json")
    words = ("tune", scale.target.folder, "--searcher", "exhaustive", "--evaluations", 40)
    done = gi_cuda(*words, "--run", "r", *files, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    grid = Grid.of_space(scale.space)
    assert "preset tune-exhaustive" in done.stdout
    assert "the space is used up" in done.stdout
    assert "gi-cuda resume" not in done.stdout  # there is nothing more to search
    assert "no configuration is left to be measured" in done.stdout
    assert "no configuration is left" in gi_cuda("show", "r", cwd=tmp_path).stdout
    measured = [read_recorded(tmp_path / name) for name in ("t4.json", "c.json")]
    # BLOCK is no macro of the code on its own: some configurations are the same code.
    assert 1 < len(measured[0].costs) <= grid.size
    names = measured[0].names
    for one in measured:
        assert set(one.names) == set(names)
        found = [one.grid.configuration(point) for point in one.costs]
        assert all(grid.allows(grid.point(values)) for values in found)
    assert sorted(map(str, measured[0].costs.values())) == sorted(
        map(str, measured[1].costs.values())
    )
    space = json.loads((tmp_path / "t1.json").read_text())["ConfigurationSpace"]
    assert {one["Name"] for one in space["TuningParameters"]} == set(grid.names)
    again = gi_cuda("tune", "--simulate", "c.json", "--searcher", "random", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "100.0%" in again.stdout
    assert f"{len(measured[1].costs)} evaluations in all" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no target is named"),
        (("TARGET", "--simulate", "c.json"), "a recorded space has no target"),
        (("TARGET", "--searcher", "quick"), "there is no searcher 'quick'"),
        (("--simulate", "missing.json"), "missing.json"),
        (("--simulate", "no.json"), "no.json"),
    ],
)
def test_mistakes_are_one_message(
    words: tuple[str, ...], said: str, scale: Subject, tmp_path: Path
) -> None:
    (tmp_path / "no.json").write_text('{"cache": 3}')
    there = {"TARGET": scale.target.folder}
    done = gi_cuda("tune", *(there.get(one, one) for one in words), cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["no.json"]
