"""A simulated evaluator: real genotypes and renderings, times from a made-up landscape."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pytest
from xxhash import xxh3_64_intdigest, xxh3_128_digest

from gi_cuda.genome import Delete, Genotype, Rates
from gi_cuda.grammar import Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.results.evaluation import Evaluation, not_built
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.search import PRESETS, Member, Origin
from gi_cuda.search.loop import Evolution
from gi_cuda.search.recipes import Variation
from gi_cuda.search.strategies.barracuda import PAPER, SETTINGS
from gi_cuda.store import Store
from gi_cuda.subject import Subject

FLOOR = 0.01


def effect(gene: str) -> float | None:
    """Return the time factor of one gene, always the same; None if it breaks the answers."""
    chance = xxh3_64_intdigest(gene.encode()) / 2**64
    if chance < 0.3:
        return None
    if chance < 0.75:
        return 1.0
    return 0.9 if chance > 0.9 else 1.05


def landscape(genotype: Genotype) -> Evaluation:
    """Return the evaluation of a genotype: the product of the effects of its distinct genes."""
    genes = sorted({*map(str, genotype.configuration.settings), *map(str, genotype.edits)})
    if xxh3_64_intdigest("".join(genes).encode()) % 29 == 0:
        return not_built("kernel.cu:1: does not compile")
    effects = [effect(gene) for gene in genes]
    ratio = 1.0
    for one in effects:
        if one is None:
            return Evaluation(True, Survival.NORMAL, penalty=1.0, message="wrong")
        ratio *= one
    verdict = Verdict.SAME
    if ratio < 1 - FLOOR:
        verdict = Verdict.FASTER
    elif ratio > 1 + FLOOR:
        verdict = Verdict.SLOWER
    return Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio, ratio, ratio)


@dataclass(frozen=True)
class SimulatedTrial:
    """A genotype with the key of its phenotype."""

    genotype: Genotype
    key: bytes | None


@dataclass
class Simulated:
    """An evaluator that measures by a function, in an order of its own.

    It fails if it is asked to evaluate a genotype twice.

    Attributes:
        subject: renders the genotypes.
        measure: returns the evaluation of a genotype.
        order: shuffles the batch, since real measurements end in any order.
        evaluated: genotypes by number, in the order in which they were evaluated.
        keys: the keys of phenotypes that it gave.
    """

    subject: Subject
    measure: Callable[[Genotype], Evaluation] = landscape
    order: random.Random = field(default_factory=lambda: random.Random(0))
    evaluated: dict[int, Genotype] = field(default_factory=dict)
    keys: dict[int, bytes | None] = field(default_factory=dict)

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, SimulatedTrial]:
        trials = {ident: SimulatedTrial(one, self.key(one)) for ident, one in batch.items()}
        self.keys |= {ident: trial.key for ident, trial in trials.items()}
        return trials

    def key(self, genotype: Genotype) -> bytes | None:
        if xxh3_64_intdigest(str(genotype).encode()) % 31 == 0:
            return None  # it does not preprocess
        macros = self.subject.macros(genotype.configuration)
        text = self.subject.render(genotype, None)
        if "CHECKED" not in macros:
            text = re.sub("#ifdef CHECKED\n.*?#endif\n", "", text, flags=re.S)
        return xxh3_128_digest(f"{text}{macros}".encode())

    def evaluate(
        self,
        batch: Mapping[int, SimulatedTrial],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, SimulatedTrial]],
    ) -> Iterator[tuple[int, Evaluation]]:
        left = dict(batch)
        order = self.order.sample(list(left), len(left))
        while left and not stop():
            ident = order.pop(0)
            assert ident not in self.evaluated, f"{ident} is evaluated twice"
            genotype = self.evaluated[ident] = left.pop(ident).genotype
            yield ident, self.measure(genotype)
            added = more() if left else {}
            left |= added
            for one in added:
                order.insert(self.order.randint(0, len(order)), one)


@pytest.fixture(scope="session")
def simulated(scale: Subject) -> Callable[..., Simulated]:
    """Return a function that makes simulated evaluators, by default for the small target."""

    def make(subject: Subject = scale, **others: object) -> Simulated:
        return Simulated(subject, **others)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def evolution() -> Callable[..., Evolution]:
    """Return a function that makes a search in a store, with an evaluator."""

    def make(
        store: Store,
        evaluator: Simulated,
        preset: str = "barracuda",
        stop: Callable[[], bool] = lambda: False,
        seed: int = 1,
        rates: Rates = PAPER,
        **numbers: int,
    ) -> Evolution:
        settings = replace(SETTINGS, **{"population": 12, "generations": 5, **numbers})  # type: ignore[arg-type]
        return Evolution(
            store=store,
            evaluator=evaluator,
            phases=Phases,
            strategy=PRESETS[preset].strategy(settings),
            variation=Variation(evaluator.subject, evaluator.subject.original, rates),
            settings=settings,
            seed=seed,
            stop=stop,
        )

    return make


@pytest.fixture(scope="session")
def tiny(scale: Subject) -> Subject:
    """Return a subject with few variants: 10 configurations, 24 variants of the code each."""
    text = "__global__ void k(int *x) {\n    x[0] = 1;\n}\n"
    return replace(scale, parsed=CudaText(convert(Source("k.cu", text), None)))


@pytest.fixture(scope="session")
def variation(scale: Subject) -> Variation:
    """Return the variation of the default search on the small target."""
    return PRESETS["adaptive"].vary(scale)


def deletion_at(subject: Subject, line: int) -> Delete:
    (place,) = (
        rule.name for rule in subject.grammar.rules if rule.line == line and rule.name[:2] == "_k"
    )
    return Delete(place)


def judged(
    ident: int,
    genotype: Genotype,
    verdict: Verdict | None,
    ratio: float = 1.0,
    parents: tuple[int, ...] = (),
    origin: Origin = Origin.MUTATION,
) -> Member:
    """Return an individual with its measurement; without a verdict its answers are wrong."""
    right = verdict is not None
    found = ratio if right else float("inf")
    faster = verdict is Verdict.FASTER
    return Member(ident, genotype, found, faster, right, found, 0.0, parents, origin)
