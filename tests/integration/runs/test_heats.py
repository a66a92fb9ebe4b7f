"""Order of the best configurations: by their times on cases like the held-out ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.analyze.finalists.finalist_order import leaders
from gi_cuda.analyze.finalists.finalists import finalists, select_winner
from gi_cuda.runs.create import create_run
from gi_cuda.subject import load_subject
from tests.integration.runs.conftest import printed
from tests.integration.runs.even import PLAN, target, without_other_seeds
from tests.integration.runs.test_finalists import individual
from tests.sweeps import broad

WASTE = "<_kernel.cu_22>"
WORK = """
[[parameter]]
name = "WORK"
kind = "macro"
values = [0, 1, 2]
default = 0
"""


def sized(folder: Path) -> Path:
    """The target with two configurations that do less: one where there are as many elements as in
    the train case, the other everywhere."""
    made = target(folder, WORK)
    kernel = made / "kernel.cu"
    less = "(WORK == 1 ? (n == 4000 ? 8 : 80) : WORK == 2 ? 20 : 80)"
    text = kernel.read_text().replace("i < 80", f"i < {less}")
    kernel.write_text(
        text.replace("#define BLOCK", "#ifndef WORK\n#define WORK 0\n#endif\n#define BLOCK")
    )
    return made


@pytest.mark.usefixtures("few_processes")
def test_what_is_fastest_on_cases_like_the_held_out_ones_is_entered_first(tmp_path: Path) -> None:
    with create_run(load_subject(sized(tmp_path / "sized"), "host"), tmp_path / "run", PLAN) as run:
        individual(run, 1, "WORK=1", 0.3)
        individual(run, 2, "WORK=2", 0.34)
        assert [ident for ident, _ in finalists(run)] == [2, 1]
        assert [ident for ident, _ in leaders(run)] == [1, 2]
        individual(run, 3, WASTE, 0.1)
        assert [ident for ident, _ in leaders(run)] == [3], "the others are far behind"


FINE = """
[[parameter]]
name = "FINE"
kind = "macro"
values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
default = 0
"""


def test_the_best_with_each_value_is_entered(tmp_path: Path) -> None:
    made = target(tmp_path / "two", WORK, FINE)
    with create_run(load_subject(made, "host"), tmp_path / "run", PLAN) as run:
        for ident in range(1, 10):
            individual(run, ident, f"WORK=1 FINE={ident}", 0.3 + ident / 1000)
        individual(run, 10, "FINE=4", 0.33)
        individual(run, 11, f"WORK=1 FINE=2 {WASTE}", 0.32)
        individual(run, 12, "FINE=9", 0.34)
        individual(run, 13, "WORK=2 FINE=1", 0.35)
        individual(run, 14, "WORK=2", 0.37)
        assert [ident for ident, _ in leaders(run)] == [*range(1, 10), 10, 13]


@broad
@pytest.mark.usefixtures("few_processes")
def test_what_became_the_winner_so_is_validated_first(tmp_path: Path) -> None:
    subject, folder = load_subject(sized(tmp_path / "sized"), "host"), tmp_path / "run"
    with create_run(subject, folder, PLAN) as run:
        individual(run, 1, "WORK=1", 0.3)
        individual(run, 2, "WORK=2", 0.34)
        winner = select_winner(run)
        assert winner is not None
        assert winner.ident == 2
    assert printed("validate", folder)["accepted"] == "individual 2"


@pytest.mark.usefixtures("few_processes")
def test_without_such_cases_the_train_case_decides(tmp_path: Path) -> None:
    made = without_other_seeds(sized(tmp_path / "sized"))
    with create_run(load_subject(made, "host"), tmp_path / "run", PLAN) as run:
        individual(run, 1, "WORK=1", 0.3)
        individual(run, 2, "WORK=2", 0.34)
        assert [ident for ident, _ in finalists(run)] == [1, 2]
