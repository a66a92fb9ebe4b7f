"""``gi-cuda report``: contents of the page, without a browser."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gi_cuda.analyze.finalists.shortfall import Shortfall
from gi_cuda.analyze.stored.whole_run import whole_run
from gi_cuda.report.page import payload
from gi_cuda.report.page.page_text import said
from gi_cuda.report.page.payload import DETAILS, contents
from gi_cuda.results.generation import Individual, Tally
from gi_cuda.results.near_limit import NearLimit
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.stored import DATABASE, open_store, stored_baseline, stored_subject
from gi_cuda.store import Store, Tabued
from tests.command import gi_cuda
from tests.integration.runs.conftest import WASTE, Finished, printed
from tests.integration.runs.synthetic import copy_without_individuals, grow


def page_of(*runs: Path, output: Path) -> str:
    done = gi_cuda("report", *runs, "-o", output, "--force")
    assert done.returncode == 0, done.stderr
    assert f"wrote {output}" in done.stdout
    return output.read_text("utf-8")


def shown(run: Path) -> dict[str, Any]:
    done = gi_cuda("show", run, "--json", "--best", 1000)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def data_of(text: str) -> dict[str, Any]:
    """Return the data that the page's script gets."""
    match = re.search(r'id="payload">([^<]*)<', text)
    assert match
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(match[1])))
    return found


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished.folder, tmp_path / "run"))


def test_every_number_is_that_of_show(run: Path, tmp_path: Path) -> None:
    text, record = page_of(run, output=tmp_path / "page.html"), shown(run)
    overall = record["winner"]["validation"]["overall"]
    assert f'<strong class="speed-up">{overall["value"]:.3f}</strong>' in text
    assert f"[{overall['low']:.3f}, {overall['high']:.3f}]" in text
    for case, one in record["winner"]["validation"]["cases"].items():
        assert case in text
        assert f"{one['value']:.3f}" in text
    data = data_of(text)
    columns = data["columns"]
    idents = list(_sums(columns["individual"]))
    by_ident = {one["individual"]: one for one in record["individuals"]}
    assert by_ident.keys() <= set(idents)
    for at, ident in enumerate(idents):
        if ident in by_ident:
            one = by_ident[ident]
            for name in ("speed_up", "low", "high"):
                assert columns[name][at] == round(one[name] * 10 ** data["digits"])
            assert [ident - step for step in columns["parents"][at]] == one["parents"]
            words = [data["changes"][word] for word in columns["genotype"][at]]
            assert " ".join(words) == one["genotype"]
    options = json.loads(_charts(text))["options"]
    (faster,) = (one for one in options["outcomes"]["series"] if one["name"] == "faster")
    assert faster["data"] == [one["outcomes"].get("faster", 0) for one in record["generations"]]
    sure, best = (one["data"] for one in options["best"]["series"])
    for drawn, name in ((sure, "sure"), (best, "best")):
        wanted = [one[name] for one in record["generations"]]
        assert drawn == [None if one is None else round(one, 6) for one in wanted]


def test_changes_are_sentences_and_the_noise_is_what_a_winner_must_beat(
    run: Path, tmp_path: Path
) -> None:
    text, told = page_of(run, output=tmp_path / "page.html"), whole_run(run)
    data, shown_noise = data_of(text), said(told).noise
    assert data["sentences"][WASTE] == "deletes the statement on line 27"
    assert told.record.winner is not None
    (bar,) = said(told).bars
    floor = told.record.noise_floor
    # Both are on one track, whose scale the bar's interval gives.
    scale = bar.span / (bar.speed_up.high - bar.speed_up.low)
    bar_at = bar.low + (1 / (1 - floor) - bar.speed_up.low) * scale
    assert shown_noise.left + shown_noise.width >= bar_at - 0.01
    assert f"Noise floor: {floor:.1%}" in text


def test_an_empty_last_generation_is_not_drawn_and_what_fell_short_leads(
    run: Path, tmp_path: Path
) -> None:
    before = len(whole_run(run).record.generations)
    with open_store(run) as store:
        one = Individual(9999, before, WASTE, b"new", None, "random", ())
        store.add_generation(before, Tally(1), [one], Tabued())
        short = Shortfall(7, 1.44, SpeedUp(1.0, 0.99, 1.01), "its sizes")
        store.put(champion=None, shortfall=asdict(short))
    text = page_of(run, output=tmp_path / "page.html")
    assert len(json.loads(_charts(text))["options"]["outcomes"]["xAxis"]["data"]) == before
    assert "The best that was tried: individual 7: speed-up 1.440 on the train cases" in text
    assert "Probable cause: its sizes" in text


def _sums(steps: list[int]) -> list[int]:
    return [sum(steps[: at + 1]) for at in range(len(steps))]


def _charts(text: str) -> str:
    match = re.search(r'id="charts">(.*?)</script>', text, re.S)
    assert match
    return match[1]


def test_it_is_one_file_that_asks_for_nothing(run: Path, tmp_path: Path) -> None:
    text = page_of(run, output=tmp_path / "page.html")
    assert len(text) < 3_000_000
    assert "default-src 'none'" in text
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    assert "This says nothing of its speed on a GPU" in text


