"""tissue_spread's data and its laws, on runs of an independent model in numpy."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from tests.unit.targets.tissue_spread_model import (
    APOPTOTIC,
    EXPRESSING,
    FIELDS,
    HEALTHY,
    HEIGHT,
    INCUBATING,
    STEPS,
    WIDTH,
    Model,
    Outputs,
    case_of,
    data,
    oracle,
    target,
)


@lru_cache
def _run(seed: int) -> Outputs:
    model = Model(case_of(), seed)
    for _ in range(STEPS):
        model.step()
    return model.outputs()


def run(seed: int) -> Outputs:
    """A right run; the arrays are the caller's own."""
    return {name: values.copy() for name, values in _run(seed).items()}


def penalty(outputs: Outputs) -> float:
    return oracle.judge(case_of(), outputs, {})[0]


@pytest.mark.parametrize("seed", range(20))
def test_right_runs_break_no_law(seed):
    assert oracle.judge(case_of(), run(seed), {}) == (0.0, "")


def test_everything_that_can_happen_does():
    outputs = run(100)
    totals = outputs["totals"].reshape(STEPS, -1)
    assert (totals.sum(axis=0) > 0).all()
    assert set(outputs["state"]) == set(range(5))
    assert set(outputs["agent_bound"]) == set(range(case_of()["binding"] + 1))


Fault = Callable[[Outputs], None]
FAULTS: dict[str, Fault] = {}


def fault(function: Fault) -> Fault:
    FAULTS[function.__name__] = function
    return function


def first(outputs: Outputs, state: int) -> int:
    return int(np.flatnonzero(outputs["state"] == state)[0])


def present(outputs: Outputs, held: int | None = None) -> int:
    there = outputs["agent_cell"] >= 0
    if held is not None:
        there &= outputs["agent_bound"] == held
    return int(np.flatnonzero(there)[0])


def shape(values: np.ndarray) -> np.ndarray:
    return values.reshape(HEIGHT, WIDTH)


@fault
def one_virion_value_slightly_off(o):
    o["virions"][300] += np.float32(1e-5) * (o["virions"][300] + 1)


@fault
def one_value_of_the_signal_negative(o):
    o["signal"][np.argmax(o["signal"])] *= -1


@fault
def a_nan_in_a_field(o):
    o["virions"][17] = np.nan


@fault
def an_infinity_in_the_totals(o):
    o["totals"][40] = np.inf


@fault
def a_field_was_not_written(o):
    o["signal"].view(np.uint8).fill(0xA5)


@fault
def last_cell_was_not_written(o):
    o["virions"][-1] = np.frombuffer(b"\xa5\xa5\xa5\xa5", np.float32)[0]


@fault
def a_field_is_one_step_old(o):
    o["virions"] = o["virions_next"].copy()


@fault
def both_fields_are_one_step_old(o):
    for name in FIELDS:
        o[name], o[f"{name}_next"] = o[f"{name}_next"], o[name]


@fault
def the_fields_are_swapped(o):
    o["virions"], o["signal"] = o["signal"], o["virions"]


@fault
def virions_flow_round_the_edge(o):
    field, before = shape(o["virions"]), shape(o["virions_next"])
    field[:, 0] += 0.1 * (before[:, -1] - before[:, 0])


@fault
def virions_leak_at_the_top_edge(o):
    shape(o["virions"])[0] -= 0.05 * shape(o["virions_next"])[0]


@fault
def a_row_one_column_off(o):
    shape(o["signal"])[7] = np.roll(shape(o["signal"])[7], 1)


@fault
def an_apoptotic_cell_releases_nothing(o):
    o["virions"][first(o, APOPTOTIC)] -= 1


@fault
def another_case_of_the_same_size(o):
    o.update({name: values.copy() for name, values in other_case().items()})


@fault
def the_totals_of_another_run(o):
    o["totals"] = run(7)["totals"]


@fault
def one_cell_of_another_state(o):
    o["state"][first(o, EXPRESSING)] = INCUBATING


@fault
def a_state_that_does_not_exist(o):
    o["state"][5] = -1


@fault
def a_timer_that_ran_out(o):
    o["timer"][first(o, EXPRESSING)] = 0


@fault
def a_timer_that_is_too_long(o):
    o["timer"][first(o, APOPTOTIC)] += case_of()["apoptosis"]


@fault
def an_airway_is_infected(o):
    airway = int(np.flatnonzero(case_of()["susceptibility"] == 0)[0])
    healed = first(o, INCUBATING)
    for name in ("state", "timer"):
        o[name][[airway, healed]] = o[name][[healed, airway]]


