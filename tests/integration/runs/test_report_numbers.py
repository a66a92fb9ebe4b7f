"""Every number on the page of ``gi-cuda report`` is one that another verb prints."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.analyze.explain.explanation import Explanation, keep_explanations
from gi_cuda.analyze.finalists.winner import choose_individual
from gi_cuda.analyze.minimizing.minimization import KeptChange
from gi_cuda.analyze.stored.history import words
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.stored import open_store, stored_subject
from tests.command import gi_cuda
from tests.integration.runs.conftest import Finished, printed
from tests.sweeps import broad


@dataclass(frozen=True, slots=True)
class Studied:
    """A run of which all was asked, and what was said of it as JSON.

    Attributes:
        found, shown: what ``show`` said before all else, and after it.
        left: what it said between minimizing and all others.
    """

    run: Path
    found: dict[str, Any]
    minimized: dict[str, Any]
    left: dict[str, Any]
    validated: dict[str, Any]
    interactions: dict[str, Any]
    explained: dict[str, Any]
    shown: dict[str, Any]


def asked(*words: object) -> str:
    done = gi_cuda(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def page_of(run: Path) -> str:
    file = run.parent / "page.html"
    asked("report", run, "-o", file, "--force")
    return file.read_text("utf-8")


@pytest.fixture(scope="module")
def studied(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Studied:
    run = Path(shutil.copytree(finished.folder, tmp_path_factory.mktemp("studied") / "run"))
    studies = ("show", "minimize", "show", "validate", "interactions", "explain", "show")
    return Studied(run, *(printed(verb, run) for verb in studies))


@broad
def test_every_verb_that_looks_at_a_run(studied: Studied) -> None:
    run, minimized = studied.run, studied.minimized
    kept = {one["change"] for one in minimized["minimized"]["minimization"]["kept"]}
    assert kept
    again = studied.left
    assert again["winner"]["minimized"]
    assert again["winner"]["found"]["genotype"] == studied.found["winner"]["genotype"]
    assert again["winner"]["validation"] == minimized["minimized"]["validation"]
    assert studied.validated["accepted"]
    assert studied.shown["acceptance"] == studied.validated["acceptance"]
    assert studied.interactions["interactions"]["singles"]
    history = printed("history", run)
    assert {one["change"] for one in history["added"]} == kept
    assert all(Path(one).is_file() for one in history["figures"])
    assert {one["change"] for one in studied.explained["changes"]} == kept
    (contestant,) = printed("compare", run)["contestants"]
    assert contestant["changes"] == len(kept)


@broad
def test_what_was_shown_before_minimizing_is_not_mixed_with_what_is_left(studied: Studied) -> None:
    said = asked("show", studied.run)
    winner = studied.shown["winner"]
    overall = "{value:.3f} [{low:.3f}, {high:.3f}]".format(**winner["validation"]["overall"])
    assert f"minimized, speed-up on held-out cases {overall}" in said
    # One that was made twice is told of once, wherever changes are.
    assert list(winner["changes"]) == list(dict.fromkeys(words(winner["genotype"])))
    assert all(winner["changes"].values())
    lines = [line for both in winner["changes"].items() for line in both]
    told = said[said.index("its changes:") :].splitlines()[1:]
    assert [one.strip() for one in told[: len(lines)]] == lines


HIDDEN = re.compile(
    r"<(script|style|pre|code|nav|footer)\b.*?</\1>|<img[^>]*>|<td>[0-9a-f]{32}</td>|"
    r"<[^>]*>",
    re.S,
)
"""Parts of a page with digits that are no figures: scripts, sources, notation, images, hashes."""

NUMBER = re.compile(r"(?<![\w.@+:-])\d+(?:\.\d+)?(?![\w.]*\w)")


def numbers(text: str) -> list[str]:
    """The numbers that a reader sees, in order."""
    body = text[text.index("<body>") :]
    return NUMBER.findall(html.unescape(HIDDEN.sub(" ", body)))


def known(value: Any) -> Iterator[str]:
    """A record's numbers, and those in its texts, in every form in which a page shows them."""
    if isinstance(value, dict):
        yield str(len(value))
        for name, one in value.items():
            yield from NUMBER.findall(name)
            yield from known(one)
    elif isinstance(value, list):
        for one in value:
            yield from known(one)
    elif isinstance(value, str):
        yield from NUMBER.findall(value)
    elif isinstance(value, (int, float)):
        yield from (str(value), f"{value:g}", f"{value:.2f}", f"{value:.3f}", f"{1e3 * value:.3f}")
        yield from (f"{100 * value:.{digits}f}" for digits in range(3))


