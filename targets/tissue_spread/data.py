"""Cases of tissue_spread: a tissue with airways, and virions in a few places."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]
Places = NDArray[np.intp]

LOAD = 100.0
"""Virions at a place where the infection begins: so many that its cell is infected for certain."""


def case(
    seed: int,
    width: int,
    height: int,
    steps: int,
    rounds: int = 1,
    cells_per_agent: int = 8,
    **rates: Any,
) -> dict[str, np.ndarray | int | float]:
    """The buffers and scalars of one case.

    seed: of the tissue, and of what happens in it; width, height: in cells; steps: of time;
    rounds: infections that begin in each row and column, at least; cells_per_agent: one T cell
    for so many cells; rates: other values for any of `default_rates()`.
    """
    unknown = set(rates) - set(default_rates())
    if unknown:
        raise ValueError(f"there is no rate {sorted(unknown)[0]!r}")
    rng = np.random.default_rng(seed)
    virions = np.zeros((height, width), np.float32)
    susceptibility = tissue(width, height, rng)
    where = foci(width, height, rounds, rng)
    virions[where] = LOAD
    susceptibility[where] = 1.0
    nothing = np.zeros(virions.size, np.float32)
    return {
        "virions": virions.reshape(-1),
        "virions_next": nothing,
        "signal": nothing,
        "signal_next": nothing,
        "susceptibility": susceptibility.reshape(-1),
        "width": width,
        "height": height,
        "n_agents": max(1, virions.size // cells_per_agent),
        "n_steps": steps,
        "seed": seed,
        **default_rates(),
        **rates,
    }


def default_rates() -> dict[str, int | float]:
    """How fast everything goes: shares a step, chances a step, means and periods in steps.

    infectivity: chance of infection per virion; arrival: chance that a T cell enters, per unit of
    signal; incubation, expression: mean steps from infection to release and from there to death;
    apoptosis: steps that a cell bound by a T cell still lives; binding: steps that the T cell
    stays with it, the one in which it bound included; lifetime: mean steps of a T cell in the
    tissue.
    """
    return {
        "virion_diffusion": 0.6,
        "virion_decay": 0.15,
        "signal_diffusion": 0.9,
        "signal_decay": 0.1,
        "infectivity": 0.06,
        "arrival": 1.0,
        "incubation": 4,
        "expression": 6,
        "apoptosis": 3,
        "binding": 3,
        "lifetime": 6,
    }


def foci(width: int, height: int, rounds: int, rng: np.random.Generator) -> tuple[Places, Places]:
    """Rows and columns of the places where the infection begins.

    There are `rounds` at least in every row and in every column, and one in each corner: no part
    of the tissue can be passed over and nobody notice.
    """
    count = max(width, height) * rounds
    rows = rng.permutation(np.arange(count) % height)
    columns = rng.permutation(np.arange(count) % width)
    top, left = np.meshgrid((0, height - 1), (0, width - 1), indexing="ij")
    return np.append(rows, top), np.append(columns, left)


def tissue(width: int, height: int, rng: np.random.Generator) -> Field:
    """How easily each cell is infected, from 0.5 to 1; in the airways that cross it, 0."""
    cells = rng.uniform(0.5, 1.0, (height, width)).astype(np.float32)
    y, x = np.mgrid[:height, :width]
    for _ in range(max(1, width * height // 4096)):
        angle = rng.uniform(0, np.pi)
        across = (x - rng.integers(width)) * np.cos(angle) + (y - rng.integers(height)) * np.sin(
            angle
        )
        cells[np.abs(across) < 1.5] = 0.0
    return cells
