"""The search: tabu lists, populations, strategies and breeding. It does not depend on CUDA."""

from gi_cuda.search.breeding import Child, FitnessEvaluator, Offspring, Tabu, breed
from gi_cuda.search.preset import Preset, Settings, Strategy
from gi_cuda.search.recipes import Member, Origin
from gi_cuda.search.strategies import DEFAULT, PRESETS, find_preset, named_preset

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
    "named_preset",
]
