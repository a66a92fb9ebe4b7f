"""Prepared data of an oracle: read back unchanged from a file, without executing anything."""

from __future__ import annotations

import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.workers.cases.prepared import UNREADABLE, load, save
from gi_cuda.spec import Oracle, Reference
from gi_cuda.spec.oracles import Exact, OutputCheck, Python, Sigma, Tolerance

RUNS = [
    {"a": np.array([1.0, np.nan, shift], np.float32), "b": np.arange(4, dtype=np.int64)}
    for shift in (2.0, 2.5, 3.0)
]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    names = [field.name for field in fields(one)]
    return type(one) is type(other) and all(
        same(getattr(one, name), getattr(other, name)) for name in names
    )


@pytest.mark.parametrize(
    "check",
    [Exact(), Tolerance(absolute=1.0), Sigma(runs=3), Python("o.py:f", 3), Python("o.py:f")],
)
def test_what_was_prepared_comes_back(check: OutputCheck, tmp_path: Path) -> None:
    prepared = Oracle((check, Exact())).reference(RUNS)
    save(tmp_path / "case", prepared)
    assert same(load(tmp_path / "case"), prepared)


def test_who_has_read_it_keeps_it_where_it_is_written_anew(tmp_path: Path) -> None:
    first, second = (Oracle((Exact(),)).reference(runs) for runs in (RUNS, RUNS[::-1]))
    save(tmp_path / "case", first)
    read = load(tmp_path / "case")
    save(tmp_path / "case", second)
    assert same(read, first)
    assert same(load(tmp_path / "case"), second)
    assert [path.name for path in tmp_path.iterdir()] == ["case"]


def test_what_cannot_be_stored_is_said(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        save(tmp_path / "case", Reference({}, (object(),)))


class Rude:
    """Does something when it is made from a pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('ran')",)


def test_a_file_that_holds_a_program_is_not_run(tmp_path: Path) -> None:
    texts = {
        "objects": '[["array", 0], [["|O", [1]]]]\n',
        "unknown": '[["Popen", {"args": ["plain", "true"]}], []]\n',
        "cut": '[["array", 0], [["<f8", [999]]]]\n',
        "words": "none\n",
        "nothing": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text + "\0" * 64 * bool(text))
    (tmp_path / "pickle").write_bytes(pickle.dumps(Rude()))
    np.savez(tmp_path / "arrays.npz", tree=np.array("[]"))
    for name in (*texts, "pickle", "arrays.npz", "absent"):
        with pytest.raises(UNREADABLE):
            load(tmp_path / name)
