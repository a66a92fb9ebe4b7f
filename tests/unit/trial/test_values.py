"""Values of parameters that a proposal offers, given the result of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.evaluate.checks.parameters.values import REFUSED, RIGHT, WRONG, TriedValue
from gi_cuda.init import Proposal, from_options, propose
from gi_cuda.trial import Outcome
from gi_cuda.trial.mending.values import with_right_values
from gi_cuda.trial.troubles import Unjudged

SOURCE = """
#define BLOCK_SIZE 128
__global__ void k(float *a, int n) {
  int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
  if (i < n) a[i] += 1;
}
void run(float *a, int n) { k<<<n / BLOCK_SIZE, BLOCK_SIZE>>>(a, n); }
"""


@pytest.fixture
def proposal(tmp_path: Path) -> Proposal:
    source = tmp_path / "k.cu"
    source.write_text(SOURCE)
    return propose(source, None, from_options((), ()))


def became(**outcomes: str) -> Sequence[TriedValue]:
    return [TriedValue("BLOCK_SIZE", int(n[1:]), outcome) for n, outcome in outcomes.items()]


def test_what_is_wrong_is_not_offered(proposal: Proposal) -> None:
    (whole,) = proposal.parameters
    assert whole.values == (32, 64, 128, 256, 512)
    tried = became(_32=WRONG, _64=RIGHT, _256=REFUSED, _512="crashed")
    (found,) = with_right_values(Outcome(proposal, None), lambda _: tried).proposal.parameters
    assert found.active
    assert found.values == (64, 128, 256)


def test_a_parameter_whose_default_alone_is_right_is_a_comment(proposal: Proposal) -> None:
    tried = became(_32=WRONG, _64=WRONG, _256="crashed", _512="hung")
    found = with_right_values(Outcome(proposal, None), lambda _: tried).proposal
    assert not any(one.active for one in found.parameters)
    assert "no other value is right" in found.parameters[0].why
    assert found.launching.block == ("128",)
    assert found.launching.grid == ("n / 128",)


def test_the_kernel_is_named_without_a_parameter_that_is_a_comment(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        SOURCE.replace("__global__", "template <int B> __global__").replace(
            "k<<<", "k<BLOCK_SIZE><<<"
        )
    )
    proposal = propose(source, None, from_options((), ()))
    assert proposal.kernel == "k<BLOCK_SIZE>"
    tried = became(_32=WRONG, _64=WRONG, _256=WRONG, _512=WRONG)
    found = with_right_values(Outcome(proposal, None), lambda _: tried).proposal
    assert (found.kernel, found.launching.block) == ("k<128>", ("128",))
    assert found.launching.named == (
        'kernel = "k<BLOCK_SIZE>", grid = ["n / BLOCK_SIZE"], block = ["BLOCK_SIZE"]'
    )


def test_a_guessed_number_of_blocks_need_not_follow_their_size(proposal: Proposal) -> None:
    guessed = replace(proposal, launching=replace(proposal.launching, guessed=True))

    def tried(one: Proposal) -> Sequence[TriedValue]:
        right = one.launching.grid == ("n / 128",)
        return became(_32=WRONG, _64=RIGHT if right else WRONG, _256=WRONG, _512=WRONG)

    found = with_right_values(Outcome(guessed, None), tried).proposal
    assert found.parameters[0].active
    assert found.parameters[0].values == (64, 128)
    assert found.launching.grid == ("n / 128",)
    assert found.launching.block == ("BLOCK_SIZE",)
    certain = with_right_values(Outcome(proposal, None), tried).proposal
    assert not certain.parameters[0].active


def test_what_does_not_pass_is_not_tried(proposal: Proposal) -> None:
    def asked(_: Proposal) -> Sequence[TriedValue]:
        raise AssertionError("it was tried")

    failed = Outcome(proposal, Unjudged())
    assert with_right_values(failed, asked) == failed
    offered = tuple(replace(one, active=False) for one in proposal.parameters)
    passing = Outcome(replace(proposal, parameters=offered), None)
    assert with_right_values(passing, asked) == passing
