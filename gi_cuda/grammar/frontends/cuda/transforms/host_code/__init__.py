"""Host code around launches: the calls, and where their grids and blocks come from.

:mod:`launches` finds ``k<<<grid, block>>>(...)``; :mod:`functions` reads the variables of the
function around it, :mod:`kinds` their types; :mod:`extents` finds the place that says an extent of
the grid or block; :mod:`formulas` rewrites the number of blocks, by the values of
:mod:`expressions`.
"""
