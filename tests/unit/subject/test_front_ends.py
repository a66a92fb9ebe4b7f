"""Front ends are entries of a table; here one for a language in which every line is a rule."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gi_cuda.grammar import (
    FRONT_ENDS,
    LEVELS,
    Expansion,
    FrontEnd,
    Operation,
    ParsedText,
    Rule,
    Rules,
    RuleType,
    Source,
    Wanted,
    front_end,
    read_source,
    write_bnf,
)
from gi_cuda.grammar.source import line_starts
from gi_cuda.search.strategies.barracuda import PRESET
from gi_cuda.subject import Compiled, Start, Subject


class LineRules(Rules):
    """Every line may go everywhere."""

    def donors(self, place: str) -> tuple[str, ...]:
        return tuple(name for name in self.mutable if name != place)

    def operations(self, place: str) -> tuple[Operation, ...]:
        return tuple(Operation)


class LineProgram(ParsedText):
    """A text of lines."""

    def notation(self) -> Mapping[str, str]:
        return {".bnf": write_bnf(self.grammar)}

    def render(
        self, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
    ) -> str:
        names: list[str] = []
        for rule in self.grammar.rules:
            expansion = expansions.get(rule.name, Expansion())
            own = rule.name if expansion.body is None else expansion.body
            names += [*expansion.before, *([own] if own else [])]
        return "".join(f"{self.grammar.text(name)}\n" for name in names)

    def instrument(self) -> str:
        return self.text

    def mark(self, name: str) -> str:
        start = self.grammar.rule(name).start
        return f"{self.text[:start]}mark\n{self.text[start:]}"


def load(path: Path, headers: Sequence[Path], include: Sequence[Path]) -> Source:
    return read_source(path)


def read(source: Source, wanted: Wanted) -> LineProgram:
    starts = line_starts(source.text)
    rules = tuple(
        Rule(f"_{source.name}_{n}", RuleType.STATEMENT, source.name, n, start, end - 1, "all")
        for n, (start, end) in enumerate(itertools.pairwise(starts), 1)
    )
    return LineProgram(LineRules(source, rules, (), {}))


LINES = FrontEnd("source", "lines", (".lines",), read, load)
TEXT = "one\ntwo\nthree\n"


def lines_of(scale: Subject, **given: object) -> Subject:
    program = read(Source("k.lines", TEXT), Wanted())
    return replace(scale, front_end=LINES, parsed=program, **given)  # type: ignore[arg-type]


def test_a_subject_evolves_whatever_a_front_end_reads(scale: Subject) -> None:
    subject, rng = lines_of(scale), random.Random(1)
    assert subject.reference == TEXT == subject.render(subject.original, {})
    for _ in range(30):
        mutant = PRESET.vary(subject).mutate(subject.original, rng)
        assert mutant is not None
        assert subject.read(str(mutant)) == mutant
        assert (subject.render(mutant, None) == TEXT) == (not mutant.edits)
        # A launch's parameter of which the source knows nothing leaves nothing there.
        defined = mutant.configuration.changed.keys() - subject.launch_only
        assert bool(subject.diff(mutant)) == bool(mutant.edits or defined)
    assert subject.fingerprint != scale.fingerprint
    assert subject.parsed.mark("_k.lines_2") == "one\nmark\ntwo\nthree\n"


def test_what_a_front_end_cannot_do_is_none(scale: Subject) -> None:
    subject = lines_of(scale)
    assert subject.parsed.mark_true("_k.lines_1") is None
    assert subject.parsed.instructions() is None


def test_a_text_that_a_compiler_makes_comes_from_a_source(scale: Subject) -> None:
    start = Start("a winner", "BLOCK=128", "paper")
    base = scale.read(start.genotype)
    plain = lines_of(scale, compiled=Compiled(scale, scale.original, TEXT))
    begun = lines_of(scale, compiled=Compiled(scale, base, "zero\n", start))
    assert plain.source is begun.source is scale is scale.source
    assert (plain.reference, begun.reference) == (TEXT, "zero\n")
    assert plain.fingerprint != begun.fingerprint
    assert begun.starting(start) == begun.original
    assert begun.macros(begun.original.configuration) == {}
    other = begun.read("<_k.lines_1>")
    assert begun.diff(other).splitlines()[:2] == ["--- a/k.lines", "+++ b/k.lines"]


def test_a_front_end_is_found_by_level_and_suffix() -> None:
    assert LEVELS == ("source", "ptx", "llvm")
    assert [front_end(one.level, one.suffixes[0]) for one in FRONT_ENDS] == list(FRONT_ENDS)
    assert front_end("source", ".unheard-of").name == "CUDA"
    assert front_end("ptx").compiled
    assert not front_end("source").compiled
