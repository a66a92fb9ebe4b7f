"""Parameters without effect are found; others cause no message."""

from __future__ import annotations

import pytest

from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.checks.parameters.effects import idle, inert, read_effects
from gi_cuda.subject import Subject
from tests.integration.evaluate.conftest import Make, parameter

TIMES = parameter("TIMES", "[1, 2]", 1)
GUARDED = "#ifndef TIMES\n#define TIMES 1\n#endif\n"
AGAIN = f"{GUARDED}#undef TIMES\n#define TIMES 1"
ANOTHER = "#define TIMES 1\n#undef TIMES\n#define TIMES 2"
NESTED = """
#ifndef TIMES
#define TIMES 1
#endif
#if TIMES == 2 && defined(DEEP)
#undef TIMES
#define TIMES 3
#endif
"""


def found(subject: Subject) -> list[str]:
    effects = read_effects(subject, open_compiler(subject, 1))
    parameters = subject.target.parameters
    return [str(one) for check in (inert, idle) for one in check("t", parameters, effects)]


@pytest.mark.parametrize(
    ("head", "more", "block"),
    [
        (GUARDED, [TIMES], "64"),
        ("#define TIMES 1 // so often", [TIMES], "64"),
        ("#define TIMES 1\n#undef TIMES\n#define TIMES 1", [TIMES], "64"),
        (GUARDED, [TIMES, parameter("BLOCK", "[32, 64]", 64)], "BLOCK"),
        ("#define TIMES 1\n#define BLOCK 64", [parameter("BLOCK", "[32, 64]", 64)], "BLOCK"),
        (NESTED, [TIMES, parameter("DEEP", "", 0, "flag")], "64"),
        (GUARDED, [TIMES, parameter("O", "", 0, "option").rstrip() + '\ntext = "-O2"\n'], "64"),
    ],
    ids=[
        "code",
        "no guard",
        "defined twice",
        "launch alone",
        "host code's",
        "beside another value alone",
        "option",
    ],
)
def test_what_changes_something(make: Make, head: str, more: list[str], block: str) -> None:
    more = [one.replace("values = \n", "") for one in more]
    assert found(make(head, *more, block=block)) == []


@pytest.mark.parametrize(
    ("head", "more", "block", "said"),
    [
        (AGAIN, [TIMES], "64", "is there an #ifndef around kernel.cu:"),
        (AGAIN, [TIMES], "32 * TIMES", "TIMES changes nothing in the source"),
        (ANOTHER, [TIMES], "64", "TIMES changes nothing in the source"),
        (GUARDED, [parameter("TIME", "[1, 2]", 1)], "64", "is it spelt right?"),
        (
            GUARDED + "#if 0\nint never = NEVER;\n#endif",
            [parameter("NEVER", "[1, 2]", 1)],
            "64",
            "NEVER seems to change nothing",
        ),
    ],
    ids=["another one", "another one and launched", "another value", "misspelt", "dead code"],
)
def test_what_changes_nothing(
    make: Make, head: str, more: list[str], block: str, said: str
) -> None:
    (one,) = found(make(head, *more, block=block))
    assert one.startswith("t:6: the parameter ")
    assert said in one


def test_a_source_that_cannot_be_read_is_left_to_the_compiler(make: Make) -> None:
    assert found(make('#include "nowhere.h"\n' + GUARDED, TIMES)) == []
