"""Text of a target for a kernel that computes ``out[i]`` from ``in[i]``."""

from __future__ import annotations

_TARGET = """\
[target]
name = "{kernel}"
source = "{kernel}.cu"
kernels = ["{kernel}"]
data = "data.py"
[[buffer]]
name = "in"
type = "float32"
size = "n"
role = "input"
[[buffer]]
name = "out"
type = "float32"
size = "n"
role = "output"
[[scalar]]
name = "n"
type = "int32"
[[launch]]
kernel = "{kernel}"
grid = ["(n + {block} - 1) / {block}"]
block = ["{block}"]
args = ["in", "out", "n"]
[[oracle]]
{oracle}
[[case]]
name = "train"
role = "train"
args = {{ {train} }}
[[case]]
name = "held-out"
role = "held-out"
args = {{ {held_out} }}
"""


def elementwise_target(
    kernel: str, *, block: int, train: str, held_out: str, oracle: str = 'kind = "exact"'
) -> str:
    """Return the text of ``target.toml``.

    Args:
        kernel: its name; ``KERNEL.cu`` is its source, and it takes ``in``, ``out`` and ``n``.
        block: threads of a block.
        train, held_out: arguments of the two cases: ``n = 100``.
        oracle: lines of its table.
    """
    return _TARGET.format(kernel=kernel, block=block, train=train, held_out=held_out, oracle=oracle)
