"""Genotypes: configuration values and edits, their notation and their variation."""

from gi_cuda.genome.edits import EDIT_KINDS, Delete, Edit, Insert, Replace, Step, Words, expansions
from gi_cuda.genome.genotype import (
    Change,
    Changed,
    Genotype,
    canonical,
    changes_of,
    key,
    rule_order,
    with_changes,
)
from gi_cuda.genome.notation import read_genotype
from gi_cuda.genome.space import Configuration, Setting, Space
from gi_cuda.genome.variation import Rates, crossover, mutate

__all__ = [
    "EDIT_KINDS",
    "Change",
    "Changed",
    "Configuration",
    "Delete",
    "Edit",
    "Genotype",
    "Insert",
    "Rates",
    "Replace",
    "Setting",
    "Space",
    "Step",
    "Words",
    "canonical",
    "changes_of",
    "crossover",
    "expansions",
    "key",
    "mutate",
    "read_genotype",
    "rule_order",
    "with_changes",
]
