"""What data.py makes is between the numbers that the host code draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gi_cuda.spec import load_case
from tests.integration.init.proposing import init, passes


def test_data_are_between_those_of_the_host_code(tmp_path: Path) -> None:
    target = init("letters.cu", tmp_path / "letters")
    for case in target.cases:
        if "host" not in case.backends:
            continue
        data = load_case(target, case).buffers
        assert (data["text"].min(), data["text"].max()) == (ord("a"), ord("z"))
        assert -2 <= data["weights"].min() < -1.5
        assert 1.5 < data["weights"].max() <= 2
        # Where it sets all of them to one number, others test more.
        assert len(np.unique(data["more"])) > 50
    made = (tmp_path / "letters" / "data.py").read_text("utf-8")
    assert made.count("# between these in the host code") == 2
    # Any other characters would be counted beside the counters.
    passes(tmp_path / "letters", tmp_path / "scratch")


PRESETS = """
struct Physics { float step = 0.125f, mass{2.5f}; int rounds = 1 << 3; float set = 1.5f, unset; };
struct Setup { Physics physics; int n = 4096; };
__global__ void move(int n, float step, float mass, int rounds, float set, float unset, float *x,
                     const float *v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < rounds; ++k) x[i] += step * v[i] / mass + set * unset;
}
class World {
 public:
  void go(Physics &own) {
    own.set = 3.25f;
    move<<<(setup_.n + 127) / 128, 128>>>(setup_.n, own.step, this->setup_.physics.mass,
                                          setup_.physics.rounds, own.set, own.unset, x_, v_);
  }

 private:
  Setup setup_;
  float *x_, *v_;
};
"""


def test_members_are_what_their_class_has_where_nothing_sets_them(tmp_path: Path) -> None:
    source = tmp_path / "move.cu"
    source.write_text(PRESETS)
    target = init(str(source), tmp_path / "t")
    (case, *_) = target.cases
    scalars = load_case(target, case).scalars
    names = ("step", "mass", "rounds", "set")
    assert [scalars[name] for name in names] == [0.125, 2.5, 8, 3.25]
    made = (tmp_path / "t" / "data.py").read_text("utf-8")
    assert made.count("# as in the host code") == len(names)
