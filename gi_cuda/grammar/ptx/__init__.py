"""The PTX front end: the PTX that nvcc makes of kernels, as a grammar."""

from gi_cuda.grammar.ptx.grammar import PtxGrammar, convert_ptx
from gi_cuda.grammar.ptx.lines import Origin, origins
from gi_cuda.grammar.ptx.render import instrument_ptx, mark_ptx, rehearse_ptx, render_ptx

__all__ = [
    "Origin",
    "PtxGrammar",
    "convert_ptx",
    "instrument_ptx",
    "mark_ptx",
    "origins",
    "rehearse_ptx",
    "render_ptx",
]
