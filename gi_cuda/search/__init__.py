"""The search: tabu, population, strategies and breeding. Knows nothing of CUDA."""

from gi_cuda.search.breeding import Offspring, breed
from gi_cuda.search.individuals import Child, FitnessEvaluator, Member, Origin, Settings
from gi_cuda.search.preset import Preset, Strategy
from gi_cuda.search.strategies import DEFAULT, PRESETS, find_preset
from gi_cuda.search.tabu import Tabu

__all__ = [
    "DEFAULT",
    "PRESETS",
    "Child",
    "FitnessEvaluator",
    "Member",
    "Offspring",
    "Origin",
    "Preset",
    "Settings",
    "Strategy",
    "Tabu",
    "breed",
    "find_preset",
]
