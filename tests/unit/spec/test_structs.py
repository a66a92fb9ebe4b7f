"""Structs by value, and addresses in memory: their meaning, and invalid ones."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.errors import UserError
from gi_cuda.spec import Launch, Packed, Target, defaults, load_case, load_target, plan
from gi_cuda.spec.case_data.addresses import NOWHERE, addressed, numbered
from gi_cuda.spec.launching.launches import Redrawn

from .conftest import DATA, Write

ARGS = 'args = ["a", "n", "gain"]'
MEMBERS = "members = { n = 0, a = 8, gain = 16 }"
STRUCT = f'[[struct]]\nname = "pack"\nsize = 24\nalign = 8\n{MEMBERS}\n\n'


def packed(write: Write, struct: str = STRUCT, data: str = DATA) -> Target:
    """The target whose second kernel takes its arguments as one struct."""
    changes = (ARGS, 'args = ["pack"]'), ("[[launch]]", f"{struct}[[launch]]")
    return load_target(write(*changes, data=data))


def test_a_struct_is_the_bytes_of_its_members(write: Write) -> None:
    target = packed(write)
    case = load_case(target, target.cases[0])
    last: Launch = plan(target, defaults(target), case.scalars)[-1]
    (struct,) = last.args
    assert isinstance(struct, Packed)
    assert (struct.size, struct.align) == (24, 8)
    # A buffer is where it lies after swaps, as it is in arguments of its own.
    shown = struct.bytes(lambda one: b"12345678" if isinstance(one, str) else one.tobytes())  # type: ignore[union-attr]
    n, gain = case.scalars["n"], case.scalars["gain"]
    whole = n.tobytes() + bytes(8 - n.itemsize) + b"12345678" + gain.tobytes()
    assert shown == whole.ljust(24, b"\0")


def test_a_seed_in_a_struct_is_redrawn() -> None:
    launch = Launch("k", (1, 1, 1), (1, 1, 1), 0, (Packed(4, 4, ((0, Redrawn(np.int32(7))),)),))
    assert launch.redrawn
    (struct,) = launch.at(2).args
    assert isinstance(struct, Packed)
    assert struct.members == ((0, np.int32(9)),)


MISTAKES = {
    "unknown member": ("members = { m = 0 }", "there is no buffer, texture, surface or scalar 'm'"),
    "too long": ("members = { a = 20 }", "the member 'a' ends behind the struct 'pack'"),
    "no alignment": ("members = { a = 0 }\nalign = 3", "nothing is aligned to 3 bytes"),
    "negative": ("members = { a = -1 }", "greater than or equal to 0"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_no_struct_can_be(name: str, write: Write) -> None:
    text, message = MISTAKES[name]
    with pytest.raises(UserError) as caught:
        packed(write, f'[[struct]]\nname = "pack"\nsize = 24\n{text}\n\n')
    assert message in str(caught.value)


def test_a_struct_that_no_launch_takes_is_a_slip(write: Write) -> None:
    with pytest.raises(UserError, match="no launch uses the struct 'pack'"):
        load_target(write(("[[launch]]", f"{STRUCT}[[launch]]")))


def test_several_values_are_one_scalar(write: Write) -> None:
    changes = ('name = "gain"\ntype = "float32"', 'name = "gain"\ntype = "float32"\ncount = 3')
    target = load_target(write(changes, data=DATA.replace('"gain": 1.5', '"gain": [1, 2.5, 4]')))
    gain = load_case(target, target.cases[0]).scalars["gain"]
    assert gain.tobytes() == np.array([1, 2.5, 4], np.float32).tobytes()
    wrong = load_target(write(changes, data=DATA.replace('"gain": 1.5', '"gain": [1, 2]')))
    with pytest.raises(UserError, match="'gain' is no 3 values of float32"):
        load_case(wrong, wrong.cases[0])


def test_numbers_of_elements_become_addresses(write: Write) -> None:
    rows = '[[buffer]]\nname = "rows"\ntype = "uint64"\nrole = "input"\nitem = 16\n'
    rows += "addresses = { a = 8 }\n\n"
    target = load_target(
        write(("[[scalar]]", f"{rows}[[scalar]]"), (ARGS, 'args = ["a", "n", "gain", "rows"]'))
    )
    buffer = next(one for one in target.buffers if one.name == "rows")
    given = np.array([5, 2, 6, NOWHERE], np.uint64)
    found = addressed(target, buffer, given, lambda name: {"a": 1000}[name])
    width = next(one for one in target.buffers if one.name == "a").dtype.itemsize
    assert found.tolist() == [5, 1000 + 2 * width, 6, 0]
    assert given.tolist()[:2] == [5, 2]
    assert numbered(target, buffer, found, lambda _: 1000).tolist() == given.tolist()


def test_addresses_become_the_numbers_that_they_were(write: Write) -> None:
    rows = '[[buffer]]\nname = "rows"\ntype = "uint64"\nrole = "inout"\naddresses = { a = 0 }\n\n'
    changes = (("[[scalar]]", f"{rows}[[scalar]]"), (ARGS, 'args = ["a", "n", "gain", "rows"]'))
    target = load_target(write(*changes))
    buffer = next(one for one in target.buffers if one.name == "rows")
    rng = np.random.default_rng(1)
    edges = np.array([0, 2**40, NOWHERE], np.uint64)
    given = np.concatenate([rng.integers(0, 2**40, 1000, np.uint64), edges])
    for at in (16, 0x7F00_1234_5678):
        held = addressed(target, buffer, given, lambda _, at=at: at)
        found = numbered(target, buffer, held, lambda _, at=at: at)
        np.testing.assert_array_equal(found, given)
        # What leads in between elements, or in front of them, is no number of one.
        for off in (held[:-1] + np.uint64(1), np.array([at - 8], np.uint64)):
            np.testing.assert_array_equal(numbered(target, buffer, off, lambda _, at=at: at), off)


def test_only_what_a_case_gives_holds_addresses(write: Write) -> None:
    rows = '[[buffer]]\nname = "rows"\ntype = "uint64"\nrole = "output"\nsize = "n"\n'
    rows += "addresses = { a = 0 }\n\n"
    with pytest.raises(UserError, match="'rows' cannot hold addresses"):
        load_target(write(("[[scalar]]", f"{rows}[[scalar]]")))
