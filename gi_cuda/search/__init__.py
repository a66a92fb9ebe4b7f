"""The search: tabu, population, strategies and breeding. Knows nothing of CUDA."""

from gi_cuda.search.breeding import Offspring, breed
from gi_cuda.search.individuals import BARRACUDA, Child, FitnessEvaluator, Member, Origin, Settings
from gi_cuda.search.strategies import PRESETS, Barracuda, RandomSearch, Strategy
from gi_cuda.search.tabu import Tabu

__all__ = [
    "BARRACUDA",
    "PRESETS",
    "Barracuda",
    "Child",
    "FitnessEvaluator",
    "Member",
    "Offspring",
    "Origin",
    "RandomSearch",
    "Settings",
    "Strategy",
    "Tabu",
    "breed",
]
