"""A model of tissue_many's tumour in Python: media as whole arrays, cells one after the other.

Numbers have 32 bits and are added in the kernels' order, so results are equal in all bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

F = np.float32
EMPTY, STROMA, TUMOUR, STEM, IMMUNE, DEAD, VESSEL = range(7)
OXYGEN, GLUCOSE, ACID, SIGNAL = range(4)
STAY, MOVE, DIVIDE = range(3)
WISH, RANK, NOISE, CHILD, CLOCK, SPROUT, ARRIVAL, KILL = range(1, 9)
AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1))
WORD = 2**32 - 1
MOST_ENERGY = F(4)
HYPOXIC = F(0.15)
RULES = (
    "division_energy", "rest_energy", "turnover", "motility", "patrol", "mutation", "renewal",
    "sprouting", "sprout_signal", "arrival", "arrival_signal", "killing",
)  # fmt: skip


class Cell(NamedTuple):
    """The contents of a site."""

    kind: int = EMPTY
    clock: int = 0
    energy: Any = F(0)
    clone: int = 0


NOTHING = Cell()


def scramble(word: int) -> int:
    word ^= word >> 16
    word = word * 0x7FEB352D & WORD
    word ^= word >> 15
    word = word * 0x846CA68B & WORD
    return word ^ word >> 16


def fraction(word: int) -> Any:
    return F(word >> 8) * F(2**-24)


def period(word: int, mean: int) -> int:
    return (mean + 1) // 2 + word % (mean + 1)


class Tissue:
    """A simulated tissue."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.width, self.height = int(case["width"]), int(case["height"])
        self.steps, self.seed = int(case["n_steps"]), int(case["seed"])
        self.times = {name: int(case[name]) for name in ("cycle", "dying", "lifetime")}
        self.rules = dict(zip(RULES, case["rules"], strict=True))
        self.traits = case["traits"].reshape(7, 8)
        self.media = case["media"].reshape(4, 4)
        shape = (self.height, self.width)
        self.open = case["openness"].reshape(shape)
        self.fields = case["fields"].reshape(4, *shape).copy()
        columns = (case[name].tolist() for name in ("kind", "clock"))
        energies, clones = case["energy"], case["clone"].tolist()
        self.cells = [Cell(*one) for one in zip(*columns, energies, clones, strict=True)]
        self.totals: list[list[int]] = []
        self.spectrum: list[np.ndarray] = []
        self.now = 0

    def run(self) -> dict[str, np.ndarray]:
        for now in range(self.steps):
            self.now = now
            self.diffuse()
            self.exchange()
            self.border()
            wishes = self.regulate()
            goals = {i: goal for i in wishes if (goal := self.choose(i)) is not None}
            self.census(self.settle(wishes, goals))
        kinds, clocks, energies, clones = zip(*self.cells, strict=True)
        return {
            "fields": self.fields.reshape(-1),
            "kind": np.array(kinds, np.int32),
            "clock": np.array(clocks, np.int32),
            "energy": np.array(energies, F),
            "clone": np.array(clones, np.uint32),
            "totals": np.array(self.totals, np.uint64).reshape(-1),
            "spectrum": np.array(self.spectrum, np.uint32).reshape(-1),
        }

    # -- media

    def diffuse(self) -> None:
        inside = np.pad(np.ones((self.height, self.width), bool), 1)
        wide = np.pad(self.open, 1)
        for number, (plane, medium) in enumerate(zip(self.fields, self.media, strict=True)):
            sums = np.zeros((2, *plane.shape), F)
            padded = np.pad(plane, 1)
            for direction, (x, y) in enumerate(AROUND):
                there = np.s_[1 + y : 1 + y + self.height, 1 + x : 1 + x + self.width]
                share = F(1 / 6) if direction < 4 else F(1 / 12)
                through = share * (F(0.5) * (self.open + wide[there]))
                flow = np.where(inside[there], through * (padded[there] - plane), F(0))
                sums[direction // 4] += flow
            flowed = plane + medium[0] * (sums[0] + sums[1])
            self.fields[number] = np.maximum(flowed * (F(1) - medium[1]), F(0))

    def exchange(self) -> None:
        kinds = np.array([cell.kind for cell in self.cells]).reshape(self.open.shape)
        energy = np.array([cell.energy for cell in self.cells], F).reshape(self.open.shape)
        trait = np.moveaxis(self.traits[kinds], -1, 0)
        oxygen, glucose, acid, signal = self.fields
        taken = np.minimum(trait[0] * (oxygen / (oxygen + F(0.25))), oxygen)
        eaten = np.minimum(trait[1] * (glucose / (glucose + F(0.5))), glucose)
        burnt = np.minimum(eaten, taken * F(0.5))
        rest = eaten - burnt
        gained = burnt * F(12) + rest * F(2)
        harm = np.where(acid <= F(0.05), F(0), trait[4] * (acid - F(0.05)))
        left = np.clip(energy + gained - trait[3] - harm, F(0), MOST_ENERGY)
        living = (kinds >= STROMA) & (kinds <= IMMUNE)
        vessel = kinds == VESSEL
        after = oxygen - taken
        called = np.where(living & (after < HYPOXIC), signal + trait[2], signal)
        half = F(0.5)
        for plane, eating, perfused in (
            (OXYGEN, after, oxygen + half * (F(1) - oxygen)),
            (GLUCOSE, glucose - eaten, glucose + half * (F(1.5) - glucose)),
            (ACID, acid + rest * F(0.75), acid - half * acid),
            (SIGNAL, called, signal),
        ):
            self.fields[plane] = np.select([vessel, living], [perfused, eating], self.fields[plane])
        for i in np.flatnonzero(living):
            self.cells[i] = self.cells[i]._replace(energy=left.flat[i])

    def border(self) -> None:
        for plane, (_, _, outside, seep) in zip(self.fields, self.media, strict=True):
            old = plane.copy()
            for y, x in np.ndindex(plane.shape):
                inner = min(max(y, 1), self.height - 2), min(max(x, 1), self.width - 2)
                if inner != (y, x):
                    here = old[y, x]
                    now = here + seep * self.open[y, x] * (outside - here)
                    plane[y, x] = max(now + F(0.125) * (old[inner] - here), F(0))

    # -- cells

    def word(self, site: int, use: int) -> int:
        word = scramble(self.seed + 0x9E3779B9 * (self.now + 1) & WORD)
        return scramble(scramble(word ^ site) + use & WORD)

    def beside(self, site: int) -> list[int | None]:
        """Return the eight neighbouring sites, in order; None outside."""
        y, x = divmod(site, self.width)
        return [
            (y + b) * self.width + x + a
            if 0 <= x + a < self.width and 0 <= y + b < self.height
            else None
            for a, b in AROUND
        ]

    def around(self, site: int, kind: int) -> int:
        return sum(i is not None and self.cells[i].kind == kind for i in self.beside(site))

    def happens(self, word: int, chance: Any) -> bool:
        return bool(fraction(word) < chance)

    def regulate(self) -> dict[int, int]:
        """Age cells and let them die; return the wishes of cells to move or divide."""
        wishes = {}
        for i, cell in enumerate(self.cells):
            word, rules = self.word(i, WISH), self.rules
            if STROMA <= cell.kind <= IMMUNE and cell.energy <= 0:
                self.cells[i] = cell._replace(kind=DEAD, clock=self.times["dying"], energy=F(0))
            elif cell.kind in (DEAD, IMMUNE):
                older = cell._replace(clock=cell.clock - 1)
                self.cells[i] = older if older.clock > 0 else NOTHING
                if cell.kind == IMMUNE and older.clock > 0 and self.happens(word, rules["patrol"]):
                    wishes[i] = MOVE
            elif cell.kind == STROMA:
                if cell.energy >= rules["division_energy"] and self.happens(
                    word, rules["turnover"]
                ):
                    wishes[i] = DIVIDE
            elif cell.kind in (TUMOUR, STEM):
                if cell.clock > 0 and cell.energy >= rules["rest_energy"]:
                    self.cells[i] = cell = cell._replace(clock=cell.clock - 1)
                if cell.clock <= 0 and cell.energy >= rules["division_energy"]:
                    wishes[i] = DIVIDE
                elif self.fields[OXYGEN].flat[i] < HYPOXIC and self.happens(
                    word, rules["motility"]
                ):
                    wishes[i] = MOVE
        return wishes

    def choose(self, site: int) -> int | None:
        """Return the neighbouring empty site that a cell likes best."""
        kind = self.cells[site].kind
        trait = self.traits[kind]
        oxygen, signal = self.fields[OXYGEN].reshape(-1), self.fields[SIGNAL].reshape(-1)
        word, liked = self.word(site, NOISE), []
        for direction, there in enumerate(self.beside(site)):
            word = scramble(word + direction & WORD)
            if there is None or self.cells[there].kind != EMPTY:
                continue
            score = trait[5] * (oxygen[there] - oxygen[site])
            score = score + trait[6] * (signal[there] - signal[site])
            if trait[7] != 0:
                score = score + trait[7] * F(self.around(there, kind))
            liked.append((score + F(0.25) * fraction(word), -direction, there))
        return max(liked)[2] if liked else None

    def settle(self, wishes: Mapping[int, int], goals: Mapping[int, int]) -> list[int]:
        """Apply all wishes at once; return the numbers of divisions, moves and kills."""
        picked: dict[int, list[tuple[int, int, int]]] = {}
        for site, goal in goals.items():
            order = self.beside(goal).index(site)
            picked.setdefault(goal, []).append((self.word(site, RANK), -order, site))
        after, events = list(self.cells), [0, 0, 0]
        for goal, rivals in picked.items():
            site = max(rivals)[2]
            cell = self.cells[site]
            if wishes[site] == MOVE:
                after[goal], after[site] = cell, NOTHING
                events[1] += 1
            else:
                half = cell._replace(energy=F(0.5) * cell.energy, clock=0)
                after[goal] = self.child(half, goal)
                after[site] = self.wound(half, site)
                events[0] += 1
        moved = {max(rivals)[2] for rivals in picked.values()}
        for i, cell in enumerate(self.cells):
            if cell.kind == EMPTY and i not in picked:
                after[i] = self.grown(i)
            elif cell.kind in (TUMOUR, STEM) and i not in moved:
                killers = self.around(i, IMMUNE)
                chance = self.rules["killing"] * F(killers)
                if killers and self.happens(self.word(i, KILL), chance):
                    after[i] = Cell(DEAD, self.times["dying"], F(0), cell.clone)
                    events[2] += 1
        self.cells = after
        return events

    def wound(self, cell: Cell, site: int) -> Cell:
        """Return a cell with its clock set to a cycle, if it belongs to the tumour."""
        if cell.kind not in (TUMOUR, STEM):
            return cell
        cycle = period(self.word(site, CLOCK), self.times["cycle"]) + cell.clone % 4
        return cell._replace(clock=cycle)

    def child(self, half: Cell, site: int) -> Cell:
        word, kind, clone = self.word(site, CHILD), half.kind, half.clone
        if kind == STEM and not self.happens(word, self.rules["renewal"]):
            kind = TUMOUR
        word = scramble(word)
        if kind in (TUMOUR, STEM) and self.happens(word, self.rules["mutation"]):
            clone = scramble(clone + word & WORD)
        return self.wound(half._replace(kind=kind, clone=clone), site)

    def grown(self, site: int) -> Cell:
        signal, rules = self.fields[SIGNAL].flat[site], self.rules
        vessels = self.around(site, VESSEL)
        called = signal >= rules["sprout_signal"] and 1 <= vessels <= 2
        if called and self.happens(self.word(site, SPROUT), rules["sprouting"] * signal):
            return Cell(VESSEL)
        word = self.word(site, ARRIVAL)
        if signal >= rules["arrival_signal"] and vessels and self.happens(word, rules["arrival"]):
            return Cell(IMMUNE, period(scramble(word), self.times["lifetime"]), F(2))
        return NOTHING

    def census(self, events: list[int]) -> None:
        def parts(values: Any) -> int:
            return int((np.asarray(values, F) * F(4096) + F(0.5)).astype(np.uint64).sum())

        kinds = [cell.kind for cell in self.cells]
        living = [c.energy for c in self.cells if STROMA <= c.kind <= IMMUNE]
        levels = np.minimum((np.array(living, F) * F(4)).astype(int), 15)
        self.spectrum.append(np.bincount(levels, minlength=16))
        self.totals.append(
            [
                *(kinds.count(kind) for kind in range(7)),
                parts([cell.energy for cell in self.cells]),
                *(parts(plane) for plane in self.fields),
                *events,
                max(cell.clock for cell in self.cells),
            ]
        )
