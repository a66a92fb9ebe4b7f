"""Hardware counters under common names, and the pressure on each unit of a GPU that they tell.

Filipovic et al. 2022, "Using hardware performance counters to speed up autotuning convergence on
GPUs". Each generation of GPUs has names of its own for the counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

Counters: TypeAlias = Mapping[str, float]
"""Numbers of one configuration: the work of each unit by the unit's name, the use of each unit by
:func:`use_of` its name, and :data:`LOCAL`."""

LOCAL = "local"
"""Bytes of local memory for each thread, where spilled registers are; the compiler knows them."""


class Spelling(NamedTuple):
    """The raw counters that tell of a unit.

    Attributes:
        unit: its name.
        scale: the factor that makes the use a share from 0 to 1.
        use: the counter that says how busy the unit is.
        work: the counters whose sum is the work of the unit.
    """

    unit: str
    scale: float
    use: str
    work: tuple[str, ...]


def _spellings(table: str) -> tuple[Spelling, ...]:
    rows = (line.split() for line in table.strip().splitlines())
    return tuple(Spelling(unit, float(scale), use, tuple(w)) for unit, scale, use, *w in rows)


NEW = _spellings("""
dram .01 dram__throughput.avg.pct_of_peak_sustained_elapsed dram__sectors_read.sum dram__sectors_write.sum
l2 .01 lts__t_sectors.avg.pct_of_peak_sustained_elapsed lts__t_sectors_op_read.sum lts__t_sectors_op_write.sum
l1 .01 l1tex__t_requests_pipe_lsu_mem_global_op_ld.avg.pct_of_peak_sustained_active l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
shared .01 l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
issue .01 smsp__issue_active.avg.pct_of_peak_sustained_active smsp__inst_executed.sum
fp32 .01 smsp__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active smsp__sass_thread_inst_executed_op_fp32_pred_on.sum
fp64 .01 smsp__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active smsp__sass_thread_inst_executed_op_fp64_pred_on.sum
""")  # noqa: E501
"""The names of ncu and CUPTI from compute capability 7.0 on."""

OLD = _spellings("""
dram .1 dram_utilization dram_read_transactions dram_write_transactions
l2 .1 l2_utilization l2_read_transactions l2_write_transactions
l1 .1 tex_utilization tex_cache_transactions
shared .1 shared_utilization shared_load_transactions shared_store_transactions
issue .01 issue_slot_utilization inst_executed
fp32 .1 single_precision_fu_utilization inst_fp_32
fp64 .1 double_precision_fu_utilization inst_fp_64
""")
"""The names of CUPTI before."""

UNITS = tuple(one.unit for one in NEW)
"""The units of a GPU that can be the bottleneck."""


def use_of(unit: str) -> str:
    """Return the name of the counter that says how busy a unit is, from 0 to 1."""
    return f"{unit} use"


def common(raw: Mapping[str, float]) -> dict[str, float]:
    """Return raw counters under common names; units that they do not tell of are left out."""
    found = {}
    for unit, scale, use, work in (*NEW, *OLD):
        if raw.keys() >= {use, *work}:
            found[use_of(unit)] = raw[use] * scale
            found[unit] = sum(raw[name] for name in work)
    return found


def combined(launches: Sequence[tuple[float, Counters]]) -> dict[str, float]:
    """Return the counters of several launches together: the sum of work, the mean of uses.

    Args:
        launches: the time and the counters of each launch.
    """
    total = sum(time for time, _ in launches) or 1.0
    shared = set(launches[0][1]).intersection(*(one for _, one in launches)) if launches else ()
    uses = set(map(use_of, UNITS))
    return {
        name: sum((time / total if name in uses else 1.0) * one[name] for time, one in launches)
        for name in shared
    }


def pressures(counters: Counters) -> dict[str, float]:
    """Return how much each unit limits a kernel, from 0 to 1: how busy the unit is.

    Local memory is as much of a limit as the busiest level of the memory, where there is any.
    """
    found = {unit: counters[use_of(unit)] for unit in UNITS if use_of(unit) in counters}
    if counters.get(LOCAL):
        found[LOCAL] = max(found.get(unit, 0.0) for unit in ("dram", "l2", "l1"))
    return found
