"""A device accepts an answer only if the oracle does."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gi_cuda.backends.cuda.helpers import SOURCE
from gi_cuda.backends.protocol.agreement import packed
from gi_cuda.spec.numbers import SMALL_FLOATS, NumberType, seen
from gi_cuda.spec.oracles import UNWRITTEN, Allowed, Exact, Oracle, Tolerance, ValueRule
from gi_cuda.spec.oracles.compare import beyond, differing
from gi_cuda.spec.toml_file.key_types import TYPES, MemberPlace
from tests.integration.backends.driver import agree

Array = NDArray[Any]

ALL_TYPES = (*TYPES, *SMALL_FLOATS)

TOLERANCES = [(0.0, 0.0), (1e-3, 0.0), (0.0, 1e-6), (2.0, 0.01), (0.0, 1.5), (math.inf, 0.0)]

THREADS, BLOCKS = 64, 2
NOWHERE = 2**32 - 1

_SHARED = Path(SOURCE.parent.parent / "protocol" / "agreement.hpp").read_text()
_HELPERS = SOURCE.read_text().partition("// One stretch")[2].partition("// Sets found[i]")[0]

# What a device does with a rule: value by value, and as it does for whole outputs.
KERNEL = f"""{_SHARED}
//{_HELPERS}
__global__ void k(unsigned char *got, const unsigned char *want, const unsigned char *rules,
                  unsigned char *agrees, unsigned *wrong, unsigned most) {{
  Check check = {{got, want, 0, 0, 0, ((const GiRule *)rules)[blockIdx.y]}};
  unsigned first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  unsigned long long nearest = first_wrong(check, first, step);
  if (nearest != kNowhere) atomicMin(wrong + blockIdx.y, (unsigned)nearest);
  for (unsigned i = first; i < check.rule.values; i += step) {{
    unsigned long long at = gi_place(check.rule, i);
    unsigned width = check.rule.width;
    unsigned long long mine = gi_bits(got + at, width), right = gi_bits(want + at, width);
    agrees[blockIdx.y * most + i] = gi_agrees(check.rule, mine, right);
  }}
}}
"""


def rules(kind: NumberType) -> list[ValueRule]:
    near = [ValueRule(Allowed.NEAR, kind, *pair) for pair in TOLERANCES]
    return [*near, *(ValueRule(one, kind) for one in Allowed if one is not Allowed.NEAR)]


def refused(rule: ValueRule, got: Array, want: Array) -> Array:
    """The values that numpy refuses."""
    got, want = seen(got, rule.type), seen(want, rule.type)
    if rule.allowed is Allowed.NEAR:
        return beyond(got, want, rule.absolute, rule.relative)
    if rule.allowed is Allowed.UNDEFINED:
        return differing(got, want)
    if not rule.type.real:
        return np.zeros(got.size, np.bool_)
    test: Callable[[Array], Array] = (
        np.isfinite if rule.allowed is Allowed.FINITE else lambda one: ~np.isnan(one)
    )
    return test(want) & ~test(got)


def bits(kind: NumberType) -> np.dtype[Any]:
    return np.dtype(f"u{kind.dtype.itemsize}")


def values(kind: NumberType, seed: int) -> tuple[Array, Array]:
    """Values of a reference, and others: any, the same, near, and just on and beside tolerances."""
    rng = np.random.default_rng(seed)
    whole = np.iinfo(bits(kind)).max
    some = rng.integers(0, whole, 400, bits(kind), endpoint=True)
    some[:40] = (UNWRITTEN << 32 | UNWRITTEN) & whole
    if kind.real:
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1e-45, 5e-324, 65504, -3e38])
        numbers = np.concatenate([odd, rng.standard_normal(300) * 10.0 ** rng.integers(-9, 5, 300)])
    else:
        numbers = np.concatenate([rng.integers(-200, 200, 300), [0, 1, 2]]).astype(np.float64)
    want = np.concatenate([some.view(kind.dtype), cast(numbers, kind)])
    with np.errstate(invalid="ignore"):
        wide = seen(want, kind).astype(np.float64)
    near = [some.view(kind.dtype), rng.permutation(cast(numbers, kind))]
    parts, others = [want, want, want], [np.concatenate(near), rng.permutation(want), want]
    for absolute, relative in TOLERANCES[:-1]:
        with np.errstate(all="ignore"):
            edge = wide + rng.choice([-1, 1], wide.size) * (absolute + relative * np.abs(wide))
        for step in (-1, 0, 1):
            parts.append(want)
            others.append(
                (cast(edge, kind).view(bits(kind)) + bits(kind).type(step % whole)).view(kind.dtype)
            )
    return np.concatenate(others), np.concatenate(parts)


def cast(numbers: Array, kind: NumberType) -> Array:
    """Numbers in a type, as they lie in memory."""
    with np.errstate(all="ignore"):
        return numbers.astype(kind.dtype) if kind.small is None else kind.small.codes(numbers)


def told(host: Any, some: list[ValueRule], got: Array, want: Array) -> tuple[Array, Array]:
    """The values that a device takes, for each rule, and the first byte of the first that it
    refuses of whole outputs."""
    most = got.nbytes
    buffers = {
        "got": got.view(np.uint8),
        "want": want.view(np.uint8),
        "rules": np.frombuffer(b"".join(packed(one, got.nbytes) for one in some), np.uint8).copy(),
        "agrees": np.full(len(some) * most, 2, np.uint8),
        "wrong": np.full(len(some), NOWHERE, np.uint32),
        "most": np.uint32(most),
    }
    done = host.run(KERNEL, buffers, (BLOCKS, len(some)), (THREADS,))
    assert not done.error, done.error
    assert done.status == 0, done.report
    return done.outputs["agrees"].reshape(len(some), most), done.outputs["wrong"]


@pytest.mark.parametrize("name", ALL_TYPES)
def test_a_device_takes_the_values_that_the_oracle_takes(host: Any, name: str) -> None:
    kind = NumberType(name)
    got, want = values(kind, 1)
    some = rules(kind)
    agrees, wrong = told(host, some, got, want)
    for rule, mine, at in zip(some, agrees, wrong, strict=True):
        mask = refused(rule, got, want)
        odd = np.flatnonzero(mine[: got.size] == mask)
        assert not odd.size, (rule, got[odd[:3]], want[odd[:3]])
        assert at == (kind.dtype.itemsize * mask.argmax() if mask.any() else NOWHERE), rule
        assert (mine[got.size :] == 2).all(), "as many values as there are"


@pytest.mark.parametrize("name", ["int16", "float64", "bfloat16"])
def test_members_of_structs_may_lie_anywhere(host: Any, name: str) -> None:
    kind = NumberType(name)
    width = kind.dtype.itemsize
    item, at, count = 3 * width + 1, 1, 2
    rule = ValueRule(Allowed.NEAR, kind, 0.5, 0.01, item=item, at=at, count=count)
    got, want = (array[: array.size // 2 * 2] for array in values(kind, 2))
    rng = np.random.default_rng(3)

    def laid(array: Array) -> Array:
        """Structs, and bytes behind them that are none."""
        raw = rng.integers(0, 255, (array.size // count, item), np.uint8)
        raw[:, at : at + count * width] = array.view(np.uint8).reshape(-1, count * width)
        return np.concatenate([raw.reshape(-1), np.zeros(item - 1, np.uint8)])

    agrees, wrong = told(host, [rule], laid(got), laid(want))
    mask = refused(rule, got, want)
    assert (agrees[0][: mask.size] != mask).all()
    struct, member = divmod(int(mask.argmax()), count)
    assert wrong[0] == struct * item + at + member * width


def whole(oracle: Oracle, outputs: dict[str, Array], right: dict[str, Array], kinds: Any) -> bool:
    """Tell whether outputs are taken without asking the oracle."""
    found = oracle.rules(kinds)
    assert found is not None
    return all(
        agree(packed(rule, outputs[name].nbytes), outputs[name], right[name])
        for name, some in found.items()
        for rule in some
    )


@settings(max_examples=200)
@given(
    st.sampled_from(ALL_TYPES),
    st.integers(0, 2**32 - 1),
    st.sampled_from(TOLERANCES),
    st.integers(0, 30),
    st.booleans(),
)
def test_what_is_taken_without_the_oracle_is_what_it_takes(
    name: str, seed: int, pair: tuple[float, float], few: int, exact: bool
) -> None:
    kind = NumberType(name)
    rng = np.random.default_rng(seed)
    got, want = values(kind, seed % 50)
    some = rng.permutation(got.size)[:few]
    outputs, right = {"out": np.where(np.isin(np.arange(got.size), some), got, want)}, {"out": want}
    kinds = {"out": kind}
    oracle = Oracle((Exact() if exact else Tolerance(*pair),), kinds)
    judged = oracle.judge({}, outputs, oracle.reference([right]))
    assert whole(oracle, outputs, right, kinds) is judged.acceptable


def test_outputs_of_several_checks_have_all_their_rules() -> None:
    kinds = {name: NumberType("float32") for name in ("one", "both", "none")}
    checks = (Exact(buffers=("both",)), Tolerance(0.5, buffers=("one", "both")))
    rules = Oracle(checks, kinds).rules(kinds)
    assert rules is not None
    assert [one.allowed for one in rules["one"]] == [Allowed.NEAR]
    assert [one.allowed for one in rules["both"]] == [Allowed.UNDEFINED, Allowed.NEAR]
    assert [one.allowed for one in rules["none"]] == [Allowed.DEFINED], "NaN is never right"


def test_of_structs_members_are_looked_at_and_nothing_else() -> None:
    members = {
        "n": MemberPlace(np.dtype("int32"), 0),
        "x": MemberPlace(np.dtype("float32"), 8, 2),
    }
    oracle = Oracle((Tolerance(0.5, item=16, members=members),))
    kinds = {"out": NumberType("uint8")}
    layout = np.dtype(
        {"names": ["n", "x"], "formats": ["i4", "2f4"], "offsets": [0, 8], "itemsize": 16}
    )
    right = np.zeros(3, layout)
    right["x"] = [[1, 2], [3, 4], [np.nan, 6]]
    near, wrong, other = right.copy(), right.copy(), right.copy()
    near["x"][0] += 0.4
    wrong["n"][2] = 1
    other["x"][1, 1] = np.nan
    near.view(np.uint8)[4:8] = 7  # between members
    for outputs in (right, near, wrong, other):
        told = {"out": outputs.view(np.uint8)}
        reference = {"out": right.view(np.uint8)}
        judged = oracle.judge({}, told, oracle.reference([reference]))
        assert judged.acceptable is (outputs is right or outputs is near)
        assert whole(oracle, told, reference, kinds) is judged.acceptable
