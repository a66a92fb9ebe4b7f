"""``gi-cuda init`` on structs: what their members hold, by value and in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.init import files, from_options, propose, write_folder
from gi_cuda.spec import load_case, load_target
from gi_cuda.trial import Attempts, mended
from tests.integration.init.proposing import passes
from tests.integration.init.test_init import init, roles, sizes
from tests.sweeps import broad

WRITTEN = """
    struct Item { float *values; int count; float last; };
    __global__ void step(Item *items, int n, int m) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      items[i].count++;
      for (int j = 0; j < m; j++) items[i].values[i * m + j] += 1;
      items[i].last = items[i].values[i * m];
      if (i % 3 == 0) items[i].values += 1;
    }"""


@broad
def test_structs_with_addresses_may_be_written(tmp_path: Path) -> None:
    source, folder = tmp_path / "k.cu", tmp_path / "target"
    source.write_text(WRITTEN)
    attempts = Attempts(tmp_path, 1, None)
    outcome = mended(propose(source, None, from_options((), ())), attempts.attempt, 60)
    assert outcome.passes, outcome.trouble
    write_folder(folder, files(outcome.proposal, folder))
    target = load_target(folder)
    assert roles(target) == {"items": "inout", "items_values": "inout"}
    assert target.buffers[0].addresses == {"items_values": 0}
    # In a worker of its own each time: buffers lie elsewhere, and the answers are the same.
    passes(folder, tmp_path / "run")


@broad
def test_structs_with_addresses_that_are_written_pass(tmp_path: Path) -> None:
    """Only here do all steps of a trial run on a target whose buffers hold addresses: other data,
    sizes for a GPU, buffers as they were, second cases."""
    source, folder = tmp_path / "k.cu", tmp_path / "target"
    source.write_text(WRITTEN)
    words = ["init", str(source), "-o", str(folder)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert "it ran on the host back end, and passes" in done.output
    target = load_target(folder)
    assert roles(target) == {"items": "inout", "items_values": "inout"}
    assert target.buffers[0].addresses == {"items_values": 0}
    passes(folder, tmp_path / "run")


BY_VALUE = """
struct Params { float dt; int num_particles, max_neighbors; };
__global__ void step(float4 *at, const float4 *speed, Params p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.num_particles) return;
  at[i].x += speed[i].x * p.dt;
  for (int k = 0; k < p.max_neighbors; k++) at[i].y += k;
}
int main(int argc, char **argv) {
  int N = atoi(argv[1]);
  Params p;
  p.num_particles = N; p.dt = 0.1f; p.max_neighbors = 32;
  float4 *at, *speed;
  cudaMalloc(&at, N * sizeof(float4));
  cudaMalloc(&speed, N * sizeof(float4));
  step<<<(N + 255) / 256, 256>>>(at, speed, p);
}
"""


def test_members_are_what_host_code_sets_them_to(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(BY_VALUE)
    target = init(str(source), tmp_path / "t")
    (step,) = target.launches[0].steps
    assert [e.text for e in step.grid] == ["(p_num_particles + 255) / 256"]
    assert sizes(target) == {"at": "p_num_particles * 4", "speed": "p_num_particles * 4"}
    case = next(one for one in target.cases if "host" in one.backends)
    found = load_case(target, case).scalars
    assert case.args.keys() == {"seed", "p_num_particles"}
    assert (found["p_max_neighbors"], found["p_dt"]) == (32, np.float32(0.1))
