"""An independent model of tissue_spread's tissue, in numpy."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from gi_cuda.spec import Target, load_target

FOLDER = Path(__file__).parents[3] / "targets" / "tissue_spread"
WIDTH, HEIGHT, STEPS = 26, 19, 13
HEALTHY, INCUBATING, EXPRESSING, APOPTOTIC, DEAD = range(5)

Outputs = dict[str, np.ndarray]


def load(name: str) -> SimpleNamespace:
    path = FOLDER / f"{name}.py"
    names = {"__name__": name, "__file__": str(path)}
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    return SimpleNamespace(**names)


data, oracle = load("data"), load("oracle")


@lru_cache
def target() -> Target:
    return load_target(FOLDER)


@lru_cache
def case_of(seed: int = 5) -> dict:
    # Ten T cells would do; with a hundred, most of what can happen to them does.
    return data.case(seed=seed, width=WIDTH, height=HEIGHT, steps=STEPS, cells_per_agent=5)


def flow(field: np.ndarray, diffusion: float, decay: float) -> np.ndarray:
    """Return the change by diffusion, as a flow through each wall between two cells."""
    change = np.zeros_like(field)
    for axis in (0, 1):
        through = np.diff(field, axis=axis) * (diffusion / 4)
        pad = [(0, 0), (0, 0)]
        pad[axis] = (0, 1)
        change += np.pad(through, pad)
        pad[axis] = (1, 0)
        change -= np.pad(through, pad)
    return (field + change) * (1 - decay)


class Model:
    """A model of the tissue that processes cells and T cells one after the other."""

    def __init__(self, case: dict, seed: int) -> None:
        self.case = case
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros((HEIGHT, WIDTH), int)
        self.timer = np.zeros((HEIGHT, WIDTH), int)
        self.fields = {n: case[n].reshape(HEIGHT, WIDTH).astype(float) for n in FIELDS}
        self.before = dict(self.fields)
        self.t_cells: dict[int, SimpleNamespace] = {}
        self.totals: list[list[float]] = []

    def period(self, mean: str) -> int:
        return (self.case[mean] + 1) // 2 + int(self.rng.integers(self.case[mean] + 1))

    def step(self) -> None:
        self.before = self.fields
        self.fields = {
            name: flow(field, self.case[f"{kind}_diffusion"], self.case[f"{kind}_decay"])
            for (name, field), kind in zip(self.fields.items(), ("virion", "signal"), strict=True)
        }
        self.update_cells()
        arrived = self.extravasate()
        expired, bindings = self.move()
        cells = [np.count_nonzero(self.state == s) for s in range(5)]
        sums = [self.fields[name].astype(np.float32).sum(dtype=float) for name in FIELDS]
        self.totals.append([*cells, len(self.t_cells), *sums, arrived, expired, bindings])

    def update_cells(self) -> None:
        susceptibility = self.case["susceptibility"].reshape(HEIGHT, WIDTH)
        chance = self.fields["virions"] * self.case["infectivity"] * susceptibility
        self.timer[self.state % DEAD > 0] -= 1
        done = self.timer <= 0
        for y, x in np.argwhere((self.state == HEALTHY) & (self.rng.random(chance.shape) < chance)):
            self.state[y, x], self.timer[y, x] = INCUBATING, self.period("incubation")
            done[y, x] = False
        self.state[(self.state >= EXPRESSING) & done] = DEAD
        for y, x in np.argwhere((self.state == INCUBATING) & done):
            self.state[y, x], self.timer[y, x] = EXPRESSING, self.period("expression")
        releasing = (self.state == EXPRESSING) | (self.state == APOPTOTIC)
        self.fields["virions"][releasing] += 1.0
        self.fields["signal"][releasing] += 0.25

    def taken(self, place: tuple[int, int]) -> bool:
        return any(t_cell.place == place for t_cell in self.t_cells.values())

    def extravasate(self) -> int:
        absent = [i for i in range(self.case["n_agents"]) if i not in self.t_cells]
        arrived = 0
        for number in absent:
            place = (int(self.rng.integers(HEIGHT)), int(self.rng.integers(WIDTH)))
            chance = self.case["arrival"] * self.fields["signal"][place]
            if self.rng.random() < chance and not self.taken(place):
                life = self.period("lifetime")
                self.t_cells[number] = SimpleNamespace(place=place, origin=place, life=life, held=0)
                arrived += 1
        return arrived

    def around(self, place: tuple[int, int]) -> list[tuple[int, int]]:
        y, x = place
        found = [(y + i, x + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        return [(y, x) for y, x in found if 0 <= y < HEIGHT and 0 <= x < WIDTH]

    def move(self) -> tuple[int, int]:
        expired = bindings = 0
        for number in list(self.rng.permutation(list(self.t_cells))):
            t_cell = self.t_cells[int(number)]
            t_cell.origin = t_cell.place
            t_cell.life -= 1
            preys = [p for p in self.around(t_cell.place) if self.state[p] == EXPRESSING]
            if t_cell.life == 0:
                del self.t_cells[int(number)]
                expired += 1
            elif t_cell.held > 1:
                t_cell.held -= 1
            elif preys and self.rng.random() < 0.75:
                prey = preys[self.rng.integers(len(preys))]
                self.state[prey], self.timer[prey] = APOPTOTIC, self.case["apoptosis"]
                t_cell.held = self.case["binding"]
                bindings += 1
            else:
                t_cell.held = 0
                y, x = t_cell.place
                to = (y + int(self.rng.integers(-1, 2)), x + int(self.rng.integers(-1, 2)))
                if to in self.around(t_cell.place) and not self.taken(to):
                    t_cell.place = to
        return expired, bindings

    def outputs(self) -> Outputs:
        agents = self.case["n_agents"]
        columns = {name: np.full(agents, -1, np.int32) for name in ("agent_cell", "agent_from")}
        columns |= {name: np.zeros(agents, np.int32) for name in ("agent_life", "agent_bound")}
        occupant = np.zeros(WIDTH * HEIGHT, np.int32)
        for number, t_cell in self.t_cells.items():
            cell, origin = (y * WIDTH + x for y, x in (t_cell.place, t_cell.origin))
            values = (cell, origin, t_cell.life, t_cell.held)
            for column, value in zip(columns.values(), values, strict=True):
                column[number] = value
            occupant[cell] = number + 1
        return {
            **{name: self.fields[name].reshape(-1).astype(np.float32) for name in FIELDS},
            **{f"{n}_next": self.before[n].reshape(-1).astype(np.float32) for n in FIELDS},
            "state": self.state.reshape(-1).astype(np.int32),
            "timer": self.timer.reshape(-1).astype(np.int32),
            "occupant": occupant,
            "random": self.rng.integers(1, 2**32, WIDTH * HEIGHT).astype(np.uint32),
            **columns,
            "agent_random": self.rng.integers(1, 2**32, agents).astype(np.uint32),
            "totals": np.array(self.totals).reshape(-1),
        }


FIELDS = ("virions", "signal")
