"""The presets: their numbers, their requirements, and the discovery of new ones."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.errors import UserError
from gi_cuda.offered import of_modules
from gi_cuda.search import DEFAULT, PRESETS, find_preset, named_preset
from gi_cuda.search.history import History
from gi_cuda.search.preset import Preset
from gi_cuda.search.strategies import adaptive, barracuda
from gi_cuda.subject import Compiled, Subject

Package = Callable[..., dict[str, object]]


def test_the_presets_have_the_published_numbers() -> None:
    settings, rates = PRESETS["barracuda"].settings, PRESETS["barracuda"].rates
    assert (settings.population, settings.generations, settings.elite_fraction) == (1000, 50, 0.5)
    assert (rates.configuration, rates.default, rates.neighbour) == (0.5, 0.2, 0.5)
    assert rates.hidden == 0.0
    assert PRESETS["random"].settings == settings
    assert DEFAULT in PRESETS


def test_moves_and_swaps_are_as_frequent_as_the_language_asks_for_unless_a_preset_does(
    scale: Subject,
) -> None:
    gevo = replace(scale, front_end=replace(scale.front_end, pairs=1 / 3))
    assert barracuda.PRESET.vary(scale).rates.pairs == 0.0
    assert barracuda.PRESET.vary(gevo).rates == replace(barracuda.PAPER, pairs=1 / 3)
    own = replace(barracuda.PRESET, rates=replace(barracuda.PAPER, pairs=0.5))
    assert own.vary(gevo).rates.pairs == 0.5


def in_docs() -> str:
    """The example of the documentation."""
    page = Path(__file__).parents[3] / "docs/how-to/compare-your-own-search.md"
    return page.read_text().split("```python\n")[1].split("```")[0]


def test_a_preset_of_a_module_in_the_folder_is_found_as_the_documentation_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: Subject
) -> None:
    (tmp_path / "own_search.py").write_text(in_docs())
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    found = find_preset("own_search:PRESET", "--preset")
    assert found.name == "shallow"
    assert sys.path == before
    assert named_preset(found) == "own_search:PRESET"
    history = History(found.vary(scale), 1, set(), lambda _: ())
    recipes = found.strategy(found.settings).recipes(history, random.Random(1))
    assert len(recipes) == found.settings.population
    for name, said in (
        ("own_search:OTHER", "own_search has no preset 'OTHER'"),
        ("no_such_module:PRESET", "no_such_module cannot be imported"),
        ("nothing", "there is no preset 'nothing'"),
    ):
        with pytest.raises(UserError, match=said):
            find_preset(name, "--preset")


def test_a_preset_that_is_an_object_is_found_by_its_name_in_this_process() -> None:
    own = replace(barracuda.PRESET, name="an object")
    assert find_preset(named_preset(own), "") is own
    assert named_preset(barracuda.PRESET) == named_preset("barracuda") == "barracuda"


def test_a_user_may_ask_for_other_sizes() -> None:
    settings = barracuda.SETTINGS
    assert settings.having(None, None) == settings
    assert settings.having(7, None) == replace(settings, population=7)
    assert settings.having(None, 3) == replace(settings, generations=3)


def test_an_asynchronous_search_has_as_many_under_way_for_each_device() -> None:
    alone = adaptive.SETTINGS
    on_two = alone.having(None, None, devices=2)
    assert (on_two.population, on_two.cohort) == (2 * alone.population, alone.cohort)
    assert alone.having(100, None, devices=2) == alone.having(100, None), "as was asked for"
    same = barracuda.SETTINGS.having(None, None, devices=2)
    assert same == barracuda.SETTINGS, "a generation is part of the search"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_varies_what_it_says(name: str, scale: Subject) -> None:
    preset, rng = PRESETS[name], random.Random(1)
    preset.demand(scale)
    variation = preset.vary(scale)
    mutants = [variation.mutate(scale.original, rng) for _ in range(200)]
    assert any(one.configuration.changed for one in mutants if one)
    assert any(one.edits for one in mutants if one) == variation.code


def test_what_tuning_demands(scale: Subject) -> None:
    demand = PRESETS["tune"].demand
    with pytest.raises(UserError, match="nothing to tune"):
        demand(replace(scale, target=replace(scale.target, parameters=())))
    with pytest.raises(UserError, match="only source has"):
        demand(replace(scale, compiled=Compiled(scale, scale.original, "")))


def test_a_searcher_beside_a_preset_gets_a_quarter_of_the_places(scale: Subject) -> None:
    preset = find_preset("random+exhaustive", "--preset")
    settings = preset.settings.having(8, None)
    history = History(preset.vary(scale), 1, set(), lambda _: ())
    recipes = preset.strategy(settings).recipes(history, random.Random(1))
    assert [recipe.origin for recipe in recipes] == ["random"] * 6 + ["search"] * 2
    asked = [recipe.make(history.variation, set(), random.Random(1)) for recipe in recipes[6:]]
    assert all(one and one.configuration.changed and not one.edits for one in asked)
    assert recipes[7].fallback(), "a configuration that was tried leaves its place to the preset"
    with pytest.raises(UserError, match="nothing to tune"):
        preset.demand(replace(scale, target=replace(scale.target, parameters=())))
    with pytest.raises(UserError, match="has a searcher of its own"):
        find_preset("tune+local", "--preset")


def test_a_name_that_no_preset_has() -> None:
    assert find_preset("random", "--preset") is PRESETS["random"]
    with pytest.raises(UserError, match="no preset 'barracudda'") as caught:
        find_preset("barracudda", "--preset")
    own = "MODULE:NAME for one of your own"
    assert caught.value.hint == f"one of: {', '.join(PRESETS)}; or {own}"


@pytest.fixture
def package(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Package:
    """Finds the presets in a package of modules with these texts."""
    name = f"presets_{abs(hash(request.node.name))}"

    def find(**modules: str) -> dict[str, object]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        for module, text in modules.items():
            (tmp_path / name / f"{module}.py").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        try:
            return of_modules(name, [str(tmp_path / name)], "PRESET", Preset)
        finally:
            for module in [one for one in sys.modules if one.split(".")[0] == name]:
                del sys.modules[module]

    return find


ONE = """
from dataclasses import replace
from gi_cuda.search.strategies import barracuda
PRESET = replace(barracuda.PRESET, name="one")
"""


def test_a_preset_is_one_module(package: Package) -> None:
    assert package(first=ONE) == {"one": replace(barracuda.PRESET, name="one")}


def test_a_module_that_is_no_preset_is_named(package: Package) -> None:
    with pytest.raises(ImportError, match=r"\.helper has no PRESET"):
        package(first=ONE, helper="PRESET = 'one'")


def test_two_presets_of_one_name_are_refused(package: Package) -> None:
    with pytest.raises(ImportError, match=r"\.second: there is a 'one' already"):
        package(first=ONE, second=ONE)
