"""Counters of configurations that a stand-in for ncu reports while it runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.analyze.profiling import METRICS, counters_of, read_ncu
from gi_cuda.errors import UserError
from gi_cuda.runs.tools import Tools
from gi_cuda.subject import Subject
from gi_cuda.tune.counters import UNITS, use_of
from gi_cuda.tune.grid import Grid

HEAD = '"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"'

ROW = '"\'"$id"\'","1","scale","","{}","","1,024.5"'

RUNS = f"""#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
log=$2; shift 2
"$@" || exit
echo '==PROF== Connected to process 1' > "$log"
echo '{HEAD}' >> "$log"
for id in 0 1; do
{"".join(f"echo '{ROW.format(name)}' >> $log;" for name in METRICS)}
done
"""

FAILS = """#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' > "$2"
exit 1
"""


def ncu(folder: Path, text: str) -> Path:
    path = folder / "ncu"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_configurations_run_under_ncu_and_its_counters_are_read(
    scale: Subject, scale_tools: Tools, tmp_path: Path
) -> None:
    grid = Grid.of_space(scale.space)
    some = [scale.space.chosen(grid.configuration(point)) for point in list(grid.each())[:2]]
    told: list[str] = []
    found = list(counters_of(scale_tools, ncu(tmp_path, RUNS), some, told.append))
    assert [configuration for configuration, _ in found] == some
    for _, counters in found:
        assert counters["issue"] == 2 * 1024.5  # two launches
        assert counters["dram"] == 4 * 1024.5
        assert counters[use_of("issue")] == pytest.approx(10.245)
        assert counters.keys() == {*UNITS, *map(use_of, UNITS), "local"}
    assert told[-1] == "profiling configuration 2 of 2"


def test_what_ncu_says_is_told_where_it_reads_nothing(
    scale: Subject, scale_tools: Tools, tmp_path: Path
) -> None:
    some = [scale.space.default]
    with pytest.raises(UserError, match="no configuration has counters: ==ERROR== ERR_NVGPUCTRP"):
        list(counters_of(scale_tools, ncu(tmp_path, FAILS), some, lambda step: None))


def test_what_a_gpu_does_not_count_is_left_out() -> None:
    names = ("smsp__issue_active.avg.pct_of_peak_sustained_active", "smsp__inst_executed.sum")
    pairs = zip(names, ("50", "7"), strict=True)
    rows = [f'"0","1","k","","{name}","","{value}"' for name, value in pairs]
    rows.append('"0","1","k","","dram__sectors_read.sum","","n/a"')
    assert read_ncu("\n".join(["==PROF== said", HEAD, *rows])) == {"issue": 7.0, "issue use": 0.5}
    assert read_ncu("==WARNING== No kernels were profiled.") == {}
