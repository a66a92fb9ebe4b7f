"""History told from records, its tables and its figures."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gi_cuda.analyze.stored.history import History, price, tell, words
from gi_cuda.report.figures.drawing import save
from gi_cuda.report.figures.history import OF_ALL, OF_WINNERS, added
from gi_cuda.report.results.history import print_added, print_history
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.generation import Generation, Individual, Phases, Tally
from gi_cuda.results.measurement import Survival
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import Verdict

POOL = [f"<_kernel.cu_{line}>" for line in range(100, 140)]
GOOD = POOL[:6]


def individual(ident: int, generation: int, genotype: str, parents: tuple[int, ...]) -> Individual:
    origin = ("random", "mutation", "crossover")[len(parents)]
    return Individual(ident, generation, genotype, bytes([ident % 256]), None, origin, parents)


def timed(speed_up: float) -> Evaluation:
    ratio = 1 / speed_up
    verdict = Verdict.FASTER if speed_up > 1.01 else Verdict.SLOWER
    return Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio, ratio * 0.99, ratio * 1.01)


def evolved(generations: int, population: int = 40) -> History:
    """A run in which good changes spread and others ride along."""
    rng = random.Random(generations)
    people: list[Individual] = []
    records: dict[int, Evaluation] = {}
    told = []
    parents: list[Individual] = []
    for number in range(generations):
        here = []
        for _ in range(population):
            chosen = rng.sample(parents, min(len(parents), rng.choice([1, 2])))
            genes = sorted({w for p in chosen for w in words(p.genotype)} | {rng.choice(POOL)})
            one = individual(
                len(people) + 1, number, " ".join(genes), tuple(p.ident for p in chosen)
            )
            here.append(one)
            people.append(one)
            if rng.random() < 0.9:
                gain = 1 + 0.05 * sum(gene in GOOD for gene in genes)
                records[one.ident] = timed(gain * rng.gauss(0.995, 0.02))
            else:
                records[one.ident] = Evaluation(built=False, message="no")
        failed = sum(not records[one.ident].built for one in here)
        outcomes = {Outcome.NOT_BUILT: failed, Outcome.FASTER: population - failed}
        tally = Tally(population + 9 * number, 5 * number, 4 * number)
        told.append(Generation(number, True, tally, Phases(), outcomes))
        fit = [one for one in here if records[one.ident].selectable]
        parents = sorted(fit, key=lambda one: records[one.ident].ratio or 9)[: population // 2]
    winner = max(people, key=lambda o: 1 / (records[o.ident].ratio or 9))
    return tell(told, people, records, (winner.ident, words(winner.genotype)))


# -- what is told ----------------------------------------------------------------------------------


def small() -> tuple[list[Generation], list[Individual], dict[int, Evaluation]]:
    people = [
        individual(1, 0, "<a>", ()),
        individual(2, 0, "B=2", ()),
        individual(3, 1, "B=2 <a>", (1, 2)),
        individual(4, 1, "<a> <c>", (1,)),
        individual(5, 1, "<d>", ()),
        individual(6, 2, "B=2 <a> <c>", (3, 4)),
    ]
    speeds = {1: 1.1, 2: 1.2, 3: 1.15, 4: 0.9, 6: 1.3}
    records = {ident: timed(speed) for ident, speed in speeds.items()}
    records[5] = Evaluation(built=False)
    generations = [
        Generation(0, True, Tally(4, 1, 1), Phases(), {Outcome.FASTER: 2}),
        Generation(1, True, Tally(3), Phases(), {Outcome.FASTER: 2, Outcome.NOT_BUILT: 1}),
        Generation(2, True, Tally(1), Phases(), {Outcome.FASTER: 1}),
    ]
    return generations, people, records


def test_epochs() -> None:
    history = tell(*small(), None)
    first, second, third = history.epochs
    assert (first.best, second.best, third.best) == pytest.approx((1.2, 1.15, 1.3))
    assert [e.sure_so_far for e in history.epochs] == pytest.approx(
        [1.2 / 1.01, 1.2 / 1.01, 1.3 / 1.01]
    )
    assert (first.same_genotype, first.same_phenotype) == (0.25, 0.25)
    assert second.not_built == pytest.approx(1 / 3)
    assert second.mean_changes == pytest.approx(5 / 3)
    assert second.bred_changes == 2
    assert first.bred_changes is None
    assert history.survivors == history.family == ()


def test_the_best_is_the_one_of_which_most_is_sure() -> None:
    generations, individuals, evaluations = small()
    lucky, sure = individuals[0].ident, individuals[-1].ident
    both = {
        lucky: replace(timed(1.9), low=0.4, high=0.99),
        sure: replace(timed(1.5), low=0.6, high=0.7),
    }
    history = tell(generations, individuals, {**evaluations, **both}, None)
    assert [history.epochs[0].best, history.epochs[-1].best] == pytest.approx([1.2, 1.5])
    assert history.epochs[-1].sure_so_far == pytest.approx(1 / 0.7)
    later = tell(generations, individuals, {lucky: both[sure], sure: both[lucky]}, None)
    assert later.epochs[-1].best == pytest.approx(1.9)
    # The lucky median of a later generation does not count as reached.
    assert later.epochs[-1].sure_so_far == pytest.approx(1 / 0.7)


def test_survivors_are_told_from_their_founders_on() -> None:
    history = tell(*small(), (6, ["B=2", "<a>", "<c>", "<z>"]))
    told = {s.change: (s.found, s.founder, s.frequency) for s in history.survivors}
    third = pytest.approx(1 / 3)
    assert told["<a>"] == (0, 1, (0.5, pytest.approx(2 / 3), 1.0))
    assert told["B=2"] == (0, 2, (0.5, third, 1.0))
    assert told["<c>"] == (1, 4, (0.0, third, 1.0))
    assert told["<z>"] == (None, None, (0.0, 0.0, 0.0))
    assert [s.change for s in history.survivors][-2:] == ["<c>", "<z>"]


def test_the_family_holds_those_that_the_changes_came_through() -> None:
    history = tell(*small(), (6, ["B=2", "<a>", "<c>"]))
    assert history.ancestors == 4
    assert {one.ident: one.passed for one in history.family} == {6: 3, 4: 1, 3: 2, 2: 1, 1: 1}
    assert history.family[0].parents == (3, 4)
    history = tell(*small(), (6, ["B=2"]))
    assert [one.ident for one in history.family] == [6, 3, 2]
    assert history.ancestors == 4


def test_a_large_family_is_shown_by_one_of_each_generation() -> None:
    console = Console(record=True, width=120)
    history = evolved(50)
    assert len(history.family) > 60
    print_history(console, history)
    said = console.export_text().split("came through")[1]
    rows = [line.split() for line in said.splitlines() if re.match(r"\s+\d+\s+\d+ ", line)]
    assert [int(row[1]) for row in rows] == sorted({o.generation for o in history.family})[::-1]


def test_price_predicts_the_mean_size_of_parents_weighted_by_children() -> None:
    """Without mutation, which adds to it, and without crossover's chance, it is exact."""
    rng = random.Random(3)
    before = [individual(i, 0, " ".join(POOL[: rng.randint(0, 9)]), ()) for i in range(1, 30)]
    parents = [rng.choice(before) for _ in range(50)]
    bred = [individual(100 + n, 1, p.genotype, (p.ident,)) for n, p in enumerate(parents)]
    mean = sum(len(words(one.genotype)) for one in bred) / len(bred)
    assert price(before, bred) == pytest.approx(mean)
    assert price(before, [individual(99, 1, "", ())]) is None


