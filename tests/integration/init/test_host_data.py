"""Data of data.py lie in the range of the random numbers of the host code."""

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
