"""Kernels of a source are tried in order while there is time."""

from __future__ import annotations

import pytest

from gi_cuda.errors import UserError
from gi_cuda.init import Ranked, first_that_passes

EVERY = tuple(Ranked(name, "most work") for name in ("one", "two", "three", "four"))


def refused(kernel: str | None) -> None:
    raise UserError(f"{kernel} is of no use", hint="mend it")


@pytest.mark.parametrize(
    ("looked_at", "said", "hint"),
    [
        (4, "own: two, three, four", "mend it"),
        (2, "own: two; 2 more were not looked at", "mend it; or take another kernel"),
        (1, "one is of no use; 3 more were not looked at", "--kernel two"),
    ],
)
def test_where_none_can_become_a_target_it_ends_in_time(
    looked_at: int, said: str, hint: str
) -> None:
    left = iter([True] * (looked_at - 1))
    with pytest.raises(UserError) as error:
        first_that_passes(EVERY, refused, lambda one: one, lambda: next(left, False))
    assert said in error.value.what
    assert hint in str(error.value.hint)
