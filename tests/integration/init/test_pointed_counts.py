"""Numbers that a kernel gets by a pointer and that say how much data there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.spec import load_case
from tests.integration.init.proposing import init, sizes

KERNEL = """
__global__ void both(const int *{name}, const int *last, const float *in, float *out) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = {read};
    if (i < n) {{
        out[i] = in[i] + last[i];
        out[i + n] = in[i + n];
    }}
}}
"""


@pytest.mark.parametrize(
    ("name", "read", "counts"),
    [
        ("d_count", "*d_count", True),
        ("numItems", "numItems[0]", True),
        ("first", "*first", False),
        ("count", "*count + count[i]", False),
    ],
)
def test_a_lone_number_that_counts(name: str, read: str, counts: bool, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(KERNEL.format(name=name, read=read))
    target = init(str(source), tmp_path / "target")
    for one in target.cases:
        if "host" in one.backends:
            case = load_case(target, one)
            assert (case.buffers[name].tolist() == [one.args["n"]]) is counts
    assert (sizes(target)[name] == "1") is counts
