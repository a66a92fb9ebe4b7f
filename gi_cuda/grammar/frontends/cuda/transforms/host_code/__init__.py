"""Host code around launches: the calls, and the sources of their grids and blocks.

:mod:`launches` finds ``k<<<grid, block>>>(...)``. :mod:`functions` reads the variables of the
function around the launch, and :mod:`kinds` their types. :mod:`extents` finds the place that sets
an extent of the grid or block. :mod:`formulas` rewrites the number of blocks, with the values that
:mod:`expressions` computes.
"""
