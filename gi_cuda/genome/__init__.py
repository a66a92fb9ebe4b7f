"""Genotypes: configuration values and edits, their notation and their variation."""

from gi_cuda.genome.changes import Change, Changed, Setting
from gi_cuda.genome.edits import EDIT_TYPES, Delete, Edit, Example, Insert, Replace, expansions
from gi_cuda.genome.genetics import Seeded, Variation
from gi_cuda.genome.genotype import Genotype, canonical, key, rule_order
from gi_cuda.genome.notation import read_genotype
from gi_cuda.genome.space import Configuration, Space
from gi_cuda.genome.variation import PAPER, Rates, crossover, mutate

__all__ = [
    "EDIT_TYPES",
    "PAPER",
    "Change",
    "Changed",
    "Configuration",
    "Delete",
    "Edit",
    "Example",
    "Genotype",
    "Insert",
    "Rates",
    "Replace",
    "Seeded",
    "Setting",
    "Space",
    "Variation",
    "canonical",
    "crossover",
    "expansions",
    "key",
    "mutate",
    "read_genotype",
    "rule_order",
]
