"""Faults and gains planted in sw_tuned's source, as old and new texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from gi_cuda.spec import Configuration, Target, load_target, macros

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "targets" / "sw_tuned"


@lru_cache(maxsize=1)
def target() -> Target:
    return load_target(FOLDER)


FAULTS: dict[str, tuple[str, str]] = {
    "threads_one_row_short": ("k < minSize + maxSize - 1;", "k < minSize + maxSize - 2;"),
    "threads_one_row_late": ("k >= minSize - 1 &&", "k >= minSize &&"),
    "one_step_short": ("diag < minSize + maxSize - 1", "diag < minSize + maxSize - 2"),
    "first_lane_publishes": ("laneId == 31", "laneId == 0"),
    "lane_before_last_publishes": ("laneId == 31", "laneId == 30"),
    "edge_of_the_own_warp": ("edge_h[edges + warpId - 1]", "edge_h[edges + warpId]"),
    "edge_gap_not_written": ("edge_e[edges + warpId] = e;", ";"),
    "edge_not_read": ("if (laneId == 0 && warpId > 0) {", "if (false) {"),
    "spilled_one_step_late": (
        "if (diag >= maxSize) {\n            sp",
        "if (diag > maxSize) {\n sp",
    ),
    "spill_taken_but_not_written": (
        "if (diag >= maxSize) {\n                /*",
        "if (is_valid[thread_Id]) {\n                /*",
    ),
    "spill_not_written": ("spill_h[spills + thread_Id] = h;", ";"),
    "spill_of_the_own_thread": ("spill_e[spills + thread_Id - 1]", "spill_e[spills + thread_Id]"),
    "first_column_keeps_its_own": ("left_h = 0;\n                left_e = 0;", ";"),
    "diagonal_not_kept": ("diagonal_h = left_h;", ";"),
    "diagonal_is_left": ("h = max(diagonal_h + sub", "h = max(left_h + sub"),
    "not_clamped_at_zero": (
        "substitution(letter, other, scoring), 0)",
        "substitution(letter, other, scoring), -99)",
    ),
    "mismatch_of_wrong_sign": ("return -scoring.mismatch;", "return scoring.mismatch;"),
    "unknown_matches_itself": ("a == b && a != UNKNOWN", "a == b"),
    "extends_for_the_price_of_opening": ("left_e - scoring.extend", "left_e - scoring.open"),
    "opens_for_the_price_of_extending": ("h - scoring.open)", "h - scoring.extend)"),
    "no_gap_down": ("h = max(h, max(e, f));", "h = max(h, (score_t)e);"),
    "last_row_of_several": ("if (h > thread_max)", "if (h >= thread_max && h > 0)"),
    "row_counted_from_zero": ("thread_max_i = i;", "thread_max_i = i - 1;"),
    "column_of_the_step": ("thread_max_j = j;", "thread_max_j = diag;"),
    "ties_by_the_last_reference": ("return a.ref < b.ref;", "return a.ref > b.ref;"),
    "ties_by_the_last_query": ("return a.query < b.query;", "return a.query > b.query;"),
    "ties_as_they_come": ("if (a.ref != b.ref)\n        return a.ref < b.ref;", ""),
    "half_a_warp_reduced": ("int distance = WARP / 2;", "int distance = WARP / 4;"),
    "second_warp_forgotten": ("laneId < blockDim.x / WARP)", "laneId < 1)"),
    "lanes_never_voted": (
        "lanes = __ballot_sync(ALL_LANES, is_valid[thread_Id] && thread_Id < minSize);",
        ";",
    ),
    "no_second_barrier": ("#if !DOUBLE_BUFFER\n        __syncthreads();", "#if 0\n"),
    "no_barriers_in_the_loop": ("__syncthreads();\n#if LANES_BY", "\n#if LANES_BY"),
    "roles_exchanged": ("mine.ref = alongQuery ?", "mine.ref = !alongQuery ?"),
    "reverse_from_the_front": ("pair.step = -1;", "pair.step = 1;"),
    "reverse_without_the_last_base": ("pair.refSize = lastRef + 1;", "pair.refSize = lastRef;"),
    "begin_off_by_one": ("lastQuery + 1 - best.query", "lastQuery - best.query"),
    "begin_not_written": ("ref_begin[block] = lastRef + 1 - best.ref;", ""),
    "no_begin_where_nothing_matches": ("query_begin[block] = -1;", ""),
    "first_reference_for_all": ("refs + ref_starts[block];", "refs + ref_starts[0];"),
    "copy_one_short": ("k < maxSize; k +=", "k < maxSize - 1; k +="),
}

# Of the two barriers of a step a processor misses the second one at once. Without the first alone
# it is right all the same: it runs a block's warps in order, so the warp that writes has written
# before the next one reads. On a device that is a race.
BOTH_BARRIERS = (("#if !DOUBLE_BUFFER\n        __syncthreads();", "#if 0\n"),)
ALSO = {"no_barriers_in_the_loop": BOTH_BARRIERS}

SPILL_ALL = ("if (diag >= maxSize) {\n            sp", "if (is_valid[thread_Id]) {\n            sp")
TAKE_SPILLED = (
    "if (diag >= maxSize) {\n                /*",
    "if (is_valid[thread_Id]) {\n                /*",
)
EDITS: dict[str, tuple[tuple[str, str], ...]] = {
    "column_is_the_thread": (("thread_max_j = j;", "thread_max_j = thread_Id + 1;"),),
    "all_threads_spill": (SPILL_ALL,),
    "neighbours_by_shared_memory_alone": (SPILL_ALL, TAKE_SPILLED),
    "and_so_nobody_need_publish": (SPILL_ALL, TAKE_SPILLED, ("laneId == 31", "laneId == 0")),
    "no_second_look_at_who_is_valid": (
        ("if (is_valid[thread_Id] && thread_Id < minSize)", "if (lanes >> laneId & 1)"),
    ),
}


def mutant(changes: Sequence[tuple[str, str]]) -> str:
    """Return the source with the first occurrence of each text replaced."""
    text = target().source.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def fault(name: str) -> str:
    return mutant((FAULTS[name], *ALSO.get(name, ())))


def variant(text: str, configuration: Configuration) -> str:
    """Return a source under a configuration, without includes, with macros undefined at the end."""
    body = re.sub(r"^#include .*$", "", text, flags=re.M)
    names = {*re.findall(r"^#\s*define (\w+)", text, re.M), *(p.name for p in target().parameters)}
    before = (
        f"#define {name} {value}\n" for name, value in macros(target(), configuration).items()
    )
    after = (f"#undef {name}\n" for name in sorted(names))
    return "".join([*before, body, "\n", *after])
