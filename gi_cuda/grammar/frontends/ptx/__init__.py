"""The PTX front end: the PTX that nvcc makes of kernels, as a grammar."""

from gi_cuda.grammar.frontends.ptx.grammar import PtxGrammar, convert_ptx
from gi_cuda.grammar.frontends.ptx.lines import origins
from gi_cuda.grammar.frontends.ptx.render import instrument_ptx, mark_ptx, rehearse_ptx, render_ptx

__all__ = [
    "PtxGrammar",
    "convert_ptx",
    "instrument_ptx",
    "mark_ptx",
    "origins",
    "rehearse_ptx",
    "render_ptx",
]
