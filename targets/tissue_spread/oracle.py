"""What holds in every run of tissue_spread, whatever chance decides: the laws of the model.

The checks against ten reference runs say that a run is likely; these say that it is possible.
Chance has no part in most of what the kernels do: fields flow by a rule that can be repeated, sums
are conserved, what leaves one state enters another after a time within bounds, and a T cell is in
one place. So one wrong value among millions is found, which no statistics can do.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEALTHY, INCUBATING, EXPRESSING, APOPTOTIC, DEAD, T_CELLS, VIRIONS, SIGNAL = range(8)
ARRIVED, EXPIRED, BINDINGS = range(8, 11)
TOTALS = 11
BINDING_CHANCE = 0.75
RELEASES = {"virion": 1.0, "signal": 0.25}

FIELD_TOLERANCE = 2e-6
"""Of a field's value, relative to what flows together in it: some twenty roundings to 24 bits."""

UNDERFLOW = 1e-30
"""Far from any infected cell, values fade to what 32 bits cannot hold."""

SUM_TOLERANCE = 2e-6
"""Of a field's sum from one step to the next, relative; the cells' roundings mostly cancel."""

COUNTED_TOLERANCE = 1e-9
"""Of a field's sum, relative, however the terms are ordered: 53 bits, millions of terms."""

BEYOND_CHANCE = 6.0
"""Standard deviations, known beforehand, that chance does not go."""

Values = Mapping[str, Any]
Mask = NDArray[np.bool_]
Finding = tuple[str, Mask]
"""A law, and where it does not hold."""


def judge(case: Values, outputs: Values, reference: Values) -> tuple[float, str]:
    """The number of values that break a law, and the first such law."""
    penalty, reason = 0, ""
    for law, wrong in findings(case, outputs):
        count = int(np.count_nonzero(wrong))
        if count and not reason:
            first = int(np.flatnonzero(wrong)[0])
            reason = f"{law}: not so in {count} of {wrong.size}, the first at {first}"
        penalty += count
        if penalty and law.startswith("range"):
            break  # the other laws are about values that mean something
    return float(penalty), reason


def findings(case: Values, outputs: Values) -> Iterator[Finding]:
    """All laws, those about ranges first."""
    totals = outputs["totals"].reshape(-1, TOTALS)
    yield "range of everything", ~np.array(list(in_range(case, outputs, totals)))
    yield from laws_of_totals(case, totals)
    yield from laws_of_counts(outputs, totals[-1])
    yield from laws_of_cells(case, outputs)
    yield from laws_of_fields(case, outputs)
    yield from laws_of_agents(case, outputs)
    for name in ("random", "agent_random"):
        yield (
            f"{name} differs from one to the next",
            np.array([crowded(outputs[name], len(totals))]),
        )


def in_range(case: Values, outputs: Values, totals: NDArray[np.float64]) -> Iterator[bool]:
    """Whether each buffer holds numbers of its kind at all."""
    for name in ("virions", "virions_next", "signal", "signal_next", "totals"):
        values = outputs[name]
        yield bool(np.isfinite(values).all() and (values >= 0).all())
    counted = np.delete(totals, (VIRIONS, SIGNAL), axis=1)
    yield bool((counted == np.floor(counted)).all())
    limits = {
        "state": (HEALTHY, DEAD),
        "occupant": (0, case["n_agents"]),
        "agent_cell": (-1, case["width"] * case["height"] - 1),
        "agent_from": (-1, case["width"] * case["height"] - 1),
        "agent_bound": (0, case["binding"]),
        "random": (1, 2**32 - 1),
        "agent_random": (1, 2**32 - 1),
    }
    for name, (least, most) in limits.items():
        yield bool((outputs[name] >= least).all() and (outputs[name] <= most).all())


def period(mean: int) -> tuple[int, int]:
    """The shortest and the longest time that `draw_period` gives."""
    return (mean + 1) // 2, (mean + 1) // 2 + mean