@fault
def a_corner_stays_healthy(o):
    o["totals"].reshape(STEPS, -1)[-1, [o["state"][0], HEALTHY]] += (-1, 1)
    o["state"][0] = o["timer"][0] = 0


@fault
def a_t_cell_in_two_places(o):
    empty = int(np.flatnonzero(o["occupant"] == 0)[0])
    o["occupant"][empty] = present(o) + 1


@fault
def a_t_cell_left_its_place_marked_and_went(o):
    o["agent_cell"][present(o)] = -1


@fault
def two_t_cells_in_one_place(o):
    there = np.flatnonzero(o["agent_cell"] >= 0)
    o["agent_cell"][there[0]] = o["agent_cell"][there[1]]


@fault
def a_t_cell_older_than_it_can_get(o):
    o["agent_life"][present(o)] = 0


@fault
def a_t_cell_jumps(o):
    o["agent_from"][present(o, 0)] = (o["agent_cell"][present(o, 0)] + 3) % (WIDTH * HEIGHT)


@fault
def a_bound_t_cell_is_let_go(o):
    o["agent_bound"][present(o, case_of()["binding"])] = 0


@fault
def a_step_without_totals(o):
    o["totals"].reshape(STEPS, -1)[6] = 0


@fault
def the_totals_of_a_step_twice(o):
    o["totals"].reshape(STEPS, -1)[6] *= 2


@fault
def one_infection_too_many_in_a_total(o):
    o["totals"].reshape(STEPS, -1)[6, INCUBATING] += 1


@fault
def an_arrival_is_not_counted(o):
    o["totals"].reshape(STEPS, -1)[-1, 8] += 1


@fault
def a_binding_is_not_counted(o):
    o["totals"].reshape(STEPS, -1)[-2, 10] -= 1


@fault
def virions_of_one_block_are_left_out_of_the_sum(o):
    o["totals"].reshape(STEPS, -1)[4, 6] -= 0.5


@fault
def a_generator_at_rest(o):
    o["random"][44] = 0


@fault
def all_blocks_draw_the_same(o):
    o["random"] = np.resize(o["random"][:64], o["random"].size)


@lru_cache
def other_case() -> Outputs:
    model = Model(data.case(seed=6, width=WIDTH, height=HEIGHT, steps=STEPS, cells_per_agent=5), 3)
    for _ in range(STEPS):
        model.step()
    return model.outputs()


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_break_a_law(name):
    outputs = run(100)
    FAULTS[name](outputs)
    assert penalty(outputs) > 0


def test_the_reason_names_the_law_and_the_place():
    outputs = run(100)
    outputs["virions"][300] += 1
    count, reason = oracle.judge(case_of(), outputs, {})
    assert count == 2
    assert reason.startswith("sum of virions")
    outputs["timer"][2] = 99
    assert "a timer fits its cell's state: not so in 1 of 494, the first at 2" in [
        f"{law}: not so in {wrong.sum()} of {wrong.size}, the first at {wrong.argmax()}"
        for law, wrong in oracle.findings(case_of(), outputs)
    ]


def test_the_whole_oracle_takes_a_right_run_and_not_one_of_other_chances():
    judge = target().oracle
    reference = judge.reference([run(seed) for seed in range(10)])
    assert judge.penalty(case_of(), run(50), reference) == 0.0
    # An infection that is far more likely breaks no law, but is no run of this case.
    catching = {**case_of(), "infectivity": 0.2}
    model = Model(catching, 1)
    for _ in range(STEPS):
        model.step()
    assert oracle.judge(case_of(), model.outputs(), {})[0] == 0
    assert judge.penalty(case_of(), model.outputs(), reference) > 0


@pytest.mark.parametrize(("width", "height"), [(50, 50), (77, 35), (9, 40)])
def test_infections_begin_in_every_row_and_column_and_in_the_corners(width, height):
    case = data.case(seed=1, width=width, height=height, steps=3)
    begun = case["virions"].reshape(height, width) > 0
    assert begun.any(axis=0).all()
    assert begun.any(axis=1).all()
    assert begun[[0, 0, -1, -1], [0, -1, 0, -1]].all()
    assert (case["susceptibility"].reshape(height, width)[begun] == 1).all()
    assert (case["susceptibility"] == 0).any()


def test_where_an_infection_begins_it_is_certain_in_every_case():
    for declared in target().cases:
        rates = {**data.default_rates(), **declared.args}
        kept = (1 - rates["virion_diffusion"]) * (1 - rates["virion_decay"])
        assert data.LOAD * kept * rates["infectivity"] > 1.001, declared.name


def test_a_rate_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="there is no rate 'infectvity'"):
        data.case(seed=1, width=9, height=9, steps=2, infectvity=1.0)
