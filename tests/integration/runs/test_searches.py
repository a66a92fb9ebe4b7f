"""Comparison of searches: three presets with five seeds each, checked against scipy."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.analyze.stored.searches import compare_runs
from gi_cuda.analyze.stored.whole_run import whole_run
from gi_cuda.runs.stored import open_store
from tests.command import gi_cuda
from tests.integration.runs.conftest import Finished
from tests.sweeps import broad

PRESETS = ("barracuda", "gevo", "adaptive")

SEEDS = 5

MEASURED = 3
"""Seeds of each that are measured once more, in a dozen processes each."""


@pytest.fixture(scope="module")
def searches(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return copies of the finished run, with right individuals as their winners."""
    folder = tmp_path_factory.mktemp("searches")
    with open_store(finished.folder) as store:
        right = [ident for ident, one in sorted(store.evaluations().items()) if one.right]
    runs = []
    for at in range(len(PRESETS) * SEEDS):
        preset, seed = PRESETS[at // SEEDS], at % SEEDS + 1
        runs.append(Path(shutil.copytree(finished.folder, folder / f"{preset}-{seed}")))
        with open_store(runs[-1]) as store:
            plan, winner = store.get("plan"), store.get("champion")
            value = winner["validation"]["overall"]["value"] + at * seed / 7
            winner["validation"]["overall"]["value"] = value
            store.put(
                plan=plan | {"preset": preset, "seed": seed},
                champion=winner | {"ident": right[at % len(right)]},
            )
    return runs


def check(found: Mapping[str, Any], worth: Mapping[str, Sequence[float]], latex: str) -> None:
    """All that is said of the searches is what scipy says of the same numbers."""
    stats = pytest.importorskip("scipy.stats")
    assert [one["name"].partition(",")[0] for one in found["kinds"]] == list(worth)
    assert [one["found"] for one in found["kinds"]] == list(worth.values())
    for kind in found["kinds"]:
        quartiles = stats.mstats.mquantiles(kind["found"], alphap=1, betap=1)
        assert [kind[name] for name in ("low", "median", "high")] == pytest.approx(list(quartiles))
    tests = [
        stats.mannwhitneyu(one, other, alternative="two-sided")
        for one, other in combinations(worth.values(), 2)
    ]
    pairings = found["pairings"]
    assert [one["p"] for one in pairings] == pytest.approx([one.pvalue for one in tests])
    seeds = len(found["kinds"][0]["found"])
    a12 = [one.statistic / seeds**2 for one in tests]
    assert [one["a12"] for one in pairings] == pytest.approx(a12)
    # Holm's: the smallest three times, the next twice, and none less than the one before.
    ordered, least = [], 0.0
    for times, one in zip((3, 2, 1), sorted(pairings, key=lambda one: one["p"]), strict=True):
        least = max(least, min(1.0, times * one["p"]))
        ordered.append(least)
    assert sorted(one["corrected"] for one in pairings) == pytest.approx(ordered)
    rows = [line.removesuffix(r" \\").split(" & ") for line in latex.splitlines() if " & " in line]
    kinds, pairs = rows[1 : 1 + len(worth)], rows[2 + len(worth) :]
    assert kinds == [
        [one["name"], str(seeds), f"{one['median']:.3f}", f"{one['low']:.3f}--{one['high']:.3f}"]
        for one in found["kinds"]
    ]
    assert pairs == [
        [
            *(one["first"], one["second"]),
            *(f"{one['a12']:.2f}", f"{one['p']:.3g}", f"{one['corrected']:.3g}"),
        ]
        for one in pairings
    ]


@broad
def test_measured_side_by_side(searches: list[Path], tmp_path: Path) -> None:
    some = [run for at, run in enumerate(searches) if at % SEEDS < MEASURED]
    done = gi_cuda("compare", *some, "--json", "--latex", tmp_path / "tables.tex")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    worth: dict[str, list[float]] = {}
    for run, one in zip(some, record["contestants"], strict=True):
        value = one["held_out"]["value"] if one["held_out"] else 1.0
        worth.setdefault(run.name.partition("-")[0], []).append(value)
    check(record["searches"], worth, (tmp_path / "tables.tex").read_text())
    assert "which of two finds more" in done.stderr


def test_as_each_was_validated(searches: list[Path], tmp_path: Path) -> None:
    """The page says of stored results what ``compare`` says of new ones."""
    done = gi_cuda("report", *searches, "-o", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text("utf-8")
    worth: dict[str, list[float]] = {}
    for run in searches:
        with open_store(run) as store:
            value = store.get("champion")["validation"]["overall"]["value"]
        worth.setdefault(run.name.partition("-")[0], []).append(value)
    found = asdict(compare_runs([whole_run(run, drawn=0) for run in searches]))
    found["kinds"] = [one | {"found": list(one["found"])} for one in found["kinds"]]
    latex = re.search(r"LaTeX</summary><pre>(.*?)</pre>", text, re.S)
    assert latex
    check(found, worth, html.unescape(latex[1]))
    cells = [
        re.findall(r"<td[^>]*>(.*?)</td>", row)
        for name in ("kinds", "pairings")
        for row in re.findall(r"<tr>(.*?)</tr>", _table(text, name), re.S)
    ]
    shown = [
        [*(one["name"], "5", f"{one['median']:.3f}"), f"{one['low']:.3f} to {one['high']:.3f}"]
        for one in found["kinds"]
    ]
    shown += [
        [
            *(one["first"], one["second"]),
            *(f"{one['a12']:.2f}", f"{one['p']:.3g}", f"{one['corrected']:.3g}"),
        ]
        for one in found["pairings"]
    ]
    assert cells == shown


def _table(text: str, name: str) -> str:
    rest = text[text.index(f'id="{name}"') :]
    return rest[rest.index("<tbody>") : rest.index("</tbody>")]
