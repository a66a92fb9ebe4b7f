"""Finding the lines of keys in TOML texts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.spec.toml_file.locate import Key, KeyLines, lines_of_keys, show_key

TEXT = '''\
# [comment]
title = "a # b"  # not a key = 1

[build]
define = { A = 1, B = "x = 2" }
list = [
  "one",  # two = 2
  "three",
]
text = """
[no.table]
key = 1
"""
other = \'\'\'
x = 1\'\'\'
last = 1

[[launch]]
"repeat" = 2
  [[launch.step]]
  kernel = "a"
  [[launch.step]]
  kernel = "b"
[[launch]]
a.b = 1
[[launch.step]]
kernel = "c"
'''


def test_lines_of_keys() -> None:
    lines = lines_of_keys(TEXT)
    assert lines == {
        (): 1,
        ("title",): 2,
        ("build",): 4,
        ("build", "define"): 5,
        ("build", "list"): 6,
        ("build", "text"): 10,
        ("build", "other"): 14,
        ("build", "last"): 16,
        ("launch",): 18,
        ("launch", 0): 18,
        ("launch", 0, "repeat"): 19,
        ("launch", 0, "step"): 20,
        ("launch", 0, "step", 0): 20,
        ("launch", 0, "step", 0, "kernel"): 21,
        ("launch", 0, "step", 1): 22,
        ("launch", 0, "step", 1, "kernel"): 23,
        ("launch", 1): 24,
        ("launch", 1, "a", "b"): 25,
        ("launch", 1, "step"): 26,
        ("launch", 1, "step", 0): 26,
        ("launch", 1, "step", 0, "kernel"): 27,
    }


def test_a_key_without_a_line_has_that_of_what_it_belongs_to() -> None:
    places = KeyLines.of(Path("x/target.toml"), TEXT)
    assert places.at(("build", "define", "A")) == "x/target.toml:5: build.define.A"
    assert places.at(("launch", 1, "grid")) == "x/target.toml:24: launch[1].grid"
    assert places.at(("nothing", 3)) == "x/target.toml:1: nothing[3]"
    assert places.at(()) == "x/target.toml:1"


def test_show_key() -> None:
    assert show_key(("parameter", 0, "values", 2)) == "parameter[0].values[2]"


NAMES = st.sampled_from(["a", "bc", "d-e", "f_1"])
VALUES = st.one_of(
    st.integers().map(str),
    st.sampled_from(["true", "1.5", "[1, 2]", "[\n  1,\n  [2]\n]", '"""\nx = 1\n[y]\n"""', "'#'"]),
    st.dictionaries(NAMES, st.integers().map(str), max_size=2).map(
        lambda items: "{" + ", ".join(f"{name} = {value}" for name, value in items.items()) + "}"
    ),
)


@given(st.lists(st.dictionaries(NAMES, VALUES), max_size=5), st.dictionaries(NAMES, VALUES))
def test_every_key_is_found_where_it_was_written(
    items: list[dict[str, str]], top: dict[str, str]
) -> None:
    text, want = "", {}
    for key, value in top.items():
        want[(key,)] = text.count("\n") + 1
        text += f"{key} = {value}\n"
    for index, item in enumerate(items):
        want.setdefault(("item",), text.count("\n") + 1)
        want["item", index] = text.count("\n") + 1
        text += "[[item]]  # one more\n"
        for key, value in item.items():
            want["item", index, key] = text.count("\n") + 1
            text += f"  {key}={value}\n"
    lines: dict[Key, int] = lines_of_keys(text)
    assert {key: line for key, line in lines.items() if key} == want
    data: dict[str, Any] = tomllib.loads(text)
    assert set(data) <= {key[0] for key in lines if key}
