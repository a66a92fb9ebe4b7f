"""The benchmark of searches: planted improvements are reachable and reproducible."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.search.landscapes import PLANTED, Garden, Landscape, effects_of, planted
from benchmarks.search.races import ground, race, subject
from benchmarks.search.table import TableEvaluator
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.genome import Genotype
from gi_cuda.grammar import Operation
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.search import PRESETS

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_planted_can_be_had(name: str, seed: int) -> None:
    """All pieces together are the best there is; those of a pair are nothing alone, if one does not
    gain by itself as well."""
    landscape = planted(ground(name), name, seed)
    spoiled = [plant for plant in landscape.plants if plant.spoils]
    kept = [plant for plant in landscape.plants if not plant.spoils] + spoiled[-1:]
    whole = frozenset(effect for plant in kept for effect in plant.effects)
    ratio = landscape.ratio(whole)
    assert ratio is not None
    assert landscape.share(ratio) == pytest.approx(1.0)
    gains = {plant.effects: plant.ratio for plant in kept}
    for plant in kept:
        for one in plant.effects if len(plant.effects) > 1 else ():
            alone = None if one in plant.needy else gains.get(frozenset([one]), 1.0)
            assert landscape.ratio(frozenset([one])) == alone


@pytest.mark.parametrize("seed", [44, 81, 92])
def test_nothing_is_planted_that_a_search_is_not_offered(seed: int) -> None:
    """Launch bounds are in the grammar, and a search on the host leaves them alone."""
    target = subject()
    view = target.offered.under(target.original.configuration.macros)
    ((effect,),) = (plant.effects for plant in planted(target, "needle", seed).plants)
    wanted = Operation.REPLACE if effect.how == "body" else Operation.INSERT
    assert wanted in view.operations(effect.place)


def test_in_a_trap_the_two_gains_are_wrong_beside_each_other() -> None:
    landscape = planted(subject(), "trap", 1)
    first, better = landscape.plants
    assert first.ratio > better.ratio
    assert landscape.ratio(first.effects | better.effects) is None


def of_mutants(evaluator: TableEvaluator, count: int) -> list[Evaluation]:
    """Return simulated measurements of mutants, in a space without planted improvements."""
    target = subject()
    variation, rng = PRESETS["random"].vary(target), random.Random(1)
    mutants: dict[int, Genotype] = {}
    while len(mutants) < count:
        mutant = variation.mutate(target.original, rng)
        if mutant is not None and mutant.edits:
            mutants[len(mutants)] = mutant
    found = evaluator.evaluate(evaluator.prepare(mutants), lambda: False)
    return [evaluation for _, evaluation in found]


def test_as_many_edits_are_wrong_as_in_reality() -> None:
    evaluator = TableEvaluator(Landscape(subject(), 1), 1)
    outcomes = [evaluation.outcome for evaluation in of_mutants(evaluator, 400)]
    wrong = sum(one in (Outcome.NOT_BUILT, Outcome.CRASHED, Outcome.WRONG) for one in outcomes)
    assert 0.3 < wrong / len(outcomes) < 0.5
    assert Outcome.FASTER not in outcomes


def test_runs_may_be_disturbed() -> None:
    calm = of_mutants(TableEvaluator(Landscape(subject(), 1), 1), 200)
    found = of_mutants(TableEvaluator(Landscape(subject(), 1), 1, disturbed=0.05), 200)
    right = [one for one in found if one.right]
    pairs = [len(one.samples) for one in right]
    assert min(pairs) == Sampling().screen
    assert 0.1 < sum(number > Sampling().screen for number in pairs) / len(pairs) < 0.6
    expected = [one.ratio for one in calm if one.right]
    assert [one.ratio for one in right] == pytest.approx(expected, rel=0.03)


def test_edits_that_do_the_same_are_the_same() -> None:
    """The last edit of a rule decides; edits within a deleted rule have no effect."""
    target = subject()
    one = target.read("<_kernel.cu_53> <_kernel.cu_53><_kernel.cu_65>")
    other = target.read("<_kernel.cu_53><_kernel.cu_65>")
    assert effects_of(target, one) == effects_of(target, other)
    (effect,) = effects_of(target, target.read("<_kernel.cu_53>"))
    assert effect == ("_kernel.cu_53", "body", "")


def test_numbers_are_reached_only_where_they_change() -> None:
    first = race(PRESETS["barracuda"], "step", 1, 1500, "full")
    more = race(PRESETS["barracuda"], "step", 1, 1500, "numbers")
    assert first.found is None
    assert more.found is not None


def test_a_race_is_the_same_each_time() -> None:
    first = race(PRESETS["adaptive"], "deletions", 3, 500)
    assert first == race(PRESETS["adaptive"], "deletions", 3, 500)
    assert first.curve[0] == (0, 0.0)


def test_no_two_improvements_are_at_one_place() -> None:
    garden = Garden(subject(), 5)
    places = [effect.place for effect in (*garden.edits(8), *garden.edits(3))]
    assert len(set(places)) == 11


def test_how_much_sooner_one_search_is() -> None:
    pytest.importorskip("scipy")
    from benchmarks.search.statistics import a12

    assert a12([1, 2], [3, 4]) == 1.0
    assert a12([3, 4], [1, 2]) == 0.0
    assert a12([1, float("inf")], [1, float("inf")]) == 0.5


def printed(script: str) -> set[str]:
    """Return the outputs of a script in processes with different hash seeds."""
    return {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }


@pytest.mark.parametrize("preset", ["adaptive", "paraiso"])
def test_a_search_is_the_same_in_every_process(preset: str) -> None:
    """One that is resumed has to go on as it was."""
    found = printed(
        "from benchmarks.search.races import race; from gi_cuda.search import PRESETS;"
        f"print(race(PRESETS[{preset!r}], 'many', 3, 600))"
    )
    assert len(found) == 1
    assert "curve=((0, 0.0), (" in found.pop()


def test_how_akin_rules_are_is_the_same_in_every_process() -> None:
    found = printed(
        "from benchmarks.search.races import subject;"
        "from gi_cuda.search.adaptive.kinship import Kinship;"
        "rules = subject().grammar; kinship = Kinship(rules);"
        "names = [rule.name for rule in rules.rules];"
        "print([kinship.closest(one, [other]).hex() for one in names for other in names[:20]])"
    )
    assert len(found) == 1
