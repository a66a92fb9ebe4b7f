"""The kinds of edits. To add one, write its class in a file here and put it in the table."""

from gi_cuda.genome.edits.basic import Delete, Insert, Replace
from gi_cuda.genome.edits.edit import Edit, Step, Words, expansions, repeats

EDIT_KINDS: tuple[type[Edit], ...] = (Delete, Replace, Insert)
"""All kinds of edits. Random draws depend on this order: another order gives another run."""

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
