"""Individuals render to the same sources in other processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from random import Random

import pytest

from gi_cuda.evaluate.rendering import FEW, Renderers
from gi_cuda.genome import Genotype, mutate
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.subject import Subject, load_subject
from tests.conftest import TARGETS


@pytest.fixture(scope="module")
def subject() -> Subject:
    return load_subject(TARGETS / "columns", "host", edits="all")


@pytest.fixture(scope="module")
def batch(subject: Subject) -> dict[int, Genotype]:
    """Some transform the kernel, some change lines or parameters, one changes nothing."""
    rng = Random(1)
    found = {0: subject.original}
    while len(found) < 4 * FEW:
        one = found[rng.randrange(len(found))]
        found[len(found)] = mutate(one, subject.grammar, rng, PAPER) or one
    assert any(subject.configured(one).shape for one in found.values())
    return found


@pytest.fixture
def renderers(subject: Subject) -> Iterator[Renderers]:
    made = Renderers(subject, 2)
    made.start()
    yield made
    made.close()


def test_texts_and_launches_are_the_same(
    subject: Subject, batch: dict[int, Genotype], renderers: Renderers
) -> None:
    here = Renderers(subject, 0).candidates(batch, {0: 7})
    assert renderers.candidates(batch, {0: 7}) == here
    assert list(here) == list(batch)


def test_what_a_process_that_ended_was_to_do_is_done_here(
    subject: Subject, batch: dict[int, Genotype], renderers: Renderers
) -> None:
    first, second = renderers._helpers
    os.kill(first._process.pid, signal.SIGKILL)
    here = Renderers(subject, 0).candidates(batch, {})
    part = list(batch.items())[:FEW]
    assert renderers._by(first, {}, part) == {ident: here[ident] for ident, _ in part}
    assert renderers._helpers == [second]
    assert renderers.candidates(batch, {}) == here
    renderers.close()
    assert renderers.candidates(batch, {}) == here
