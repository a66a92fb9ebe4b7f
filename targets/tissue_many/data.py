"""Cases of tissue_many: stroma with vessels, and a tumour that was there before."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]
Whole = NDArray[np.int32]

KINDS = EMPTY, STROMA, TUMOUR, STEM, IMMUNE, DEAD, VESSEL = tuple(range(7))
MEDIA = 4
TOTALS, LEVELS = 16, 16

TAKEN = 0.6
"""Share of the sites outside the tumour that hold stroma."""

TRAITS: dict[int, tuple[float, ...]] = {
    # uptake of oxygen, glucose, signal, upkeep; harm by acid, drift to oxygen, signal, adhesion
    STROMA: (0.02, 0.02, 0.0, 0.05, 0.3, 0.5, 0.0, 0.02),
    TUMOUR: (0.12, 0.1, 0.25, 0.4, 0.2, 2.0, 0.0, 0.05),
    STEM: (0.08, 0.08, 0.4, 0.25, 0.1, 2.0, 0.0, 0.1),
    IMMUNE: (0.02, 0.04, 0.0, 0.04, 0.2, 0.0, 3.0, 0.0),
}
"""By kind, what `Trait` has, in its order."""

FLOWS = ((0.9, 0.0, 0.6, 0.3), (0.7, 0.0, 0.8, 0.2), (0.6, 0.05, 0.0, 0.2), (0.8, 0.04, 0.0, 0.1))
"""By medium, what `Medium` has: diffusion, decay, amount outside, seeping."""


def case(
    seed: int, width: int, height: int, steps: int, **rates: Any
) -> dict[str, np.ndarray | int | float]:
    """The buffers and scalars of one case.

    seed: of the tissue, and of all chance in it; width, height: in sites, at least 3; steps: of
    time; rates: other values for any of `default_rules()` and `default_periods()`.
    """
    rules, periods = default_rules(), default_periods()
    unknown = set(rates) - set(rules) - set(periods)
    if unknown:
        raise ValueError(f"there is no rate {sorted(unknown)[0]!r}")
    rules.update((name, rates[name]) for name in rules if name in rates)
    periods.update((name, rates[name]) for name in periods if name in rates)
    rng = np.random.default_rng(seed)
    kind = tissue(width, height, rng)
    living = (kind == STROMA) | (kind == IMMUNE) | (kind == TUMOUR) | (kind == STEM)
    longest = np.where(kind == IMMUNE, periods["lifetime"], periods["cycle"])
    clock = np.where(kind == STROMA, 0, rng.integers(1, longest + 1))
    most = np.where(kind == STROMA, 4.0, 2.5)
    return {
        "fields": media(kind, rng),
        "kind": kind,
        "clock": np.where(living | (kind == DEAD), clock, 0).astype(np.int32),
        "energy": np.where(living, rng.uniform(0.1, most, kind.size), 0).astype(np.float32),
        "clone": np.where(living, rng.integers(0, 9, kind.size), 0).astype(np.uint32),
        "openness": rng.uniform(0.5, 1.0, kind.size).astype(np.float32),
        "traits": np.array([TRAITS.get(one, (0.0,) * 8) for one in KINDS], np.float32).reshape(-1),
        "media": np.array(FLOWS, np.float32).reshape(-1),
        "rules": np.array(list(rules.values()), np.float32),
        "totals": np.zeros(steps * TOTALS, np.uint64),
        "spectrum": np.zeros(steps * LEVELS, np.uint32),
        "width": width,
        "height": height,
        "n_steps": steps,
        "seed": seed,
        **periods,
    }


def default_rules() -> dict[str, float]:
    """What `Rules` has, in its order: energies, chances a step, amounts of signal.

    division_energy, rest_energy: needed to divide, and for the clock to run; turnover: chance that
    stroma divides; motility: that a cell of the tumour wanders; patrol: that an immune cell does;
    mutation: of a child; renewal: that a stem cell's child is one; sprouting: of a vessel, per unit
    of signal; arrival: of an immune cell; both where there is so much signal; killing: by each
    immune cell beside a cell of the tumour.
    """
    return {
        "division_energy": 1.5,
        "rest_energy": 0.5,
        "turnover": 0.01,
        "motility": 0.5,
        "patrol": 0.8,
        "mutation": 0.2,
        "renewal": 0.25,
        "sprouting": 6.0,
        "sprout_signal": 0.04,
        "arrival": 0.2,
        "arrival_signal": 0.03,
        "killing": 0.08,
    }


def default_periods() -> dict[str, int]:
    """Mean steps from a division to the next, to clear a dead cell, and that immune cells live."""
    return {"cycle": 3, "dying": 4, "lifetime": 12}


def tissue(width: int, height: int, rng: np.random.Generator) -> Whole:
    """What each site holds: stroma, vessels all over it, a tumour off the middle, row by row."""
    size = width * height
    kind = np.where(rng.random(size) < TAKEN, STROMA, EMPTY).astype(np.int32)
    y, x = np.divmod(np.arange(size), width)
    across = np.hypot(x - width * 0.45, y - height * 0.55) / (0.3 * min(width, height))
    # Its rim is uneven, its core is dead, and some of it has got everywhere.
    reach = across + rng.normal(0.0, 0.08, size)
    drawn = rng.random(size)
    kind[(reach < 1) & (drawn < 0.8)] = TUMOUR
    kind[(reach < 1) & (drawn < 0.15)] = STEM
    kind[(reach < 0.3) & (drawn < 0.6)] = DEAD
    kind[(reach >= 1) & (drawn < 0.04)] = TUMOUR
    kind[drawn > 0.99] = IMMUNE
    kind[rng.random(size) < 0.015] = VESSEL
    # One of each in the corners and at the edges, where indices go wrong.
    edge = np.flatnonzero((x == 0) | (y == 0) | (x == width - 1) | (y == height - 1))
    kind[edge[:: max(1, edge.size // 24)]] = TUMOUR
    return kind


def media(kind: Whole, rng: np.random.Generator) -> Numbers:
    """Oxygen, glucose, acid and signal, one after the other."""
    sites = kind.size
    vessels, tumour = kind == VESSEL, (kind == TUMOUR) | (kind == STEM)
    found = rng.uniform(0.3, 0.6, (MEDIA, sites))
    found[0] *= np.where(tumour, 0.4, 1.0)
    found[0] += 0.4 * vessels
    found[1] += 0.8 * vessels
    found[2] = 0.2 * tumour * rng.random(sites)
    found[3] = 0.3 * tumour * rng.random(sites)
    return found.astype(np.float32).reshape(-1)
