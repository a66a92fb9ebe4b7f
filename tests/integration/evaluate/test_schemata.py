"""Variants compiled in one text with a run-time choice behave as compiled alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gi_cuda.backends.cuda.backend import open_nvcc
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Record
from gi_cuda.backends.protocol.variants import (
    Binary,
    BuildFailure,
    Built,
    Phenotype,
    Variant,
)
from gi_cuda.evaluate.batches.batch import Batch
from gi_cuda.evaluate.batches.compiled_parts import Parts
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.passes import REFERENCE, Trial
from gi_cuda.evaluate.batches.rehearsal import FirstRun, of_all
from gi_cuda.evaluate.batches.rehearsal_choice import rehearsal_of
from gi_cuda.evaluate.batches.schemata import LARGEST, SchemaBuilder, grouped
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.sampling import draw
from gi_cuda.genome import Delete, Edit, Genotype
from gi_cuda.grammar import Expansion
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.measurement import Survival
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject
from tests.sweeps import broad

TARGETS = Path(__file__).parents[2] / "targets"
SHIPPED = Path(__file__).parents[3] / "targets"
SAMPLING = Sampling(screen=1, step=1, most=1, limit=0.5)
RIGHT = Evaluation(built=True, survival=Survival.NORMAL, penalty=0.0)
WRONG = Evaluation(built=True, survival=Survival.NORMAL, penalty=1.0)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """Compiler and workers for a target with loops, a barrier and shared memory."""
    subject = load_subject(TARGETS / "scale", "host", edits="full")
    with open_tools(subject, tmp_path_factory.mktemp("scale"), workers=2, jobs=2) as tools:
        yield tools


@pytest.fixture(scope="module")
def evaluator(tools: Tools) -> Evaluator:
    """Evaluates its variants; what the reference answers is recorded."""
    limits = {loop.ident: 1000 for loop in tools.subject.grammar.loops}
    found = Evaluator(tools.subject, tools.equipment(), Bounds(limits, SAMPLING))
    reference = found.unmodified().phenotype
    assert isinstance(reference, Phenotype)
    (binary,) = tools.compiler.compile([reference], tools.scratch("reference"))
    assert isinstance(binary, Binary)
    program = found.equipment.program(found.unmodified(), binary)
    tools.pool.one(Record(program, tools.reference, 1, 60.0))
    return found


def trials(evaluator: Evaluator, number: int = 40) -> Mapping[int, Trial]:
    """Random variants, some under other configurations."""
    subject = evaluator.subject
    drawn = [*draw(subject, number, 1, seed=5), *draw(subject, number // 4, 2, 6, configured=True)]
    return evaluator.prepare(dict(enumerate(drawn, 1)))


def outcomes(
    evaluator: Evaluator, batch: Mapping[int, Trial], first: FirstRun | None
) -> dict[int, Evaluation]:
    """Return the results of variants, with or without a first run."""
    work = Batch(evaluator.equipment, evaluator.unmodified(), batch, SAMPLING, PastResults(), first)
    return dict(work.run(lambda: False))


@broad
def test_a_search_finds_the_same_right(evaluator: Evaluator) -> None:
    batch = trials(evaluator)
    subject, reference = evaluator.subject, evaluator.unmodified()
    how = rehearsal_of(subject, evaluator.equipment, reference, SAMPLING)
    assert how is not None
    first = of_all(how, batch)
    assert sum(len(group) > 1 for group in first.groups) < len(batch) // 4
    rehearsed, plain = (outcomes(evaluator, batch, one) for one in (first, None))
    assert rehearsed.keys() == plain.keys() == batch.keys()
    right = {n for n, one in plain.items() if one.right}
    # What only a guard ends, or a compiler leaves out, does its harm in a schema; and what is far
    # beyond a buffer is mapped in one process and not in another.
    others = [n for n in batch if rehearsed[n].right != plain[n].right]
    harm = {Survival.HUNG, Survival.CRASHED}
    found = [(rehearsed[n], plain[n]) for n in others]
    assert not [two for two in found if harm.isdisjoint(one.survival for one in two)]
    # Once more, for a limit of time may be met on a busy machine alone.
    some = {n: batch[n] for n in others}
    again = outcomes(evaluator, some, of_all(how, some))
    assert sum(again[n].right != plain[n].right for n in others) < 4
    assert len(batch) // 5 < len(right) < len(batch)
    # What was wrong in the schema was never compiled by itself. What was right there may then have
    # met a limit of time, on a busy machine: once more, and it does not.
    late = {n: batch[n] for n, one in rehearsed.items() if one.code_key and not one.right}
    assert all(rehearsed[n].survival is Survival.HUNG for n in late)
    once_more = outcomes(evaluator, late, of_all(how, late)) if late else {}
    assert not any(one.code_key for one in once_more.values() if not one.right)


@pytest.mark.parametrize(
    ("target", "shared"),
    [
        (TARGETS / "scale", {}),
        (SHIPPED / "sw_naive", {"for1_kernel.cu_166": Expansion(body="for1_kernel.cu_185")}),
    ],
    ids=["scale", "sw_naive, with a header in common"],
)
def test_each_variant_of_it_has_the_machine_code_of_that_variant(
    target: Path, shared: Mapping[str, Expansion], toolkit: Toolkit, tmp_path: Path
) -> None:
    """The compiler removes the code of other variants if the chosen number is a constant."""
    subject = load_subject(target, "cuda", edits="full")
    drawn = [*draw(subject, 24, 1, seed=8)]
    expansions = [{**subject.expansions(one), **shared} for one in drawn]
    wanted = [one for one in expansions if one and subject.parsed.unchosen(one) == shared][:10]
    text, macros = subject.parsed.schema(wanted), unmodified(subject).macros
    variants = []
    for number, one in enumerate(wanted, 1):
        chosen = f"#define gi_chosen {number}u\n{text}"
        variants.append(Variant(2 * number, chosen, macros))
        variants.append(Variant(2 * number + 1, subject.parsed.render(one), macros))
    compiler = open_nvcc(subject, 2).apart()
    ready = compiler.preprocess(variants).values()
    built = {
        one.ident: one
        for one in compiler.compile([p for p in ready if isinstance(p, Phenotype)], tmp_path)
    }
    keys = {n: one.code_key for n, one in built.items() if isinstance(one, Binary)}
    silent = {"pragma", "optrestrict", "launchbounds"}
    numbers = [
        n for n, one in enumerate(wanted, 1) if silent.isdisjoint(r.split("_")[0] for r in one)
    ]
    assert len(numbers) > 3
    assert {n: keys[2 * n] for n in numbers} == {n: keys[2 * n + 1] for n in numbers}


@dataclass(frozen=True)
class Odd(CudaText):
    """A source one of whose places cannot be chosen as it runs, which nobody knew."""

    def schema(self, variants: Sequence[Mapping[str, Expansion]]) -> str:
        text = super().schema(variants)
        odd = len(variants) > 1 and any(ODD in one for one in variants)
        return f"{text}\nnot this;\n" if odd else text


ODD = "_kernel.cu_27"


def test_the_variants_of_one_that_does_not_compile_are_built_by_themselves_all_at_once(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    subject, compiler = evaluator.subject, evaluator.equipment.compiler
    texts = [f"<{ODD}>", "<_kernel.cu_22>", "<_kernel.cu_24>", "<_kernel.cu_31>"]
    batch = evaluator.prepare({n: subject.read(one) for n, one in enumerate(texts, 1)})
    odd = replace(subject, parsed=Odd(subject.parsed.grammar))
    groups = grouped(odd, batch, compiler)
    assert [len(group) for group in groups] == [4]
    everything = {REFERENCE: evaluator.unmodified(), **batch}
    builder = SchemaBuilder(compiler, everything, Parts(), odd, groups)
    built = list(builder.built([1, 2, 3, 4], tmp_path))
    assert sorted(one.ident for one in built) == [1, 2, 3, 4]
    assert [one.chosen for one in built if isinstance(one, Binary)] == [None] * 4
    assert len(list(tmp_path.iterdir())) == 2, "the schema, and then all of its variants"


def test_in_which_nothing_is_right_it_is_itself_put_to_the_test(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    batch = trials(evaluator, 8)
    subject, compiler = evaluator.subject, evaluator.equipment.compiler
    everything = {REFERENCE: evaluator.unmodified(), **batch}
    group = max(grouped(subject, batch, compiler), key=len)
    assert len(group) > 2

    def schema() -> tuple[SchemaBuilder, int]:
        builder = SchemaBuilder(compiler, everything, Parts(), subject, [group])
        assert {one.ident for one in builder.built(group, tmp_path)} == set(group)
        *others, last = group
        assert all(builder.judged(one, WRONG) == ([], []) for one in others)
        believed, (number,) = builder.judged(last, WRONG)
        assert not believed
        assert builder.trial(number).edits == ()
        (itself,) = builder.built([number], tmp_path)
        assert isinstance(itself, Binary)
        assert itself.chosen == 0
        return builder, number

    builder, number = schema()
    assert builder.judged(number, RIGHT) == ([(one, WRONG) for one in group], [])
    builder, number = schema()
    assert builder.judged(number, WRONG) == ([], list(group))
    alone = list(builder.built(group, tmp_path))
    assert all(isinstance(one, Binary) and one.chosen is None for one in alone)
    assert builder.judged(group[0], WRONG) == ([(group[0], WRONG)], [])


class Seen(SchemaBuilder):
    """Keeps what is compiled."""

    texts: Sequence[str] = ()

    def compiled(self, found: Sequence[Phenotype | BuildFailure], folder: Path) -> Iterator[Built]:
        self.texts = [one.text for one in found if isinstance(one, Phenotype)]
        return super().compiled(found, folder)


def edits_of(batch: Mapping[int, Trial], group: Sequence[int]) -> list[frozenset[Edit]]:
    return [frozenset(batch[ident].edits) for ident in group]


def test_variants_of_many_edits_are_few_in_a_text(evaluator: Evaluator) -> None:
    """A compiler takes longer for all of them at once than for each by itself."""
    subject, compiler = evaluator.subject, evaluator.equipment.compiler
    batch = evaluator.prepare(dict(enumerate(draw(subject, 40, 9, seed=3), 1)))
    groups = grouped(subject, batch, compiler)
    assert sorted(one for group in groups for one in group) == sorted(batch)
    own = [
        len(frozenset.union(*edits) - frozenset.intersection(*edits))
        for edits in (edits_of(batch, group) for group in groups if len(group) > 1)
    ]
    assert own
    assert max(own) <= LARGEST
    few = evaluator.prepare(dict(enumerate(draw(subject, 40, 1, seed=3), 1)))
    assert max(map(len, groups)) < max(map(len, grouped(subject, few, compiler)))


def test_those_of_one_descent_are_neighbours(evaluator: Evaluator) -> None:
    """Edits that all variants of a text have need no choice at run time."""
    subject = evaluator.subject
    pair = [Delete("_kernel.cu_22"), Delete("_kernel.cu_24")]
    drawn = [one for one in draw(subject, 24, 1, seed=7) if not set(one.edits) & set(pair)]
    made = [
        Genotype(one.configuration, (*pair, *one.edits)) if n % 2 else one
        for n, one in enumerate(drawn, 1)
    ]
    batch = evaluator.prepare(dict(enumerate(made, 1)))
    groups = grouped(subject, batch, evaluator.equipment.compiler)
    order = [one for group in groups if len(group) > 1 for one in group]
    akin = [set(pair) <= set(batch[one].edits) for one in order]
    assert akin == sorted(akin)
    assert 1 < sum(akin) < len(akin)


def test_those_with_the_same_header_go_together(evaluator: Evaluator) -> None:
    """It cannot be chosen as they run, so all of a text have it or none."""
    subject, header = evaluator.subject, "<for1_kernel.cu_26><for1_kernel.cu_11>"
    texts = ["<_kernel.cu_22>", "<_kernel.cu_24>", "<_kernel.cu_31>"]
    made = [*texts, *(f"{header} {one}" for one in texts)]
    batch = evaluator.prepare({n: subject.read(one) for n, one in enumerate(made, 1)})
    groups = grouped(subject, batch, evaluator.equipment.compiler)
    assert sorted(map(sorted, groups)) == [[1, 2, 3], [4, 5, 6]]


def test_one_by_itself_goes_without_what_changes_no_answers(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    """An unrolled loop may take the compiler of confined code seconds."""
    subject, compiler = evaluator.subject, evaluator.equipment.compiler
    pragma = next(one for one in subject.grammar.mutable if one.startswith("pragma"))
    texts = [f"<_kernel.cu_22> <{pragma}><pragma_K4>", "<_kernel.cu_22>"]
    batch = evaluator.prepare({n: subject.read(one) for n, one in enumerate(texts, 1)})
    everything = {REFERENCE: evaluator.unmodified(), **batch}
    builder = Seen(compiler, everything, Parts(), subject, [(1,), (2,)])
    for ident in batch:
        (built,) = builder.built([ident], tmp_path / str(ident))
        assert isinstance(built, Binary)
        assert built.ident == ident
        assert not any("unroll" in text for text in builder.texts)
        assert builder.judged(ident, WRONG) == ([(ident, WRONG)], [])
    plain = Seen(compiler, everything, Parts(), subject)
    list(plain.built([1], tmp_path / "plain"))
    assert any("unroll" in text for text in plain.texts)
