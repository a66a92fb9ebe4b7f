"""The addresses on the device in which the buffers of rehearsals lie.

They are the same in every process, so that PTX can be made that stays within them (see
:mod:`gi_cuda.grammar.frontends.ptx.confine`).
"""

from __future__ import annotations

BASE = 1 << 44
"""The first address, a multiple of :data:`SIZE`; far from where programs on Linux have anything."""

SIZE = 1 << 35
"""Bytes; a power of two."""
