"""What edits make of a PTX function, with broken uses of registers repaired.

A use is broken if some way leads to it on which nothing writes its register: the instruction that
did is gone, or the use came to where it is not written yet. GEVO repairs such operands with another
value of the type (Liou et al. 2020, section 3.3). Here it is the register of the type that is
defined on every way there and was written last in the order of the text; where there is none the
use stays as it is, and reads what the assembler finds in its register. A use that nvcc left like
that in its own place stays too.

A copied instruction writes the register that it writes in its own place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.grammar.model import Expansion, RuleType
from gi_cuda.grammar.ptx.flow import Flow, Step
from gi_cuda.grammar.ptx.grammar import Body, PtxGrammar, PtxPlace
from gi_cuda.grammar.ptx.operands import Instruction, read_instruction


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction of a variant.

    Attributes:
        at: number of the statement in front of which, or in whose place, it stands.
        instruction: what it is, repaired.
        own: whether it is that statement's own, be it with other operands.
    """

    at: int
    instruction: Instruction
    own: bool


@dataclass(frozen=True, slots=True)
class Altered:
    """A function of a variant: its number, and its instructions in order."""

    body: int
    placed: tuple[Placed, ...]


def alter(grammar: PtxGrammar, expansions: Mapping[str, Expansion]) -> Iterator[Altered]:
    """The functions that expansions change.

    Raises:
        KeyError: a rule or donor that the grammar does not have.
    """
    changes: dict[int, dict[PtxPlace, Expansion]] = {}
    for name, expansion in expansions.items():
        place = grammar.places[name]
        changes.setdefault(place.body, {})[place] = expansion
    for number in sorted(changes):
        body = grammar.bodies[number]
        drafts = _drafts(grammar, number, changes[number])
        yield Altered(number, tuple(_repaired(body, drafts)))


def unaltered(body: Body) -> tuple[Placed, ...]:
    """The instructions of a function as they are."""
    return tuple(Placed(at, one.instruction, True) for at, one in enumerate(body.statements))


@dataclass(frozen=True, slots=True)
class _Draft:
    """An instruction before repair; ``kept``: the uses that are as they were in its own place."""

    at: int
    instruction: Instruction
    own: bool
    kept: frozenset[int] = frozenset()


def _drafts(
    grammar: PtxGrammar, number: int, changes: Mapping[PtxPlace, Expansion]
) -> list[_Draft]:
    body = grammar.bodies[number]
    operands: dict[int, dict[int, str]] = {}
    for place, expansion in changes.items():
        if place.use is not None and expansion.body:
            operands.setdefault(place.statement, {})[place.use] = grammar.text(expansion.body)
    drafts = []
    untouched = Expansion()
    for at, statement in enumerate(body.statements):
        expansion = changes.get(PtxPlace(number, at), untouched)
        drafts += [_Draft(at, _instruction(grammar, one), False) for one in expansion.before]
        if expansion.body is None:
            instruction, exchanged = statement.instruction, operands.get(at, {})
            kept = frozenset(range(len(instruction.uses))) - exchanged.keys()
            drafts.append(_Draft(at, exchange(body, instruction, exchanged), True, kept))
        elif expansion.body:
            drafts.append(_Draft(at, _instruction(grammar, expansion.body), False))
    return drafts


def _instruction(grammar: PtxGrammar, donor: str) -> Instruction:
    place = grammar.places[donor]
    return grammar.bodies[place.body].statements[place.statement].instruction


def exchange(body: Body, instruction: Instruction, texts: Mapping[int, str]) -> Instruction:
    """An instruction with other operands, by the number of the use."""
    if not texts:
        return instruction
    text = instruction.text
    for number in sorted(texts, reverse=True):  # uses stand in the order of the text
        use = instruction.uses[number]
        text = text[: use.start] + texts[number] + text[use.end :]
    changed = read_instruction(text, body.function.registers)
    assert changed is not None
    return changed


def _repaired(body: Body, drafts: Sequence[_Draft]) -> Iterator[Placed]:
    steps, where = _steps(body, drafts)
    defined = Flow(steps, body.bits).defined
    original = body.flow.defined
    for draft, k in zip(drafts, where, strict=True):
        repairs: dict[int, str] = {}
        for number, use in enumerate(draft.instruction.uses):
            if not use.name or defined[k] & body.bits[use.name]:
                continue
            if number in draft.kept and not original[draft.at] & body.bits[use.name]:
                continue
            other = _nearest(body, steps, k, defined[k], body.function.registers[use.name])
            if other is not None:
                repairs[number] = other
        yield Placed(draft.at, exchange(body, draft.instruction, repairs), draft.own)


def _steps(body: Body, drafts: Sequence[_Draft]) -> tuple[list[Step], list[int]]:
    """The steps of a variant, and which of them each draft is.

    The first draft of a statement takes its labels; a statement without any leaves them alone.
    """
    by_statement: dict[int, list[_Draft]] = {}
    for draft in drafts:
        by_statement.setdefault(draft.at, []).append(draft)
    steps: list[Step] = []
    where: list[int] = []
    for at, step in enumerate(body.steps):
        labels = step.labels
        for draft in by_statement.get(at, ()):
            where.append(len(steps))
            targets = step.targets if draft.own else ()
            steps.append(Step(labels, draft.instruction, targets))
            labels = ()
        if labels:
            steps.append(Step(labels, None))
    return steps, where


def _nearest(body: Body, steps: Sequence[Step], k: int, defined: int, kind: RuleType) -> str | None:
    """The register of a type that is defined at a step and was written last before it."""
    for step in reversed(steps[:k]):
        if step.instruction is not None:
            for name in reversed(step.instruction.defines):
                if body.function.registers[name] is kind and defined & body.bits[name]:
                    return name
    return None