def laws_of_totals(case: Values, totals: NDArray[np.float64]) -> Iterator[Finding]:
    """From each step to the next."""
    cells = int(case["width"]) * int(case["height"])
    before = np.vstack([np.zeros(TOTALS), totals[:-1]])
    before[0, HEALTHY] = cells
    change = totals - before
    yield "every cell is in one state", totals[:, : DEAD + 1].sum(axis=1) != cells
    yield "nothing gets healthy", change[:, HEALTHY] > 0
    yield "the dead stay dead", change[:, DEAD] < 0
    moved = totals[:, ARRIVED] - totals[:, EXPIRED]
    yield "T cells arrive and expire", change[:, T_CELLS] != moved

    bound = np.cumsum(totals[:, BINDINGS])
    bound_dead = earlier(bound, int(case["apoptosis"]))
    yield "apoptosis takes its time", totals[:, APOPTOTIC] != bound - bound_dead

    infected = cells - totals[:, HEALTHY]
    expressed = infected - totals[:, INCUBATING]
    least, most = period(int(case["incubation"]))
    yield "incubation ends too soon", expressed > earlier(infected, least)
    yield "incubation ends too late", expressed < earlier(infected, most)
    died = totals[:, DEAD] - bound_dead
    least, most = period(int(case["expression"]))
    yield "expression ends too soon", died > earlier(expressed, least)
    yield "expression ends too late", died + bound < earlier(expressed, most)

    releasing = totals[:, EXPRESSING] + totals[:, APOPTOTIC]
    for name, column in (("virion", VIRIONS), ("signal", SIGNAL)):
        start = "virions" if name == "virion" else name
        before[0, column] = np.sum(case[start], dtype=np.float64)
        kept = before[:, column] * (1.0 - float(case[f"{name}_decay"]))
        want = kept + RELEASES[name] * releasing
        off = np.abs(totals[:, column] - want) > SUM_TOLERANCE * want
        yield f"the sum of {name}s is kept but for decay and release", off


