"""Transformations: rewrites of whole kernels and loops that an expert would try first.

A transformation is a gene like any edit: ``<coarsen_kernel.cu_41><coarsen_K4>`` gives each block
the work of four. Each *family* is one file with one class, which finds the family's sites in a
source and rewrites the text at a site. Line edits are applied first. Each transformation then reads
the edited text, and has no effect if its conditions no longer hold.

To add a family: a row in :class:`~gi_cuda.grammar.rule_types.RuleType` with its choices, a file
here with a subclass of :class:`Family`, and its instance in :data:`FAMILIES`.
"""

from gi_cuda.grammar.frontends.cuda.transforms.aggregate import Aggregate
from gi_cuda.grammar.frontends.cuda.transforms.atomic import Atomic
from gi_cuda.grammar.frontends.cuda.transforms.block import Block
from gi_cuda.grammar.frontends.cuda.transforms.cache import Cache
from gi_cuda.grammar.frontends.cuda.transforms.coarsen import Coarsen
from gi_cuda.grammar.frontends.cuda.transforms.family import Family
from gi_cuda.grammar.frontends.cuda.transforms.fast import Fast
from gi_cuda.grammar.frontends.cuda.transforms.grid import Grid
from gi_cuda.grammar.frontends.cuda.transforms.jam import Jam
from gi_cuda.grammar.frontends.cuda.transforms.merge import Merge
from gi_cuda.grammar.frontends.cuda.transforms.narrow import Narrow
from gi_cuda.grammar.frontends.cuda.transforms.pack import Pack
from gi_cuda.grammar.frontends.cuda.transforms.pad import Pad
from gi_cuda.grammar.frontends.cuda.transforms.power import Power
from gi_cuda.grammar.frontends.cuda.transforms.recip import Recip
from gi_cuda.grammar.frontends.cuda.transforms.scalar import Scalar
from gi_cuda.grammar.frontends.cuda.transforms.single import Single
from gi_cuda.grammar.frontends.cuda.transforms.split import Split
from gi_cuda.grammar.frontends.cuda.transforms.usual import Usual
from gi_cuda.grammar.frontends.cuda.transforms.vector import Vector
from gi_cuda.grammar.frontends.cuda.transforms.warp import Warp
from gi_cuda.grammar.frontends.cuda.transforms.wide import Wide

FAMILIES: tuple[Family, ...] = (
    *(Block(), Grid(), Split(), Coarsen(), Jam(), Merge(), Single(), Power(), Recip(), Fast()),
    *(Atomic(), Aggregate(), Scalar(), Vector(), Wide(), Warp(), Pack(), Pad(), Cache()),
    *(Narrow(), Usual()),
)
"""All families, in the order in which they rewrite a text."""

__all__ = ["FAMILIES", "Family"]
