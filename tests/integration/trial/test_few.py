"""Outputs of which nothing says how large they are, and that have a few items."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.init import files
from gi_cuda.trial import Attempts, Outcome
from gi_cuda.trial.few import with_few_items
from gi_cuda.trial.troubles import Unjudged
from tests.sweeps import broad

from .conftest import INDEX, sizes

SUMS = """
__global__ void k(const float *a, float *b, int n) {
  __shared__ float part[128];
  float sum = 0;
  for (int i = START; i < n; i += STEP) sum += a[i];
  part[threadIdx.x] = sum;
  for (int left = 64; left > 0; left /= 2) {
    __syncthreads();
    if (threadIdx.x < left) part[threadIdx.x] += part[threadIdx.x + left];
  }
  if (threadIdx.x == 0) b[blockIdx.x] = part[0];
}
void run(const float *a, float *b, int n) { k<<<BLOCKS, 128>>>(a, b, n); }
"""

OF_EACH = SUMS.replace("START", "threadIdx.x + 128 * blockIdx.x").replace("STEP", "n")


BY_THREADS = SUMS.replace("START", "threadIdx.x").replace("STEP", "128").replace("BLOCKS", "6")
ALL = (
    f"__global__ void k(const float *a, float *b, int n) {{ {INDEX} if (i < n) b[i] = a[i]; }}"
    "void run(float *a, float *b, int n) { k<<<(n + 127) / 128, 128>>>(a, b, n); }"
)


@pytest.mark.parametrize(
    ("source", "items"),
    [
        pytest.param(BY_THREADS, "6", marks=broad, id="a number"),
        pytest.param(
            OF_EACH.replace("BLOCKS", "(n + 127) / 128"), "(n + 127) / 128", id="for each block"
        ),
        pytest.param(ALL, "n", marks=broad, id="all"),
    ],
)
def test_an_output_has_as_many_items_as_the_kernel_writes(
    source: str, items: str, trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    outcome = trial(source)
    assert sizes(outcome.proposal) == {"a": "n", "b": "n"}
    attempt = Attempts(tmp_path / "attempts" / "few", 1, None).attempt
    found = with_few_items(outcome, attempt, math.inf)
    assert sizes(found.proposal) == {"a": "n", "b": items}
    if items != "n":
        assert "as far as the kernel goes" in files(found.proposal, tmp_path)["target.toml"]
    assert with_few_items(outcome, lambda *_: Unjudged(), math.inf) == outcome


@broad
def test_an_output_stays_where_data_may_say_how_far_the_kernel_goes(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    outcome = trial(
        "__global__ void k(const int *a, float *b, int n) {"
        f" {INDEX} if (i < n) atomicAdd(b + a[i] % 8, 1.f); }}"
        "void run(int *a, float *b, int n) { k<<<(n + 127) / 128, 128>>>(a, b, n); }"
    )
    assert outcome.passes, outcome.trouble
    attempt = Attempts(tmp_path / "attempts" / "few", 1, None).attempt
    assert with_few_items(outcome, attempt, math.inf) == outcome
