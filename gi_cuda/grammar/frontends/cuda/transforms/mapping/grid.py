"""Transformation of the number of blocks, for kernels that work with any number of blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gi_cuda.grammar.frontends.cuda.transforms.code import Code
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.grid_stride import takes_any_grid
from gi_cuda.grammar.rule_types import RuleType

_CHOICE = re.compile(r"grid_K(?:(?P<times>\d+)|1of(?P<items>\d+))(?P<axis>y?)")


class Grid(Family):
    """``<grid_kernel.cu_41><grid_K4>`` launches a kernel with grid-stride loops with four times the
    blocks along x, ``<grid_K1of2y>`` with half of the blocks along y.

    Before and after::

        k<<<24, 256>>>(a, n);

        k<<<96, 256>>>(a, n);

    The kernel stays as it is.
    """

    type = RuleType.GRID

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the kernels that do the same work with any number of blocks."""
        for kernel in code.kernels:
            axes = [axis for axis in ("x", "y") if takes_any_grid(code, kernel, axis)]
            choices = [one for one in self.type.kind.specials if _read(one)[1] in axes]
            if choices:
                yield Site(kernel.at, kernel.number, tuple(choices))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Change the launches; the text stays."""
        kernel = code.function_at(at)
        (field, count), axis = _read(choice)
        if kernel is None or not takes_any_grid(code, kernel, axis):
            return None
        return Rewrite((), {f"{kernel.name}.{field}.{axis}": count})


def _read(choice: str) -> tuple[tuple[str, int], str]:
    """Return the field of the shape that changes, with its value, and the axis."""
    match = _CHOICE.fullmatch(choice)
    assert match is not None, "it is a donor of this type"
    fields = [(name, match[name]) for name in ("times", "items") if match[name]]
    return (fields[0][0], int(fields[0][1])), match["axis"] or "x"
