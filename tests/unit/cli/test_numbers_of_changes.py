"""Numbers of changes on the command line."""

from __future__ import annotations

import pytest

from gi_cuda.cli.results.patch import read_numbers
from gi_cuda.errors import UserError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "there is no change 0"),
        ("1-9", "there is no change 9"),
        ("one", "'one' is not a number or a range"),
    ],
)
def test_numbers_of_changes_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        read_numbers(text, 3)
    assert caught.value.where == "--changes"
