"""Searches on recorded results: the same search again, and other ones."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.search.landscapes import Effect, planted
from benchmarks.search.races import TARGET, race, subject
from benchmarks.search.recorded import Recorded, copy, recorded, replayed
from benchmarks.search.table import TableEvaluator
from gi_cuda.results.generation import Phases
from gi_cuda.runs.stored import DATABASE, Plan, where_it_lies
from gi_cuda.search import PRESETS
from gi_cuda.search.loop import Evolution
from gi_cuda.spec import content_hash
from gi_cuda.store import Store


def searched(folder: Path, name: str, evaluations: int) -> Path:
    """The folder of a run that was stopped after some evaluations."""
    preset, evaluator = PRESETS[name], TableEvaluator(planted(subject(), "many", 1), 1)
    settings = replace(preset.settings, population=40, generations=20)
    folder.mkdir()
    with Store(folder / DATABASE, create=True) as store:
        store.put(
            **where_it_lies(TARGET, (), folder),
            target_hash=content_hash(subject().target),
            grammar_hash=subject().fingerprint,
            backend="host",
            plan=asdict(Plan(name, settings, 7, 1, 1)),
        )
        search = Evolution(
            store=store,
            evaluator=evaluator,
            phases=Phases,
            strategy=preset.strategy(settings),
            variation=preset.vary(subject()),
            settings=settings,
            seed=7,
            stop=lambda: evaluator.spent >= evaluations,
        )
        list(search.run())
        assert len(store.evaluations()) == evaluations
        assert store.pending()
    return folder


@pytest.mark.parametrize("name", ["paraiso", "adaptive", "gevo"])
def test_the_same_search_is_had_of_what_was_recorded(name: str, tmp_path: Path) -> None:
    """Stopped within a generation or without generations; from the run or a small copy."""
    folder = searched(tmp_path / "run", name, 330)
    copy(folder, tmp_path / "table")
    for one in (folder, tmp_path / "table"):
        before, again = replayed(one)
        assert before == again
        assert len(before) > 330


def test_a_search_that_is_another_one_is_noticed(tmp_path: Path) -> None:
    folder = searched(tmp_path / "run", "paraiso", 200)
    with Store(folder / DATABASE) as store:
        plan = store.get("plan")
        store.put(plan={**plan, "seed": 8})
    with pytest.raises(LookupError, match="the recorded run made no"):
        replayed(folder)


def test_what_was_measured_is_looked_up_and_the_rest_is_put_together() -> None:
    a, b, c, d = (Effect(place, "body", "") for place in "abcd")
    measured = {
        frozenset([a]): 0.9,
        frozenset([b]): 1.0,
        frozenset([a, b]): 0.7,
        frozenset([c]): None,
    }
    table = Recorded(subject(), 1, measured)
    for effects, ratio in measured.items():
        assert table.ratio(effects) == ratio
    assert table.ratio(frozenset([a, b, c])) is None
    again = Effect("a", "before", "x++;")  # of the same rule a deletion was measured
    assert table.ratio(frozenset([a, b, again])) == pytest.approx(0.7 * 0.9)
    drawn = {replace(table, seed=seed).ratio(frozenset([d])) for seed in range(40)}
    assert drawn == {0.9, 1.0, None}
    assert table.share(0.7) == pytest.approx(1.0)


def test_searches_are_compared_on_a_table(tmp_path: Path) -> None:
    folder = str(searched(tmp_path / "run", "adaptive", 300))
    first = race(PRESETS["adaptive"], folder, 3, 200)
    assert first == race(PRESETS["adaptive"], folder, 3, 200)
    assert recorded(Path(folder), 0).share(1.0) == 0
