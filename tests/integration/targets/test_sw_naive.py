"""sw_naive: every configuration is right, faults are caught, what is superfluous can go."""

import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.spec import CaseData, CaseRole, Configuration, cases_for, find_case, load_case, plan
from gi_cuda.subject import Subject, load_subject
from tests.sweeps import broad
from tests.unit.targets.sw_naive_alignment import trace
from tests.unit.targets.sw_tuned_alignment import Scores

from .batches import (
    Built,
    Outputs,
    built,
    compiled_for_the_device,
    configurations,
    outputs,
    outputs_apart,
    penalty_of,
    phenotypes,
    replaced,
)

FOLDER = Path(__file__).parents[3] / "targets" / "sw_naive"
COSTS = ("match", "mismatch", "gap_open", "gap_extend")

# Faults as edits might make them: what is replaced, and by what.
FAULTS = {
    "unknown bases match": ("a == UNKNOWN || b == UNKNOWN", "false"),
    "ties go to the last row": ("row < other_row)", "row > other_row)"),
    "ties go to the last column": ("column < other_column)", "column > other_column)"),
    "scores of the wrong pair": (
        "most_query);\n    uint8_t *pair_moves",
        "0);\n    uint8_t *pair_moves",
    ),
    "diagonals overlap": ("score_t *e_now = h_before + width;", "score_t *e_now = h_before + 1;"),
    "too much shared memory": ("f_now + width;", "f_now + 999 * width;"),
    "diagonals are not cleared": ("        h_last[k] = 0;\n", ""),
    "the last diagonal is left out": ("diagonal <= rows + columns", "diagonal < rows + columns"),
    "the last row is left out": ("row <= rows && column >= 1", "row < rows && column >= 1"),
    "rows beyond the last": (" && row <= rows && column >= 1", " && column >= 1"),
    "columns beyond the last": ("column >= 1 && column <= columns)", "column >= 1)"),
    "gaps of the own column": ("e_last[column - 1] - gap_extend > e", "e_last[column] > e"),
    "gaps never go on": ("gaps = gaps | LEFT_GOES_ON;", ""),
    "gaps in the query never end": ("gaps = gaps | UP_GOES_ON;", "gaps = LEFT_GOES_ON;"),
    "the way of a pair is not noted": ("move = FROM_PAIR;", ""),
    "left is up": ("move = FROM_LEFT;", "move = FROM_UP;"),
    "scores are not noted": (
        "            pair_cells[place(row, column, most_query)] = h;\n",
        "",
    ),
    "ways are not noted": ("most_query)] = move | gaps;", "most_query)] = gaps;"),
    "two diagonals at once": (
        "        if (column <= columns)\n            h_before[column] = h_last[column];\n",
        "",
    ),
    "the diagonal is not kept": ("            h_last[column] = h_now[column];\n", ""),
    "some threads do not wait": (
        "            h_before[column] = h_last[column];\n        __syncthreads();",
        "            h_before[column] = h_last[column];\n        else\n        __syncthreads();",
    ),
    "half a warp is asked": ("distance = WARP / 2", "distance = WARP / 4"),
    "one warp is asked": ("candidates = threads / WARP;", "candidates = 1;"),
    "it never ends": ("diagonal <= rows + columns; diagonal++", "true; "),
    "a path without end": ("            column = column - 1;\n            steps++;", ""),
    "a path goes on to the edge": ("                break;\n", "                state = 0;\n"),
    "pairs beyond the last": ("    if (pair >= n_pairs)\n        return;\n", ""),
    "unequal bases are counted": ("if (a == b && a != UNKNOWN)\n                    ", ""),
}

# What a search may find: all of it is right, some of it also on a device.
SUPERFLUOUS = {
    "two of three are not cleared for the next diagonal": (
        "            h_now[column] = 0;\n            e_now[column] = 0;\n",
        "",
    ),
    "no barrier after it": (
        "            f_now[column] = 0;\n        }\n        __syncthreads();",
        "            f_now[column] = 0;\n        }",
    ),
    "no barrier between the copies": (
        "            h_before[column] = h_last[column];\n        __syncthreads();",
        "            h_before[column] = h_last[column];",
    ),
    "ways are not cleared": ("        pair_moves[k] = FROM_NOWHERE;", "        ;"),
    "the edge is not set": ("        pair_cells[place(0, k, most_query)] = 0;", "        ;"),
    "no barrier after the letters": (
        "query_letters[thread] = LOAD(query + thread);\n    __syncthreads();",
        "query_letters[thread] = LOAD(query + thread);",
    ),
    "a thread has always a column": ("column >= 1 && column <= columns)", "column <= columns)"),
    "no barrier at the end": (
        "column_of_best - 1;\n    }\n    __syncthreads();",
        "column_of_best - 1;\n    }",
    ),
    "ties of one column": (
        "if (better(h, row, column, best, row_of_best, column_of_best)) {",
        "if (h > best) {",
    ),
}


