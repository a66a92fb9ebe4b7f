"""The kinds of edits. To add one, write its class in a file here and put it in the table."""

from gi_cuda.genome.edits.basic import Delete, Insert, Replace
from gi_cuda.genome.edits.edit import Edit, Step, Words, expansions, repeats

EDIT_KINDS: tuple[type[Edit], ...] = (Delete, Replace, Insert)
"""All kinds. Which of several that a rule offers is drawn depends on their order here."""

__all__ = [
    "EDIT_KINDS",
    "Delete",
    "Edit",
    "Insert",
    "Replace",
    "Step",
    "Words",
    "expansions",
    "repeats",
]