def test_words_of_a_genotype_with_quoted_values() -> None:
    assert words('A="x y" <a><b> <a>+<c>') == ['A="x y"', "<a><b>", "<a>+<c>"]
    assert words("") == []


# -- tables and figures ----------------------------------------------------------------------------

STEPS = [
    (POOL[0], SpeedUp(1.05, 1.04, 1.06)),
    ("<if_kernel.cu_1><a_very_long_name_of_a_rule_in_a_very_long_file_name.cu_1>", None),
    (POOL[2], SpeedUp(1.2, 1.1, 1.3)),
]


@pytest.mark.parametrize("generations", [1, 2, 50])
def test_figures_have_labelled_axes_at_any_length(generations: int) -> None:
    history = evolved(generations)
    for name, draw in {**OF_ALL, **OF_WINNERS}.items():
        figure = draw(history)
        figure.draw_without_rendering()
        axes = figure.axes[0]
        assert axes.get_xlabel()
        assert axes.get_ylabel() or name in ("frequencies", "family")
        assert axes.get_title(loc="left")
        low, high = axes.get_xlim()
        if "generation" in axes.get_xlabel():
            assert low < 0
            assert high > generations - 1 or name == "family"
            shown = [at for at in axes.get_xticks() if low <= at <= high]
            assert shown == [int(at) for at in shown]


def test_figures_are_saved_in_both_formats_and_use_no_colour(tmp_path: Path) -> None:
    """Whatever is drawn of a run is black, white or grey."""
    history = evolved(3)
    for name, draw in {**OF_ALL, **OF_WINNERS}.items():
        svg, png = save(draw(history), tmp_path / "figures", name)
        assert png.read_bytes().startswith(b"\x89PNG")
        ET.parse(svg)
        text = svg.read_text(encoding="utf-8")
        if name in OF_ALL:
            for red, green, blue in re.findall(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})\b", text):
                assert red == green == blue


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    first, second = (
        save(added(STEPS), tmp_path / folder, "added")[0].read_bytes() for folder in "ab"
    )
    assert first == second


def test_a_run_in_which_nothing_is_faster_still_has_figures() -> None:
    generations, people, _ = small()
    nothing = [replace(one, outcomes={}) for one in generations]
    history = tell(nothing, people, {}, None)
    for draw in OF_ALL.values():
        draw(history).draw_without_rendering()


def test_tables_say_it_all() -> None:
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    print_history(console, tell(*small(), (6, ["B=2", "<a>", "<z>"])))
    print_added(console, STEPS)
    text = console.export_text()
    for said in ["1.300", "33.3%", "<z>", "never", "crossover", "3, 4", "1.050 [1.040, 1.060]"]:
        assert said in text
    assert "fails" in text
