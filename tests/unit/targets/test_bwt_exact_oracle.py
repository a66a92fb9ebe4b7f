"""The penalty of bwt_exact: 0 for the right answers, more for every planted fault."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

FOLDER = Path(__file__).parents[3] / "targets" / "bwt_exact"
READS = 300


def load(name: str) -> SimpleNamespace:
    path = FOLDER / f"{name}.py"
    names = {"__name__": name, "__file__": str(path)}
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    return SimpleNamespace(**names)


data, oracle = load("data"), load("oracle")
Outputs = dict[str, np.ndarray]


@lru_cache(maxsize=4)
def case_of(seed: int) -> dict:
    return data.case(seed=seed, reads=READS, wrap=2000)


@lru_cache(maxsize=4)
def right(seed: int = 1) -> Outputs:
    return oracle.answers(case_of(seed))


def penalty(outputs: Outputs) -> float:
    return oracle.penalty(case_of(1), outputs, right())


def answers_where(kind: str) -> np.ndarray:
    """Numbers of the answers of one kind."""
    k, l = (right()[name].astype(int) for name in ("k_out", "l_out"))  # noqa: E741
    codes = case_of(1)["reads4"].view(np.uint8).reshape(READS, -1)
    unknown = np.tile((codes == data.UNKNOWN).any(axis=1), 2)
    kinds = {"unknown": unknown, "none": (k > l) & ~unknown, "unique": k == l, "several": k < l}
    return np.flatnonzero(kinds[kind])


def copied(k: np.ndarray, l: np.ndarray) -> Outputs:  # noqa: E741
    return {"k_out": k.astype(np.uint32), "l_out": l.astype(np.uint32)}


Fault = Callable[[np.ndarray, np.ndarray], Outputs]
FAULTS: dict[str, Fault] = {}


def fault(function: Fault) -> Fault:
    FAULTS[function.__name__] = function
    return function


def change(kind: str, k: np.ndarray, l: np.ndarray, dk: int, dl: int) -> Outputs:  # noqa: E741
    """One answer of a kind changed."""
    at = answers_where(kind)[-1]
    k[at] += dk
    l[at] += dl
    return copied(k, l)


@fault
def unique_k_one_less(k, l):  # noqa: E741
    return change("unique", k, l, -1, 0)


@fault
def unique_l_one_more(k, l):  # noqa: E741
    return change("unique", k, l, 0, 1)


@fault
def unique_one_row_on(k, l):  # noqa: E741
    return change("unique", k, l, 1, 1)


@fault
def unique_not_found(k, l):  # noqa: E741
    return change("unique", k, l, 1, 0)


@fault
def several_cut_to_the_first(k, l):  # noqa: E741
    at = answers_where("several")[0]
    l[at] = k[at]
    return copied(k, l)


@fault
def several_cut_at_the_front(k, l):  # noqa: E741
    return change("several", k, l, 1, 0)


@fault
def several_one_too_many(k, l):  # noqa: E741
    return change("several", k, l, 0, 1)


@fault
def several_not_found(k, l):  # noqa: E741
    at = answers_where("several")[0]
    k[at], l[at] = l[at], k[at]
    return copied(k, l)


@fault
def none_found_once(k, l):  # noqa: E741
    at = answers_where("none")[0]
    k[at] = l[at] = 17
    return copied(k, l)


@fault
def none_found_everywhere(k, l):  # noqa: E741
    at = answers_where("none")[0]
    k[at], l[at] = 0, 48502
    return copied(k, l)


@fault
def unknown_base_matched(k, l):  # noqa: E741
    at = answers_where("unknown")[0]
    k[at] = l[at] = 1234
    return copied(k, l)


@fault
def unknown_base_answers_row_zero(k, l):  # noqa: E741
    at = answers_where("unknown")[-1]
    k[at] = l[at] = 0
    return copied(k, l)


@fault
def nothing_written(k, l):  # noqa: E741
    return copied(np.full_like(k, 0xA5A5A5A5), np.full_like(l, 0xA5A5A5A5))


@fault
def all_bits_set(k, l):  # noqa: E741
    return copied(np.full_like(k, 0xFFFFFFFF), np.full_like(l, 0xFFFFFFFF))


@fault
def one_k_not_written_where_none_matches(k, l):  # noqa: E741
    k[answers_where("none")[3]] = 0xCDCDCDCD
    return copied(k, l)


@fault
def one_l_not_written_where_none_matches(k, l):  # noqa: E741
    l[answers_where("none")[3]] = 0xCDCDCDCD
    return copied(k, l)


@fault
def one_l_not_written_where_one_matches(k, l):  # noqa: E741
    l[answers_where("unique")[3]] = 0xCDCDCDCD
    return copied(k, l)


@fault
def last_read_not_written(k, l):  # noqa: E741
    k[-1] = l[-1] = 0xA5A5A5A5
    return copied(k, l)


@fault
def l_minus_one_at_a_match(k, l):  # noqa: E741
    return change("unique", k, l, 0, -1)


@fault
def l_is_minus_one_where_none_matches(k, l):  # noqa: E741
    l[answers_where("none")[0]] = -1
    return copied(k, l)


@fault
def stale_outputs_of_other_reads(k, l):  # noqa: E741
    return right(seed=2)


@fault
def strands_swapped(k, l):  # noqa: E741
    return copied(np.roll(k, READS), np.roll(l, READS))


@fault
def only_one_strand(k, l):  # noqa: E741
    k[READS:], l[READS:] = 1, 0
    return copied(k, l)


@fault
def reads_shifted_by_one(k, l):  # noqa: E741
    return copied(np.roll(k, 1), np.roll(l, 1))


@fault
def k_and_l_swapped(k, l):  # noqa: E741
    return copied(l, k)


@fault
def never_a_match(k, l):  # noqa: E741
    return copied(np.full_like(k, 1), np.zeros_like(l))


@fault
def rows_without_the_end_mark(k, l):  # noqa: E741
    found = k <= l
    return copied(np.where(found, k - 1, k), np.where(found, l - 1, l))


def test_there_are_answers_of_every_kind():
    assert all(len(answers_where(kind)) > 3 for kind in ("unknown", "none", "unique", "several"))


def test_the_right_answers_cost_nothing():
    assert penalty(right()) == 0.0


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_caught(name):
    k, l = (right()[name].astype(np.int64) for name in ("k_out", "l_out"))  # noqa: E741
    assert penalty(FAULTS[name](k, l)) > 0


def test_no_match_may_be_said_in_any_way():
    k, l = (right()[name].copy() for name in ("k_out", "l_out"))  # noqa: E741
    k[k > l], l[right()["k_out"] > l] = 50502, 311
    assert penalty(copied(k, l)) == 0.0


@given(st.sets(st.integers(0, 2 * READS - 1), max_size=40), st.integers(1, 2**32 - 1))
def test_penalty_is_the_number_of_wrong_answers_and_less_than_one_for_each(places, off):
    k, l = (right()[name].copy() for name in ("k_out", "l_out"))  # noqa: E741
    wrong = np.array(sorted(places), int)
    k[wrong] = l[wrong] = (l[wrong].astype(np.int64) + off) % 2**32
    changed = np.count_nonzero((k != right()["k_out"]) | (l != right()["l_out"]))
    assert changed <= penalty(copied(k, l)) <= 2 * changed
    assert len(places) == changed


def test_further_off_costs_more():
    at = answers_where("unique")[0]
    costs = []
    for off in (1, 2, 50, 3000):
        k, l = (right()[name].astype(np.int64) for name in ("k_out", "l_out"))  # noqa: E741
        k[at] += off * (1 if k[at] < 40000 else -1)
        costs.append(penalty(copied(k, l)))
    assert costs == sorted(set(costs))


def test_a_reference_that_matches_an_unknown_base_does_not_pass():
    wrong = {name: values.copy() for name, values in right().items()}
    at = answers_where("unknown")[0]
    wrong["k_out"][at] = wrong["l_out"][at] = 7
    assert oracle.penalty(case_of(1), wrong, wrong) > 0


def test_the_reason_names_the_first_wrong_answer():
    k, l = (right()[name].copy() for name in ("k_out", "l_out"))  # noqa: E741
    at = int(answers_where("unique")[-1])
    want = int(k[at])
    k[at] -= 1
    _, reason = oracle.judge(case_of(1), copied(k, l), right())
    strand, read = divmod(at, READS)
    assert "1 of 600" in reason
    assert f"read {read} on strand {strand}: {want - 1}..{want}, not {want}..{want}" in reason
