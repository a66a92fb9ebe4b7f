"""``gi-cuda tune``: a target's configurations on a device, and those that were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gi_cuda.subject import Subject
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.records.recorded import read_recorded
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
        (("TARGET", "--searcher", "profile"), "needs a model of counters"),
        (("--simulate", "c.json", "--model", "m.json"), "the searcher bayes has no model"),
        (("TARGET", "--searcher", "profile", "--model", "no.json"), "this is no model of counters"),
        (("TARGET", "--train-model", "m.json", "--backend", "host"), "has no hardware counters"),
        (("--train-model", "m.json"), "a model has a file, and is trained either on"),
        (("--from", "no.json"), "a model has a file, and is trained either on"),
        (("--train-model", "no.json", "--from", "c.json"), "the file exists"),
        (("--train-model", "m.json", "--from", "no.json"), "no.json"),
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


def ktt(slots: float) -> dict[str, object]:
    """Results of KTT with counters: the time and the instructions fall with UNROLL.

    Args:
        slots: instructions that are issued in a millisecond.
    """
    use, work = "issue_slot_utilization", "inst_executed"
    results = []
    for unroll in range(1, 25):
        counters = [{"Name": use, "Value": 90.0}, {"Name": work, "Value": 1e6 / unroll}]
        launch = {"Duration": 1e6 / unroll / slots, "ProfilingData": {"Counters": counters}}
        values = [{"Name": "UNROLL", "Value": unroll}]
        results.append({"Configuration": values, "Status": "Ok", "ComputationResults": [launch]})
    return {"Metadata": {"TimeUnit": "Milliseconds"}, "Results": results}


def test_a_model_of_one_gpu_serves_to_search_another(tmp_path: Path) -> None:
    for name, slots in (("here.json", 1e5), ("there.json", 3e5)):
        (tmp_path / name).write_text(json.dumps(ktt(slots)))
    words = ("tune", "--train-model", "m.json", "--from", "there.json")
    done = gi_cuda(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wrote m.json: a model of the counters of 24 configurations" in done.stdout
    assert "variants run on the CPU" not in done.stderr  # nothing runs
    words = ("tune", "--simulate", "here.json", "--searcher", "profile", "--model", "m.json")
    done = gi_cuda(*words, "--evaluations", 6, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "UNROLL=24" in done.stdout


def test_a_recorded_tuning_without_counters_trains_nothing(tmp_path: Path) -> None:
    results = ktt(1e5)
    for one in results["Results"]:  # type: ignore[attr-defined]
        del one["ComputationResults"][0]["ProfilingData"]
    (tmp_path / "k.json").write_text(json.dumps(results))
    done = gi_cuda("tune", "--train-model", "m.json", "--from", "k.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "k.json: a model needs two different configurations with the same" in done.stderr
    assert not (tmp_path / "m.json").exists()


def test_a_search_with_a_model_is_resumed_with_it(scale: Subject, tmp_path: Path) -> None:
    names = [one.name for one in scale.space.parameters if len(one.values) > 1]
    parameters = [{"name": name, "texts": []} for name in names]
    counters = {"issue": [0, 64.0, 2.0, 1.0], "issue use": 0.9}
    model = {"counter_model": 1, "parameters": parameters, "counters": counters}
    (tmp_path / "m.json").write_text(json.dumps(model))
    words = ("tune", scale.target.folder, "--searcher", "profile", "--model", "m.json")
    done = gi_cuda(*words, "--evaluations", 4, "--run", "r", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    again = gi_cuda("resume", "r", "--generations", 2, cwd=tmp_path)
    assert again.returncode in (0, 1), again.stderr