def earlier(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """A cumulative total as it was so many steps before each step."""
    return np.concatenate([np.zeros(steps), values])[: values.size]


def laws_of_counts(outputs: Values, last: NDArray[np.float64]) -> Iterator[Finding]:
    """The last totals are those of the cells."""
    states = np.bincount(outputs["state"], minlength=DEAD + 1)
    yield "cells in each state", states != last[: DEAD + 1]
    occupied = np.count_nonzero(outputs["occupant"])
    yield "cells with a T cell", np.array([occupied != last[T_CELLS]])
    for name, column in (("virions", VIRIONS), ("signal", SIGNAL)):
        want = np.sum(outputs[name], dtype=np.float64)
        yield f"sum of {name}", np.array([abs(last[column] - want) > COUNTED_TOLERANCE * want])


def laws_of_cells(case: Values, outputs: Values) -> Iterator[Finding]:
    """What a cell's state says of its timer and its place."""
    state, timer = outputs["state"], outputs["timer"]
    limits = {
        HEALTHY: (0, 0),
        INCUBATING: (1, period(int(case["incubation"]))[1]),
        EXPRESSING: (1, period(int(case["expression"]))[1]),
        APOPTOTIC: (1, int(case["apoptosis"])),
        DEAD: (0, 0),
    }
    least, most = (np.array([limits[s][i] for s in range(DEAD + 1)])[state] for i in range(2))
    yield "a timer fits its cell's state", (timer < least) | (timer > most)
    susceptible = case["susceptibility"]
    yield "airways stay healthy", (susceptible == 0) & (state != HEALTHY)
    chance = spread(case, "virion", case["virions"]) * case["infectivity"]
    certain = chance.reshape(-1) * susceptible > 1.001
    yield "where the infection begins it is certain", certain & (state == HEALTHY)


def spread(case: Values, name: str, field: NDArray[np.float32]) -> NDArray[np.float64]:
    """A field of virions or signal after one step of diffusion and decay; row by row."""
    before = field.reshape(int(case["height"]), int(case["width"])).astype(np.float64)
    share = 0.25 * float(case[f"{name}_diffusion"])
    kept = 1.0 - float(case[f"{name}_decay"])
    return (before + share * (around(before) - 4.0 * before)) * kept


def around(field: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each cell's four neighbours; over the edge, it is its own neighbour."""
    padded = np.pad(field, 1, mode="edge")
    return padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]


def laws_of_fields(case: Values, outputs: Values) -> Iterator[Finding]:
    """The last step of diffusion and release, done again."""
    shape = (int(case["height"]), int(case["width"]))
    state = outputs["state"].reshape(shape)
    releasing = (state == EXPRESSING) | (state == APOPTOTIC)
    for name, field in (("virion", "virions"), ("signal", "signal")):
        before = outputs[f"{field}_next"].reshape(shape).astype(np.float64)
        want = spread(case, name, before) + RELEASES[name] * releasing
        off = np.abs(outputs[field].reshape(shape) - want)
        limit = FIELD_TOLERANCE * (want + before + around(before)) + UNDERFLOW
        yield f"{field} flow to the neighbours", off > limit


def laws_of_agents(case: Values, outputs: Values) -> Iterator[Finding]:
    """A T cell is in one place, the place knows it, and it got there as T cells do."""
    names = ("agent_cell", "agent_from", "agent_life", "agent_bound", "occupant")
    cell, origin, life, held, occupant = (outputs[name] for name in names)
    there = cell >= 0
    yield "a T cell is where its cell has it", there & (occupant[cell] != np.arange(cell.size) + 1)
    full = np.flatnonzero(occupant)
    yield "a cell's T cell is in the cell", cell[occupant[full] - 1] != full
    most = period(int(case["lifetime"]))[1]
    yield "a T cell in the tissue is alive", there & ((life < 1) | (life > most))
    yield "one that is not there is not", ~there & (life != 0)
    yield "a T cell comes from somewhere", there & (origin < 0)

    width, binding = int(case["width"]), int(case["binding"])
    rows, columns = (f(cell, width) - f(origin, width) for f in (np.floor_divide, np.mod))
    near = (abs(rows) <= 1) & (abs(columns) <= 1)
    yield "a T cell goes to a neighbour", there & ~near
    yield "a bound T cell stays", there & (held > 0) & (cell != origin)
    backwards = outputs["totals"].reshape(-1, TOTALS)[::-1]
    bindings = backwards[:binding, BINDINGS]
    counted = np.bincount(held[there], minlength=binding + 1)[:0:-1][: bindings.size]
    expired = np.append(0.0, np.cumsum(backwards[:binding, EXPIRED]))[: bindings.size]
    yield "T cells are held too long", counted > bindings
    yield "T cells are let go too soon", counted < bindings - expired

    free = there & near & (held == 0)
    yield from chances_of_moves(3 * rows[free] + columns[free] + 4)
    yield from chances_of_binding(case, outputs, free, there & (held == binding))


def chances_of_moves(directions: NDArray[np.integer]) -> Iterator[Finding]:
    """All eight directions are as likely, and most T cells that may move do."""
    counts = np.delete(np.bincount(directions, minlength=9)[:9], 4)
    moved, tried = counts.sum(), directions.size
    spread_of_counts = np.sqrt(moved * (1 / 8) * (7 / 8))
    off = np.abs(counts - moved / 8) > BEYOND_CHANCE * spread_of_counts + moved / 40 + 3
    yield "T cells move in all directions", off
    least = 0.5 * tried - BEYOND_CHANCE * 0.5 * np.sqrt(tried)
    yield "T cells move", np.array([moved < least])


def chances_of_binding(case: Values, outputs: Values, free: Mask, hit: Mask) -> Iterator[Finding]:
    """Who just bound has a new apoptotic cell beside it; of those that met a cell most did."""
    shape = (int(case["height"]), int(case["width"]))
    state, origin = outputs["state"], outputs["agent_from"]
    new = (state == APOPTOTIC) & (outputs["timer"] == case["apoptosis"])
    yield "cells that were just bound", np.array([np.count_nonzero(new) != np.count_nonzero(hit)])
    yield "who bound has a bound cell", hit & ~beside(new.reshape(shape))[origin]
    missed = np.count_nonzero(beside((state == EXPRESSING).reshape(shape))[origin[free]])
    met = missed + np.count_nonzero(hit)
    chance = BINDING_CHANCE
    limit = BEYOND_CHANCE * np.sqrt(met * chance * (1 - chance)) + 0.05 * met
    yield (
        "T cells bind as often as they should",
        np.array([abs(met - missed - chance * met) > limit]),
    )


def beside(cells: Mask) -> Mask:
    """Whether a cell or one of the eight around it is marked; one-dimensional."""
    padded = np.pad(cells, 1)
    across = padded[:, :-2] | padded[:, 1:-1] | padded[:, 2:]
    found: Mask = (across[:-2] | across[1:-1] | across[2:]).reshape(-1)
    return found


def crowded(seeds: NDArray[np.uint32], steps: int) -> bool:
    """Whether far more of the generators agree than by chance.

    All of them go round on one cycle of 2 ** 32 - 1 words, and wait at words that let an event
    happen. So two of them meet if they set out within some draws a step of each other.
    """
    ordered = np.sort(seeds)
    alike = np.count_nonzero(ordered[1:] == ordered[:-1])
    expected = min(4.0 * steps * seeds.size**2 / 2.0**32, seeds.size / 2)
    return bool(alike > 6 + expected)
