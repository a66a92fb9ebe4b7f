"""The search: tabu, population, strategies and breeding. Knows nothing of CUDA."""

from gi_cuda.search.breeding import Brood, breed
from gi_cuda.search.model import (
    BARRACUDA,
    Child,
    Laboratory,
    Member,
    Origin,
    Settings,
    Variation,
)
from gi_cuda.search.strategies import PRESETS, Barracuda, RandomSearch, Strategy
from gi_cuda.search.tabu import Tabu

__all__ = [
    "BARRACUDA",
    "PRESETS",
    "Barracuda",
    "Brood",
    "Child",
    "Laboratory",
    "Member",
    "Origin",
    "RandomSearch",
    "Settings",
    "Strategy",
    "Tabu",
    "Variation",
    "breed",
]
