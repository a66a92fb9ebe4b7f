"""Second cases of each role."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.init import Proposal, from_options, propose
from gi_cuda.init.proposing.cases import Second, second_of
from gi_cuda.trial import Outcome
from gi_cuda.trial.second import with_second_cases
from gi_cuda.trial.troubles import Brief

SOURCE = """
__global__ void k(float *a, const float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 2 * b[i];
}
"""


@pytest.mark.parametrize("brief", [0.0, 47e-6])
def test_there_is_one_where_a_launch_is_hardly_long_enough(brief: float, tmp_path: Path) -> None:
    """The first case is timed once more beside the second one, and then takes long enough."""
    source = tmp_path / "k.cu"
    source.write_text(SOURCE)
    proposal = replace(propose(source, None, from_options((), ())), second=Second.NONE)

    def attempt(tried: Proposal, patience: float) -> Brief | None:
        return Brief(49e-6) if tried.second is not Second.NONE else None

    outcome = Outcome(proposal, None, brief=brief)
    found = with_second_cases(outcome, attempt).proposal.second
    assert found is (second_of(proposal.extents) if brief else Second.SAME)
