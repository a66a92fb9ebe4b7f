"""The oracle of sw_tuned: passes the right answers, catches every planted fault."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.spec import CaseData, Target, find_case, load_case, load_target

from .sw_tuned_alignment import Scores, align

FOLDER = Path(__file__).parents[3] / "targets" / "sw_tuned"
NAMES = ("score", "ref_begin", "ref_end", "query_begin", "query_end")
POISON = np.int32(-0x5A5A5A5B)  # 0xA5 in every byte

Outputs = dict[str, np.ndarray]
Fault = Callable[[Outputs], Outputs]


@lru_cache(maxsize=1)
def target() -> Target:
    return load_target(FOLDER)


@lru_cache(maxsize=2)
def case(name: str = "short") -> CaseData:
    return load_case(target(), find_case(target(), name))


@lru_cache(maxsize=2)
def right(name: str = "short") -> Outputs:
    data = case(name)
    refs = np.split(data.buffers["refs"], data.buffers["ref_starts"][1:-1])
    queries = np.split(data.buffers["queries"], data.buffers["query_starts"][1:-1])
    costs = ("match", "mismatch", "gap_open", "gap_extend")
    scores = Scores(*(int(data.scalars[cost]) for cost in costs))
    found = [align(r.tolist(), q.tolist(), scores) for r, q in zip(refs, queries, strict=True)]
    return {name: np.array([getattr(one, name) for one in found], np.int32) for name in NAMES}


def penalty(outputs: Outputs) -> float:
    oracle = target().oracle
    return oracle.penalty(case().values, outputs, oracle.reference([right()]))


FAULTS: dict[str, Fault] = {}


def fault(function: Fault) -> Fault:
    FAULTS[function.__name__] = function
    return function


@fault
def score_one_more_in_the_last_pair(out):
    out["score"][-1] += 1
    return out


@fault
def score_one_less_in_the_first_pair(out):
    out["score"][0] -= 1
    return out


@fault
def score_of_the_wrong_sign(out):
    at = int(np.argmax(out["score"]))
    out["score"][at] = -out["score"][at]
    return out


@fault
def end_counted_from_one(out):
    out["ref_end"][out["score"] > 0] += 1
    return out


@fault
def end_of_one_pair_one_base_on(out):
    out["query_end"][int(np.argmax(out["score"]))] += 1
    return out


@fault
def begin_of_one_pair_one_base_early(out):
    out["ref_begin"][int(np.argmax(out["ref_begin"]))] -= 1
    return out


@fault
def begin_exclusive(out):
    out["query_begin"] -= 1
    return out


@fault
def no_match_at_zero_instead_of_minus_one(out):
    out["ref_begin"][out["score"] == 0] = 0
    return out


@fault
def no_match_at_plus_one(out):
    out["query_end"][out["score"] == 0] *= -1
    return out


@fault
def one_begin_not_written(out):
    out["query_begin"][3] = POISON
    return out


@fault
def one_end_not_written_where_nothing_matches(out):
    out["ref_end"][out["score"] == 0] = POISON
    return out


@fault
def nothing_written(out):
    return {name: np.full_like(values, POISON) for name, values in out.items()}


@fault
def reverse_kernel_not_run(out):
    out["ref_begin"][:] = POISON
    out["query_begin"][:] = POISON
    return out


@fault
def nothing_but_zeros(out):
    return {name: np.zeros_like(values) for name, values in out.items()}


@fault
def stale_answers_of_another_case(out):
    stale = right("short-turned")
    return {name: stale[name][: values.size].copy() for name, values in out.items()}


@fault
def pairs_shifted_by_one(out):
    return {name: np.roll(values, 1) for name, values in out.items()}


@fault
def two_pairs_exchanged(out):
    a, b = int(np.argmax(out["score"])), int(np.argmin(out["score"]))
    out["score"][[a, b]] = out["score"][[b, a]]
    return out


@fault
def reference_and_query_exchanged(out):
    out["ref_begin"], out["query_begin"] = out["query_begin"], out["ref_begin"]
    return out


@fault
def begin_and_end_exchanged(out):
    out["query_begin"], out["query_end"] = out["query_end"], out["query_begin"]
    return out


@fault
def last_end_of_several(out):
    """The pair that is one base throughout ends in many places with the same score."""
    ties = [i for i, pair in enumerate(pairs()) if len(set(pair[0] + pair[1])) == 1]
    at = next(i for i in ties if len(pairs()[i][0]) > len(pairs()[i][1]))
    off = len(pairs()[at][0]) - 1 - out["ref_end"][at]
    assert off > 0
    out["ref_end"][at] += off
    out["ref_begin"][at] += off
    return out


@fault
def scores_cut_to_a_byte(out):
    assert out["score"].max() > 100
    return {**out, "score": np.minimum(out["score"], 100)}


@fault
def unsigned_sixteen_bits(out):
    return {**out, "query_begin": out["query_begin"].astype(np.uint16).astype(np.int32)}


@fault
def another_type(out):
    return {**out, "score": out["score"].astype(np.int64)}


@fault
def one_answer_too_few(out):
    return {**out, "score": out["score"][:-1]}


@fault
def a_buffer_missing(out):
    del out["ref_end"]
    return out


@lru_cache(maxsize=1)
def pairs() -> list[tuple[list[int], list[int]]]:
    buffers = case().buffers
    refs = np.split(buffers["refs"], buffers["ref_starts"][1:-1])
    queries = np.split(buffers["queries"], buffers["query_starts"][1:-1])
    return [(r.tolist(), q.tolist()) for r, q in zip(refs, queries, strict=True)]


def copied() -> Outputs:
    return {name: values.copy() for name, values in right().items()}


def test_the_right_answers_cost_nothing():
    assert penalty(copied()) == 0


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_caught(name):
    assert penalty(FAULTS[name](copied())) > 0


@given(st.sampled_from(NAMES), st.integers(0, 13), st.integers(0, 31))
def test_any_single_bit_in_any_answer_counts_as_one_wrong_value(name, at, bit):
    outputs = copied()
    outputs[name].view(np.uint32)[at] ^= np.uint32(1 << bit)
    assert penalty(outputs) == 1
