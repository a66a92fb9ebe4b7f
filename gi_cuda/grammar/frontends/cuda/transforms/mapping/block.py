"""Transformation of the size and shape of blocks.

It applies to kernels that use the launch geometry only in global indices, or that use the block
only in loops in which all threads take turns.
"""

from __future__ import annotations

from collections.abc import Iterator

from gi_cuda.grammar.frontends.cuda.transforms.code import AXES, Code, Function
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import indices, shape_along
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.turns import takes_turns
from gi_cuda.grammar.rule_types import RuleType


class Block(Family):
    """``<block_kernel.cu_41><block_K256>`` launches the kernel with blocks of 256 threads.

    The kernel stays as it is. The grid follows from the block, so that there are as many threads as
    before along each axis. A kernel that compares its index may have up to a block more. For any
    other kernel, whole new blocks have to make up an old one: four of 64 threads one of 256.

    Where the threads of a block take turns at its work, ``for (int i = threadIdx.x; i < n; i +=
    blockDim.x)``, the grid stays, and the block may be a part of what it was.
    """

    type = RuleType.BLOCK

    def sites(self, code: Code) -> Iterator[Site]:
        """Return a site for each kernel whose block may have any shape."""
        for kernel in code.kernels:
            axes = _axes(code, kernel) or AXES[: takes_turns(code, kernel)]
            if axes:
                choices = [one for one in self.type.kind.specials if len(shape(one)) == len(axes)]
                yield Site(kernel.at, kernel.number, tuple(choices))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Change the block of the launches; the text stays."""
        kernel = code.function_at(at)
        if kernel is None:
            return None
        threads = dict(zip(AXES, shape(choice), strict=False))
        if len(threads) == 1 and takes_turns(code, kernel):
            return Rewrite(
                (), {f"{kernel.name}.threads.x": threads["x"], f"{kernel.name}.kept.x": 1}
            )
        if len(_axes(code, kernel)) != len(threads):
            return None
        return Rewrite((), shape_along(code, kernel, "threads", threads))


def shape(choice: str) -> tuple[int, ...]:
    """Return the threads along x, y and z of a choice such as ``block_K32x8``."""
    return tuple(int(count) for count in choice.rpartition("K")[2].split("x"))


def _axes(code: Code, kernel: Function) -> tuple[str, ...]:
    """Return the axes of a kernel whose block may have any shape; none if it may not."""
    if not code.alone(kernel, conditional=True):
        return ()
    found = indices(code, kernel)
    axes = found.axes()
    return axes if found.plain and axes == AXES[: len(axes)] else ()
