"""Merging of blocks: one block does the work of several neighbours between the same barriers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gi_cuda.grammar.frontends.cuda.transforms.code import Code
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.blocks import (
    NotMerged,
    is_covered,
    read_blocks,
    returns,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.items import Run, Work
from gi_cuda.grammar.frontends.cuda.transforms.reading.shared_size import shared_bytes
from gi_cuda.grammar.frontends.cuda.transforms.writing.jammed import (
    Frame,
    Jamming,
    escaping,
    guarded,
    jammed,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import indent, newline, opening

_CHOICE = re.compile(r"merge_K(\d+)(y?)")
_SHARED_BYTES = 48 * 1024
"""Largest size of the shared memory that a kernel may declare, in bytes."""


class Merge(Family):
    """``<merge_kernel.cu_41><merge_K2>`` gives each block the work of two neighbours along x.

    Before and after::

        __shared__ float tile[16];
        int i = blockIdx.x * 16 + threadIdx.x;
        float sum = 0;
        for (int j = 0; j < m; j += 16) {
            tile[threadIdx.x] = b[j + threadIdx.x];
            __syncthreads();
            for (int t = 0; t < 16; t++)
                sum += a[i] * tile[t];
            __syncthreads();
        }
        c[i] = sum;

        __shared__ float tile[16];
        int i[2];
        float sum[2];
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            i[item] = (blockIdx.x * 2 + item) * 16 + threadIdx.x;
            sum[item] = 0;
        }
        for (int j = 0; j < m; j += 16) {
            tile[threadIdx.x] = b[j + threadIdx.x];
            __syncthreads();
            for (int t = 0; t < 16; t++) {
                #pragma unroll
                for (int item = 0; item < 2; item++) {
                    sum[item] += a[i[item]] * tile[t];
                }
            }
            __syncthreads();
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            c[i[item]] = sum[item];
        }

    The block keeps its threads, and the grid is half as wide. Shared memory whose content depends
    on the number of the block is there twice. An item whose thread would have returned sits out
    what follows.

    Where no limit guards the accesses of blocks beyond the grid, as here, the grid stays, and
    blocks without work return at once. An item that is no block does the work of the last one,
    ``min(blockIdx.x * 2 + item, gridDim.x - 1)``, but for what changes memory: that begins with
    ``if (blockIdx.x * 2 + item >= gridDim.x) continue;``.
    """

    type = RuleType.MERGE

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Put loops over the blocks between the barriers that they share."""
        kernel, match = code.function_at(at), _CHOICE.fullmatch(choice)
        assert match is not None, "it is a donor of this type"
        count, axis = int(match[1]), match[2] or "x"
        if kernel is None:
            return None
        try:
            work = read_blocks(code, kernel, axis)
        except NotMerged:
            return None
        if shared_bytes(code, kernel, escaping(code, work), count) > _SHARED_BYTES:
            return None
        item, gone = (fresh(one, code, kernel) for one in ("item", "gone"))
        marked = any(_leaves(one) for one in work.runs[:-1])
        covered, first = is_covered(code, kernel, work, axis), f"{work.name} * {count}"
        last, beyond = f"gridDim.{axis} - 1", f"{first} + {item} >= gridDim.{axis}"
        texts = {
            work.name: f"({first} + {item})" if covered else f"min({first} + {item}, {last})",
            "return": f"{{ {gone} |= 1u << {item}; continue; }}" if marked else "continue;",
        }
        outside = [beyond if one and not covered else "" for one in guarded(code, work)]
        frames = _frames(work, f"{gone} >> {item} & 1", f"{gone} == {2**count - 1}", outside)
        splices = jammed(Jamming(code, kernel, item, count, texts), work, frames)
        if splices is None:
            return None
        at = work.statements[0].start_byte
        gap = newline(code.text, at) + indent(code.text, at)
        begin = "" if covered else f"if ({first} >= gridDim.{axis}) return;{gap}"
        begin += f"unsigned {gone} = 0;{gap}" if marked else ""
        splices += [opening(at, at, begin)] if begin else []
        shape = {f"{kernel.name}.items.{axis}": count} if covered else {}
        return Rewrite(tuple(splices), shape)


def _frames(work: Work, gone: str, all_gone: str, outside: Sequence[str]) -> list[Frame]:
    """Return the statements by which items that have returned, or are no blocks, do nothing.

    Args:
        gone: the condition that an item has returned.
        all_gone: the condition that all have.
        outside: for each run, the condition that an item is no block; "" where that is no matter.
    """
    frames, begun = [], False
    for run, other in zip(work.runs, outside, strict=True):
        conditions = " || ".join(filter(None, [gone if begun else "", other]))
        first = f"if ({conditions}) continue;" if conditions else ""
        leaves = _leaves(run) and run != work.runs[-1]
        frames.append(Frame(first, f"if ({all_gone}) return;" if leaves else ""))
        begun = begun or leaves
    return frames


def _leaves(run: Run) -> bool:
    """Tell whether an item may return in a run."""
    return any(next(returns(one), None) is not None for one in run.statements)
