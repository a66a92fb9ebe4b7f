"""Output of a validation that ends with the application."""

from __future__ import annotations

import pytest

from gi_cuda.analyze.validate.acceptance import Acceptance, TriedCandidate
from gi_cuda.report.results.validate import verdict
from gi_cuda.results.application import ApplicationResult, Timing
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp

FAST = Validation(True, "", SpeedUp(2.0, 1.9, 2.1))
SAME = Validation(True, "", SpeedUp(1.0, 0.9, 1.1))
TRIED = (
    TriedCandidate("individual 1", 1, "A=1", SAME),
    TriedCandidate("individual 2", 2, "A=2", FAST, {"address": ()}),
    TriedCandidate("individual 3", 3, "A=3", FAST),
)
SLOWER = Timing(SpeedUp(0.9, 0.8, 0.95), 1.0, 1.1)


@pytest.mark.parametrize(
    ("application", "accepted", "said"),
    [
        (None, 2, "noise 1.000 [0.990, 1.010]; nothing found by address"),
        (ApplicationResult("./a"), 2, "nothing found by address; right in the application"),
        (
            ApplicationResult("./a", wrong="with the patch `make` fails"),
            None,
            "FAILS: individual 1 is not faster beyond the noise; individual 2 is found fault with"
            " by the application: with the patch `make` fails; individual 3 was not looked at any"
            " further (--individual or --genotype asks for it alone)",
        ),
        (
            ApplicationResult("./a", program=SLOWER),
            None,
            "by the application: the whole program is slower with the patch: speed-up 0.900",
        ),
    ],
)
def test_the_application_has_the_last_word(
    application: ApplicationResult | None, accepted: int | None, said: str
) -> None:
    result = Acceptance(SpeedUp(1.0, 0.99, 1.01), TRIED, ("address",), application)
    assert result.clean is TRIED[1]
    assert (result.accepted and result.accepted.ident) == accepted
    assert said in verdict(result)
