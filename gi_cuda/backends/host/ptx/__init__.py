"""Inline PTX of device code, as the C++ that does the same on the host."""

from gi_cuda.backends.host.ptx.instruction import Unknown
from gi_cuda.backends.host.ptx.statement import translated

__all__ = ["Unknown", "translated"]