@broad
def test_every_number_is_one_that_verbs_say(studied: Studied) -> None:
    run = studied.run
    records = [
        studied.minimized,
        studied.validated,
        studied.interactions,
        studied.explained,
        studied.shown,
    ]
    phases = dict(studied.shown["phases"])
    wall = phases["wall"]
    # While all else waits.
    phases["idle"] = wall - sum(phases[one] for one in ("preprocess", "compile", "run", "verify"))
    shares = [one / wall for one in phases.values()]
    text = page_of(run)
    # Those of its table that are not among the best of `show` without a number.
    listed = re.findall(r"<tr><td>(\d+)</td>", text)
    assert listed
    ones = [json.loads(asked("show", run, "--individual", one, "--json")) for one in listed]
    # The level of all intervals; where bars begin.
    said = {*known([*records, *ones]), *known(list(phases.values())), *known(shares), "95", "1"}
    found = numbers(text)
    assert len(found) > 50
    assert [one for one in found if one not in said] == []


@broad
def test_each_number_is_in_its_place(studied: Studied) -> None:
    run, validated, interactions = studied.run, studied.validated, studied.interactions
    text = page_of(run)
    winner = studied.shown["winner"]
    assert f'class="speed-up">{winner["validation"]["overall"]["value"]:.3f}<' in text
    bars = re.findall(r'class="case">(.*?)<.*?class="number">(.*?)</div>', text, re.S)
    cases = {name: _interval(one) for name, one in winner["validation"]["cases"].items()}
    assert {name: _plain(one) for name, one in bars if name in cases} == cases
    noise = validated["acceptance"]["noise"]
    assert f"A copy of the reference measured beside it as {_interval(noise)}." in text
    for one in studied.explained["changes"]:
        worth = one["worth"]
        if worth["gain"] and worth["alone"]:
            gain, alone = _interval(worth["gain"]), _interval(worth["alone"])
            assert f"<li>gain {gain} (95 % interval); alone: {alone}</li>" in text
    section = text[text.index('<section id="interactions">') :]
    rows = re.findall(r'<td class="n">(.*?)</td>', section[: section.index("</tbody>")], re.S)
    groups = interactions["interactions"]["groups"]
    gains = [_interval(one["gain"]) if one["gain"] else "fails without them" for one in groups]
    shares = ["" if one["share"] is None else f"{100 * one['share']:.0f} %" for one in groups]
    assert [_plain(one) for one in rows[::2]] == gains
    assert rows[1::2] == shares
    best = re.findall(r"<tr><td>(\d+)</td><td>(\w+)</td><td>([\d.]+)</td>", text)
    assert best == [
        (str(one["individual"]), one["outcome"], f"{one['speed_up']:.3f}")
        for one in json.loads(asked("show", run, "--json", "--best", 10))["individuals"]
    ]


def _interval(one: dict[str, float]) -> str:
    return f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"


def _plain(text: str) -> str:
    return re.sub("<[^>]*>", "", text)


@broad
def test_what_other_verbs_find_is_in_it(
    studied: Studied, finished: Finished, tmp_path: Path
) -> None:
    before = page_of(Path(shutil.copytree(finished.folder, tmp_path / "run")))
    for verb in ("minimize", "explain", "validate"):
        assert f"gi-cuda {verb} " in before
    after = page_of(studied.run)
    assert "its place is executed on" in after
    assert "gi-cuda explain" not in after
    assert "A copy of the reference measured beside it as" in after
    assert "How the changes depend on each other" in after


@broad
def test_what_only_a_gpu_tells(finished: Finished, tmp_path: Path) -> None:
    """Registers before and after, as ``explain`` stores them: host back ends know of none."""
    run = Path(shutil.copytree(finished.folder, tmp_path / "run"))
    with open_store(run) as store:
        chosen = choose_individual(store, stored_subject(store, run), run, None, as_found=False)
        change = str(chosen.genotype).split()[0]
        worth = KeptChange(change, SpeedUp(1.2, 1.1, 1.3), "", SpeedUp(1.4, 1.3, 1.5), "")
        taken = {"registers": (40, 32), "instructions, memory": (17, 9), "occupancy": (50, 75)}
        keep_explanations(
            store,
            chosen,
            [Explanation(1, change, "a kind", worth, (), {"train": True}, None, taken, "")],
        )
        store.put(device="NVIDIA H200", backend="cuda")
    text = page_of(run)
    for name, (before, after) in taken.items():
        assert f"<li>{name}: {before} becomes {after}</li>" in text
    assert "Measured on NVIDIA H200 (cuda back end)." in text
    assert 'class="warning"' not in text
    assert "Diffs are missing" not in text
