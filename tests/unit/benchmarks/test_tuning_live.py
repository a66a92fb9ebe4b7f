"""The benchmark of live tuning: reading its caches, and the arguments made for pnpoly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.tuning_live import Tried, arrival, best, pnpoly_arguments, tried
from gi_cuda.tune.records.exports import Measured, kernel_tuner_cache, write_json

VALUES = {"BLOCK": (32, 64, 128)}
START = 1_800_000_000.0


def test_results_have_the_seconds_since_the_start(tmp_path: Path) -> None:
    rows = [
        Measured({"BLOCK": 32}, 2.0),  # the reference, which was not searched for
        Measured({"BLOCK": 128}, None, finished=START + 4.5),
        Measured({"BLOCK": 64}, 1.5, finished=START + 3.25),
    ]
    path = tmp_path / "cache.json"
    write_json(path, kernel_tuner_cache(VALUES, rows, "blur", "GPU 1"))
    assert tried(path, START) == [
        Tried(3.25, 1.5, {"BLOCK": 64}),
        Tried(4.5, None, {"BLOCK": 128}),
    ]


def test_a_cache_that_kernel_tuner_did_not_finish_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    head = {"tune_params_keys": ["BLOCK"], "tune_params": {"BLOCK": [32, 64]}, "cache": {}}
    entry = {"BLOCK": 64, "__error__": "RuntimeFailedConfig"}
    stamp = {"timestamp": "2027-01-15 08:00:01+00:00"}
    path.write_text(json.dumps(head)[:-2] + f'\n"64": {json.dumps(entry | stamp)},')
    assert tried(path, START) == [Tried(1.0, None, {"BLOCK": 64})]


def test_a_search_arrives_with_the_first_time_that_is_near_enough() -> None:
    found = [Tried(1.0, None, {}), Tried(2.0, 4.0, {}), Tried(3.0, 1.9, {}), Tried(9.0, 1.0, {})]
    assert best(found) == found[3]
    assert best(found[:1]) is None
    assert arrival(found, scale=1.0, goal=2.0) == (3.0, 3)
    assert arrival(found, scale=2.0, goal=2.0) == (9.0, 4)
    assert arrival(found, scale=2.0, goal=1.0) is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_vertex_of_pnpoly_has_a_coordinate_of_a_point(tmp_path: Path, seed: int) -> None:
    arguments = pnpoly_arguments(tmp_path, points=4000)
    assert [one["Name"] for one in arguments] == ["bitmap", "points", "n", "d_vertices"]
    points = np.fromfile(tmp_path / "points.bin", np.float32)
    vertices = np.random.default_rng(seed).uniform(0, 1.0, 1200).astype(np.float32)
    assert len(points) == 8000
    assert not np.isin(vertices, (2 * np.arange(512) + 1) / 1024).any()
