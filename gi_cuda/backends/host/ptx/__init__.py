"""Translate inline PTX of device code into C++ for the host."""

from gi_cuda.backends.host.ptx.instruction import Unknown
from gi_cuda.backends.host.ptx.statement import translated

__all__ = ["Unknown", "translated"]