@cache
def subject() -> Subject:
    return load_subject(FOLDER, "host")


@cache
def case_of(name: str) -> CaseData:
    return load_case(subject().target, find_case(subject().target, name))


@cache
def expected(name: str) -> Outputs:
    """Return the answers of the alignment in plain Python."""
    case = case_of(name).values
    scores = Scores(*(int(case[cost]) for cost in COSTS))
    refs = np.split(case["refs"], case["ref_starts"][1:-1])
    queries = np.split(case["queries"], case["query_starts"][1:-1])
    found = [trace(r.tolist(), q.tolist(), scores)[0] for r, q in zip(refs, queries, strict=True)]
    names = found[0]._fields
    return {name: np.array([getattr(one, name) for one in found], np.int32) for name in names}


def penalty(name: str, answers: Outputs | str) -> float:
    return penalty_of(subject(), case_of(name), answers, expected(name))


def every_configuration() -> list[Configuration]:
    """All but for the block of sw_trace, which takes turns."""
    names = ("SHORT_SCORES", "STAGE_LETTERS", "BY_DIAGONAL", "SHUFFLE_BEST")
    default = subject().original.configuration
    return [
        {**default, **dict(zip(names, chosen, strict=True)), "TRACE_BLOCK": 32 << number % 4}
        for number, chosen in enumerate(itertools.product((0, 1), repeat=4))
    ]


def edited(changes: Sequence[tuple[str, str]]) -> list[tuple[Configuration, str]]:
    default, source = subject().original.configuration, subject().reference
    return [(default, replaced(source, *change)) for change in changes]


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> list[Built]:
    variants = [(one, subject().reference) for one in every_configuration()]
    return built(subject(), variants, tmp_path_factory.mktemp("configured"), "-O0")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> list[Built]:
    """Return variants with each fault, then variants without each superfluous part."""
    variants = edited([*FAULTS.values(), *SUPERFLUOUS.values()])
    return built(subject(), variants, tmp_path_factory.mktemp("changed"), "-O0")


@pytest.mark.parametrize("name", ["short", "short-turned", "short-long"])
def test_every_configuration_gives_the_right_answers(configured: list[Built], name: str):
    found = outputs(subject(), configured, case_of(name))
    wrong = [
        dict(one) for (one, _), row in zip(configured, found, strict=True) if penalty(name, row)
    ]
    assert wrong == []


@broad
def test_faults_in_the_source_are_caught_by_the_train_case(changed: list[Built]):
    found = outputs_apart(subject(), changed[: len(FAULTS)], case_of("short"))
    passed = [name for name, row in zip(FAULTS, found, strict=True) if not penalty("short", row)]
    assert passed == []


def test_what_is_superfluous_can_go(changed: list[Built]):
    found = outputs_apart(subject(), changed[len(FAULTS) :], case_of("short"))
    wrong = [name for name, row in zip(SUPERFLUOUS, found, strict=True) if penalty("short", row)]
    assert wrong == []


def test_configurations_differ_in_code():
    chosen = configurations(subject())
    assert phenotypes(subject(), chosen) == len(chosen)


@broad
def test_configurations_compile_for_the_device(toolkit: Toolkit, tmp_path: Path):
    chosen = every_configuration()
    some = [chosen[0], chosen[-1], {**chosen[0], "USE_LDG": True, "REGISTERS": 32}]
    assert compiled_for_the_device(FOLDER, some, toolkit, tmp_path) == []


def test_cases_for_the_device_keep_the_limits_of_the_kernels():
    target = subject().target
    train, odd = cases_for(target, "cuda", CaseRole.TRAIN)
    assert not odd.timed
    held_out = cases_for(target, "cuda", CaseRole.HELD_OUT)
    assert len(held_out) == 2
    for case in (train, odd, *held_out):
        loaded = load_case(target, case)
        fill, _ = plan(target, subject().original.configuration, loaded.scalars)
        assert fill.grid[0] >= 400 or not case.timed
        assert fill.block[0] <= 512
        # A score fits into 16 bits.
        assert loaded.scalars["match"] * loaded.scalars["most_query"] < 2**15
