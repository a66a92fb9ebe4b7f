"""Faster individuals must be right on cases like the held-out ones before they breed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.evaluate.batches.batch import Batch
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.rehearsal import of_all
from gi_cuda.evaluate.batches.rehearsal_choice import rehearsal_of
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run, open_run
from gi_cuda.subject import load_subject
from tests.integration.runs.even import NEVER, PLAN, WASTE, target, without_other_seeds

SIBLING = "held-out-seed-5"
BOTH = f"{NEVER} {WASTE}"


def odd(folder: Path) -> Path:
    """The target, with an odd number of elements in its held-out case alone."""
    made = target(folder)
    file = made / "target.toml"
    file.write_text(file.read_text().replace("n = 3110", "n = 3111"))
    return made


def evaluated(run: Run, *genotypes: str) -> Mapping[str, Evaluation]:
    """Return the results of genotypes in a search."""
    evaluator = run.evaluator()
    numbers = dict(enumerate(genotypes, 1))
    batch = {ident: run.subject.read(genotype) for ident, genotype in numbers.items()}
    found = evaluator.evaluate(evaluator.prepare(batch))
    return {numbers[ident]: evaluation for ident, evaluation in found}


@pytest.mark.usefixtures("few_processes")
def test_what_is_faster_and_wrong_there_breeds_nothing(tmp_path: Path) -> None:
    subject, folder = load_subject(odd(tmp_path / "odd"), "host"), tmp_path / "run"
    with create_run(subject, folder, PLAN) as run:
        assert run.baseline.siblings == (SIBLING,)
        found = evaluated(run, WASTE, BOTH)
    assert found[WASTE].selectable
    assert not found[BOTH].right
    assert found[BOTH].message.startswith(f"{SIBLING}: ")
    with open_run(folder) as run:
        assert evaluated(run, BOTH)[BOTH].message == found[BOTH].message


@pytest.mark.usefixtures("few_processes")
def test_a_data_module_may_have_nothing_to_say_to_other_seeds(tmp_path: Path) -> None:
    made = without_other_seeds(odd(tmp_path / "odd"))
    with create_run(load_subject(made, "host"), tmp_path / "run", PLAN) as run:
        assert run.baseline.siblings == ()
        assert evaluated(run, BOTH)[BOTH].selectable


@pytest.mark.usefixtures("few_processes")
def test_a_reference_may_fail_with_other_seeds(tmp_path: Path) -> None:
    """Its answers are undefined where it reads more than there is."""
    made = odd(tmp_path / "odd")
    data = made / "data.py"
    data.write_text(data.read_text().replace('"n": n}', '"n": n if seed < 3 else 10**6}'))
    with create_run(load_subject(made, "host"), tmp_path / "run", PLAN) as run:
        assert run.baseline.siblings == ()


@pytest.mark.usefixtures("few_processes")
def test_what_is_faster_rehearses_there_first_where_deaths_are_dear(tmp_path: Path) -> None:
    """Variants that are wrong or crash on these cases are detected in the rehearsal."""
    subject = load_subject(odd(tmp_path / "odd"), "host")
    with create_run(subject, tmp_path / "run", PLAN) as run:
        evaluator = run.evaluator()
        bounds, reference = evaluator.bounds.sampling, evaluator.unmodified()
        dear = replace(evaluator.equipment, death=10.0)
        how = rehearsal_of(subject, dear, reference, bounds)
        assert how is not None
        assert how.siblings.cases == (SIBLING,)
        trials = evaluator.prepare({1: subject.read(WASTE), 2: subject.read(BOTH)})
        first = of_all(how, trials)
        found = dict(Batch(dear, reference, trials, bounds, PastResults(), first).run(bool))
        cheap = replace(dear, death=0.0)
        others = dict(Batch(cheap, reference, trials, bounds, PastResults(), first).run(bool))
    assert found[1].selectable
    assert found[2].message.startswith(f"{SIBLING}: ")
    assert not found[2].samples  # nothing that is timed was the last to run
    assert others[1].selectable
    assert others[2].message.startswith(f"{SIBLING}: ")
    assert others[2].samples  # where a death costs nothing, it ran there as it is
