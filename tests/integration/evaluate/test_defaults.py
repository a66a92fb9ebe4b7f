"""Parameter defaults that differ from the source are found; others cause no message."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.backends.table import open_compiler
from gi_cuda.errors import UserError
from gi_cuda.evaluate.checks.parameters.defaults import MacroOwners, check_defaults
from gi_cuda.evaluate.checks.parameters.effects import read_effects
from gi_cuda.subject import Subject
from tests.integration.evaluate.conftest import Make, parameter

TIMES = parameter("TIMES", "[1, 2, 4]", 4)
GUARDED = "#ifndef TIMES\n#define TIMES {}\n#endif"
SWITCHED = GUARDED.format(4) + "\n#ifdef FAST\n#define EXTRA + 1\n#else\n#define EXTRA\n#endif"
BUILD = "\n[build]\ndefine = {{ {} }}\n"
WITH_EXTRA = """
__global__ void fill(const float *in, float *out, int n) { out[0] = in[0] * TIMES EXTRA; }
"""


def standing(subject: Subject) -> MacroOwners:
    return check_defaults(subject, open_compiler(subject, 1))


@pytest.mark.parametrize(
    ("head", "own", "given"),
    [
        (GUARDED.format(4), {"TIMES"}, set()),
        (GUARDED.format("(1 << 2)"), {"TIMES"}, set()),
        ("#define TIMES 4", {"TIMES"}, set()),
        ("#if 0\n#define TIMES 2\n#else\n#define TIMES 4\n#endif", {"TIMES"}, set()),
        ("", set(), {"TIMES"}),
        ("#ifndef TIMES\n#error give TIMES\n#endif", set(), {"TIMES"}),
        ('#include "config.h"', set(), set()),
    ],
    ids=["same", "other spelling", "fixed", "the active one", "needed", "demanded", "in a header"],
)
def test_a_default_that_the_source_has(
    make: Make, tmp_path: Path, head: str, own: set[str], given: set[str]
) -> None:
    (tmp_path / "config.h").write_text(f"#pragma once\n{GUARDED.format(4)}\n")
    assert standing(make(head, TIMES)) == MacroOwners(frozenset(own), frozenset(given))


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (GUARDED.format(2), "the default of TIMES is 4, but kernel.cu:2 has 2"),
        ("\n#define TIMES 2", "the default of TIMES is 4, but kernel.cu:2 has 2"),
        (GUARDED.format("4.0f"), "kernel.cu:2 has 4.0f\n  the default is what the source has: def"),
        (f"#ifdef TIMES\n#pragma once\n#endif\n{GUARDED.format(2)}", "kernel.cu:5 has 2"),
        ('#include "config.h"', "the default of TIMES is 4, but a header has 2"),
        (
            "#ifdef TIMES\n#define OTHER 1\n#else\n#define OTHER 2\n#endif\n"
            + GUARDED.format(4).replace("TIMES 4", "TIMES 4 "),
            "",
        ),
    ],
    ids=["guarded", "fixed", "a float", "behind others", "in a header", "no difference"],
)
def test_another_default(make: Make, tmp_path: Path, head: str, said: str) -> None:
    (tmp_path / "config.h").write_text(f"#pragma once\n{GUARDED.format(2)}\n")
    subject = make(head, TIMES)
    if not said:
        standing(subject)
        return
    with pytest.raises(UserError) as caught:
        standing(subject)
    assert str(caught.value).startswith(f"{tmp_path / 'target.toml'}:6: ")
    assert said in str(caught.value)


def test_each_wrong_default_is_named_and_no_other(make: Make, tmp_path: Path) -> None:
    head = "\n".join(
        f"#ifndef {name}\n#define {name} {value}\n#endif"
        for name, value in (("ONE", 1), ("TWO", 2), ("THREE", 3))
    )
    body = "__global__ void fill(float *in, float *out, int n) { *out = ONE + TWO * THREE; }\n"
    more = [parameter(name, "[1, 5]", 1) for name in ("ONE", "TWO", "THREE")]
    with pytest.raises(UserError) as caught:
        standing(make(head, *more, body=body))
    text = str(caught.value)
    assert "the default of TWO is 1, but kernel.cu:5 has 2" in text
    assert "the default of THREE is 1, but kernel.cu:8 has 3" in text
    assert "of ONE" not in text


def test_a_macro_of_host_code_alone_counts(make: Make) -> None:
    """The launch is the target's, but the file as it is launches otherwise."""
    body = "__global__ void fill(float *in, float *out, int n) { out[threadIdx.x] = 1; }\n"
    with pytest.raises(UserError, match=r"default of BLOCK is 64, but kernel\.cu:1 has 256"):
        standing(
            make("#define BLOCK 256", parameter("BLOCK", "[64, 256]", 64), block="BLOCK", body=body)
        )


def test_a_flag_that_the_source_does_not_define_is_off_by_default(make: Make) -> None:
    standing(make(SWITCHED, TIMES, parameter("FAST", "", 0, "flag"), body=WITH_EXTRA))
    with pytest.raises(UserError, match=r"(?s)of FAST is 1, but the source does not.*\[build\]"):
        standing(make(SWITCHED, TIMES, parameter("FAST", "", 1, "flag"), body=WITH_EXTRA))


def test_a_source_that_demands_its_parameters_can_be_read(make: Make) -> None:
    subject = make("#ifndef TIMES\n#error give TIMES\n#endif", TIMES)
    effects = read_effects(subject, open_compiler(subject, 1))
    assert effects["TIMES"].code


def test_what_the_build_gives_is_the_default(make: Make) -> None:
    fast = parameter("FAST", "", 1, "flag")
    subject = make(SWITCHED, BUILD.format("FAST = 1"), TIMES, fast, body=WITH_EXTRA)
    assert standing(subject) == MacroOwners(frozenset({"TIMES"}), frozenset({"FAST"}))
    off = subject.standard.having({"FAST": 0})
    assert "FAST" not in subject.macros(off)
    assert "FAST" not in off.macros
