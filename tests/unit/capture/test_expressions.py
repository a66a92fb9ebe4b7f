"""Expressions for numbers that were observed."""

from gi_cuda.capture.expressions import agrees, blocks_of, size_of

SMALL, LARGE = {"n": 1000, "m": 30, "flag": 1}, {"n": 77, "m": 500, "flag": 1}


def test_a_size_is_what_agrees_in_all_launches() -> None:
    assert size_of([1000, 77], [SMALL, LARGE]) == "n"
    assert size_of([30000, 38500], [SMALL, LARGE]) == "n * m"
    assert size_of([3000, 231], [SMALL, LARGE]) == "n * 3"
    assert size_of([1002, 79], [SMALL, LARGE]) == "n + 2"


def test_a_size_that_never_changes_is_a_number_unless_a_scalar_is_that() -> None:
    assert size_of([256, 256], [SMALL, LARGE]) == "256"
    assert size_of([1000, 1000], [SMALL, SMALL]) == "n"


def test_a_size_that_nothing_says_has_no_expression() -> None:
    assert size_of([17, 19], [SMALL, LARGE]) is None


def test_blocks_are_enough_for_what_there_is() -> None:
    assert blocks_of([8, 1], [SMALL, LARGE], "128", [SMALL, LARGE]) == "(n + 128 - 1) / 128"
    assert blocks_of([59, 76], [SMALL, LARGE], "512", [SMALL, LARGE]) == "(n * m + 512 - 1) / 512"
    assert (
        blocks_of([2, 1], [SMALL, LARGE], "128", [SMALL, LARGE])
        == "(n + (128 * 4) - 1) / (128 * 4)"
    )
    assert blocks_of([1, 1], [SMALL, LARGE], "128", [SMALL, LARGE]) == "1"


def test_one_block_for_each_item() -> None:
    assert blocks_of([30, 500], [SMALL, LARGE], "1", [SMALL, LARGE]) == "m"
    assert blocks_of([30, 500], [SMALL, LARGE], "64", [SMALL, LARGE]) == "m"


def test_an_expression_that_fails_or_has_other_names_does_not_agree() -> None:
    assert not agrees("n / zero", [1], [{"n": 1}])
    assert not agrees("n / m", [1], [{"n": 1, "m": 0}])
