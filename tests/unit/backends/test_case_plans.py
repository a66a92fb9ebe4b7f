"""Plans of a program's launches on its cases, which depend on its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.spec import find_case, load_case, load_target

TARGET = load_target(Path(__file__).parents[2] / "targets" / "scale")
CASE = TARGET.cases[0].name
NO_DEVICE: Any = None


def extents(runner: CaseRunner, **shape: int) -> tuple[Any, Any]:
    """Blocks and threads along x of the only launch."""
    values = {f"scale.{name}.x": value for name, value in shape.items()}
    defaults = {one.name: one.default for one in TARGET.parameters}
    (plan,) = runner.plans(Program(Path("k"), {**defaults, **values}, (CASE,)))
    (launch,) = plan.launches
    return launch.grid[0], launch.block[0]


def test_the_same_number_of_different_things_is_not_the_same_launch() -> None:
    """One worker runs variants with 2 items a thread, and with 2 threads for each item."""
    cases = {CASE: load_case(TARGET, find_case(TARGET, CASE))}
    runner = CaseRunner(NO_DEVICE, TARGET, cases, Path())
    blocks, threads = extents(runner)
    assert extents(runner, times=2) == (2 * blocks, threads)
    assert extents(runner, items=2) == (-(-blocks // 2), threads)
    assert extents(runner, threads=2) == (blocks * threads // 2, 2)
