"""Transformations: rewrites of whole kernels and loops that an expert would try first.

A transformation is a gene like any edit: ``<coarsen_kernel.cu_41><coarsen_K4>`` gives each block
the work of four. Each *family* is one file with one class, which finds the family's sites in a
source and rewrites the text at a site. Line edits are applied first. Each transformation then reads
the edited text, and has no effect if its conditions no longer hold.

To add a family: a row in :class:`~gi_cuda.grammar.rule_types.RuleType` with its choices, a file
here with a subclass of :class:`Family`, and its instance in :data:`FAMILIES`.
"""

from gi_cuda.grammar.frontends.cuda.transforms.access.aggregate import Aggregate
from gi_cuda.grammar.frontends.cuda.transforms.access.atomic import Atomic
from gi_cuda.grammar.frontends.cuda.transforms.access.cache import Cache
from gi_cuda.grammar.frontends.cuda.transforms.access.pack import Pack
from gi_cuda.grammar.frontends.cuda.transforms.access.pad import Pad
from gi_cuda.grammar.frontends.cuda.transforms.access.scalar import Scalar
from gi_cuda.grammar.frontends.cuda.transforms.access.vector import Vector
from gi_cuda.grammar.frontends.cuda.transforms.access.wide import Wide
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.fast import Fast
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.narrow import Narrow
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.power import Power
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.recip import Recip
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.single import Single
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.usual import Usual
from gi_cuda.grammar.frontends.cuda.transforms.family import Family
from gi_cuda.grammar.frontends.cuda.transforms.mapping.block import Block
from gi_cuda.grammar.frontends.cuda.transforms.mapping.coarsen import Coarsen
from gi_cuda.grammar.frontends.cuda.transforms.mapping.grid import Grid
from gi_cuda.grammar.frontends.cuda.transforms.mapping.jam import Jam
from gi_cuda.grammar.frontends.cuda.transforms.mapping.merge import Merge
from gi_cuda.grammar.frontends.cuda.transforms.mapping.split import Split
from gi_cuda.grammar.frontends.cuda.transforms.mapping.warp import Warp

FAMILIES: tuple[Family, ...] = (
    *(Block(), Grid(), Split(), Coarsen(), Jam(), Merge(), Single(), Power(), Recip(), Fast()),
    *(Atomic(), Aggregate(), Scalar(), Vector(), Wide(), Warp(), Pack(), Pad(), Cache()),
    *(Narrow(), Usual()),
)
"""All families, in the order in which they rewrite a text."""

__all__ = ["FAMILIES", "Family"]
