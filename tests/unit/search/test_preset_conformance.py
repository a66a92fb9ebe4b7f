"""The conformance tests for presets: shipped presets pass, and each kind of mistake is detected."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.search import PRESETS, Preset, Settings, find_preset
from gi_cuda.search.conformance import PresetConformance
from gi_cuda.search.history import History
from gi_cuda.search.recipes import Fresh, Member, Mutation, Recipe, Variation
from tests.sweeps import broad


class TestAdaptive(PresetConformance):
    preset = PRESETS["adaptive"]


class TestAdaptiveWithSearcher(PresetConformance):
    preset = find_preset("adaptive+local", "--preset")


@broad
class TestBarracuda(PresetConformance):
    preset = PRESETS["barracuda"]


@broad
class TestGevo(PresetConformance):
    preset = PRESETS["gevo"]


@broad
class TestParaiso(PresetConformance):
    preset = PRESETS["paraiso"]


@broad
class TestRandom(PresetConformance):
    preset = PRESETS["random"]


@broad
class TestTune(PresetConformance):
    preset = PRESETS["tune"]


def test_each_preset_that_ships_is_tested() -> None:
    tested = [TestAdaptive, TestBarracuda, TestGevo, TestParaiso, TestRandom, TestTune]
    assert {one.preset.name for one in tested} == set(PRESETS)


def test_the_example_of_the_documentation_passes_its_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[3] / "docs/how-to/compare-your-own-search.md"
    strategy, test, *_ = (one.split("```")[0] for one in page.read_text().split("```python\n")[1:])
    (tmp_path / "my_search.py").write_text(strategy)
    monkeypatch.syspath_prepend(tmp_path)
    there: dict[str, Any] = {}
    try:
        exec(test, there)
        there["TestMySearch"]().test_a_seed_repeats_a_search()
        there["TestMySearch"]().test_recipes_fit_their_places_and_name_individuals_that_exist()
    finally:
        sys.modules.pop("my_search", None)


@dataclass
class Mistaken:
    """Random mutants, and in each class below one mistake."""

    settings: Settings

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        return [Fresh(2) for _ in range(self.settings.population)]


class Unseeded(Mistaken):
    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        rng.seed()
        return super().recipes(history, rng)


@dataclass
class Remembering(Mistaken):
    """Its generations are of less and less, counted from when the search was opened."""

    calls: list[int] = field(default_factory=list)

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        self.calls.append(1)
        return super().recipes(history, rng)[: 16 - 4 * len(self.calls)]


class Crowded(Mistaken):
    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        return [*super().recipes(history, rng), Fresh(2)]


class Orphaned(Mistaken):
    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        nobody = Member(99, history.variation.original, 1.0, selectable=False)
        return [Mutation(nobody, 2)] * self.settings.population


class Unconstrained(Variation):
    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        space = genotype.configuration.space
        drawn = {one.name: rng.choice(one.values) for one in space.parameters}
        return Genotype(space.chosen(drawn), ())


class TestMistakes:
    @pytest.mark.parametrize(
        ("changed", "test", "said"),
        [
            ({"strategy": Unseeded}, "a_seed_repeats_a_search", "by random numbers of `rng` alone"),
            (
                {"strategy": Remembering},
                "a_search_that_is_stopped_goes_on_as_if_it_had_not_been",
                "keep nothing in the strategy",
            ),
            (
                {"strategy": Crowded},
                "recipes_fit_their_places_and_name_individuals_that_exist",
                "17 recipes for 16 places",
            ),
            (
                {"strategy": Orphaned},
                "recipes_fit_their_places_and_name_individuals_that_exist",
                r"mutation of individuals that do not exist: \[99\]",
            ),
            (
                {"strategy": Mistaken, "variation": Unconstrained},
                "children_keep_the_constraints_and_are_stored_as_they_are",
                "breaks the constraint",
            ),
        ],
        ids=["unseeded", "remembering", "crowded", "orphaned", "unconstrained"],
    )
    def test_are_told(self, changed: dict[str, Any], test: str, said: str) -> None:
        class Suite(PresetConformance):
            preset: ClassVar[Preset] = replace(PRESETS["random"], **changed)

        with pytest.raises((AssertionError, UserError), match=said):
            getattr(Suite(), f"test_{test}")()