def test_a_target_that_is_gone_costs_only_the_diffs(run: Path, tmp_path: Path) -> None:
    with open_store(run) as store:
        store.put(target="/nowhere/scale")
    text = page_of(run, output=tmp_path / "page.html")
    assert "Diffs are missing: /nowhere/scale" in text
    assert f"{shown(run)['winner']['validation']['overall']['value']:.3f}" in text


def test_a_run_without_generations(run: Path, tmp_path: Path) -> None:
    empty = copy_without_individuals(run, tmp_path / "empty")
    text = page_of(empty, output=tmp_path / "page.html")
    assert "No individual is faster than the reference" in text
    assert data_of(text)["columns"]["individual"] == []
    assert f"gi-cuda resume {empty}" in text
    assert "gi-cuda patch" not in text


def test_messages_cannot_end_the_script(run: Path, tmp_path: Path) -> None:
    grown = copy_without_individuals(run, tmp_path / "grown")
    with open_store(grown) as store:
        grow(store, stored_subject(store, grown), 50, 10, Random(1))
    text = page_of(grown, output=tmp_path / "page.html")
    assert any("</script>" in one for one in data_of(text)["messages"])
    assert text.count("</script>") == 4


def test_large_runs_lose_detail_and_say_so(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = copy_without_individuals(run, tmp_path / "grown")
    with open_store(grown) as store:
        grow(store, stored_subject(store, grown), 200, 50, Random(1))
    whole = whole_run(grown)
    sizes = [len(payload.pack(contents(whole, one))) for one in DETAILS]
    assert sizes == sorted(sizes, reverse=True)
    assert payload.payload(whole)[1] == ""
    monkeypatch.setattr(payload, "MOST", sizes[-1])
    packed, said = payload.payload(whole)
    assert len(packed) == sizes[-1]
    assert said == DETAILS[-1].said


def test_several_runs_are_compared(run: Path, tmp_path: Path) -> None:
    runs = []
    kinds = ((1, "barracuda", 2.0), (2, "adaptive", 3.0), (3, "adaptive", 4.0))
    for number, preset, speed in kinds:
        other = run if number == 1 else Path(shutil.copytree(run, tmp_path / f"run{number}"))
        with open_store(other) as store:
            winner = store.get("champion")
            winner["validation"]["overall"]["value"] = speed
            plan = store.get("plan")
            store.put(champion=winner, plan=plan | {"preset": preset, "seed": number})
        runs.append(other)
    text = page_of(*runs, run / ".." / "run", output=tmp_path / "page.html")
    assert "<small>3 runs</small>" in text  # the one named twice is one
    assert "3.500" in text
    assert r"\begin{tabular}" in text
    row = re.search(r'id="pairings">.*?<tbody>\n(.*?)</tbody>', text, re.S)
    assert row
    assert re.findall(r'class="n">([^<]*)<', row[1]) == ["0.00", "0.667", "0.667"]


def test_runs_without_a_winner_are_not_to_be_compared_next(run: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(run, tmp_path / "other"))
    with open_store(other) as store:
        store.put(champion=None)
    done = gi_cuda("report", run, other, "-o", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    command = done.stdout.splitlines()[-1].strip()
    assert command.startswith("gi-cuda ")
    assert not command.startswith("gi-cuda compare")
    assert str(other) in command


def test_runs_of_different_targets_are_not_compared(run: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(run, tmp_path / "other"))
    with open_store(other) as store:
        store.put(target_hash="another")
    done = gi_cuda("report", run, other, "-o", tmp_path / "page.html")
    assert done.returncode == 2
    assert "its target is" in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_file_that_is_there_is_kept(run: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("mine")
    done = gi_cuda("report", run, "-o", tmp_path / "page.html")
    assert done.returncode == 2
    assert "overwrite it with --force" in done.stderr
    assert (tmp_path / "page.html").read_text() == "mine"


def test_a_synthetic_run_is_a_real_one(run: Path, tmp_path: Path) -> None:
    """Other tests of this module use synthetic runs."""
    grown = copy_without_individuals(run, tmp_path / "grown")
    with Store(grown / DATABASE) as store:
        grow(store, stored_subject(store, grown), 30, 10, Random(1))
        assert [sum(one.outcomes.values()) for one in store.generations()] == [10, 10, 10]
        assert stored_baseline(store).seconds > 0


def test_how_near_the_limit_it_is_where_the_bandwidth_is_known(
    finished: Finished, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished.folder, tmp_path / "run"))
    assert printed("show", run)["near_limit"] == {}
    with open_store(run) as store:
        store.put(bandwidth=1e12)
    told = printed("show", run)
    winner = f"individual {told['winner']['individual']}"
    assert set(told["near_limit"]) == {"reference", winner}
    said = str(NearLimit(**told["near_limit"]["reference"]))
    assert re.fullmatch(
        r"\S+ k?M?B if each input and output is moved once, .* \d+% of what a copy reaches"
        r" \(1 TB/s\)",
        said,
    )
    done = gi_cuda("show", run)
    assert f"reference on the train cases: {said}" in " ".join(done.stdout.split())
    page = tmp_path / "page.html"
    assert gi_cuda("report", run, "-o", page).returncode == 0
    assert said in html.unescape(page.read_text("utf-8"))
