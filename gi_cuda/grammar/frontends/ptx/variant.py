"""Apply edits to PTX functions, and repair broken uses of registers.

A use is broken if its register is not written on some path to it: the edit removed the instruction
that wrote the register, or moved the use to a place before it. GEVO repairs a broken operand with
another value of its type (Liou et al., TACO 2020). Here the repair takes a register of the same
type that is defined on every path to the use: the one written last in the order of the text. If
there is no such register, the use stays, and reads an undefined value. A use that nvcc itself left
broken at its place stays too.

A copied instruction writes the same register as the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from gi_cuda.grammar.frontends.ptx.body import Body
from gi_cuda.grammar.frontends.ptx.grammar import PtxGrammar
from gi_cuda.grammar.frontends.ptx.operands import Instruction, read_instruction
from gi_cuda.grammar.rule import Expansion
from gi_cuda.grammar.rule_types import RuleType


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction of a variant.

    Attributes:
        instruction: the repaired instruction.
        own: True if it is the original instruction of its statement, perhaps with other operands.
    """

    instruction: Instruction
    own: bool


@dataclass(frozen=True, slots=True)
class Altered:
    """A changed function of a variant.

    Attributes:
        body: number of the function's body.
        changes: the instructions that replace each changed statement, by statement number.
    """

    body: int
    changes: Mapping[int, tuple[Placed, ...]]


def alter(grammar: PtxGrammar, expansions: Mapping[str, Expansion]) -> Iterator[Altered]:
    """Yield the functions that expansions change.

    Raises:
        KeyError: the grammar does not have one of the rules or donors.
    """
    changes: dict[int, dict[int, dict[int | None, Expansion]]] = {}
    for name, expansion in expansions.items():
        place = grammar.places[name]
        statements = changes.setdefault(place.body, {})
        statements.setdefault(place.statement, {})[place.use] = expansion
    for number in sorted(changes):
        body = grammar.bodies[number]
        drafts = {at: _drafts(grammar, body, at, one) for at, one in changes[number].items()}
        yield Altered(number, _Repair(body, drafts).changes())


@dataclass(frozen=True, slots=True)
class _Draft:
    """An instruction before repair.

    Attributes:
        own: True if it is the original instruction of its statement.
        kept: numbers of the uses that are unchanged at their original place.
    """

    instruction: Instruction
    own: bool
    kept: frozenset[int] = frozenset()


def _drafts(
    grammar: PtxGrammar, body: Body, at: int, changes: Mapping[int | None, Expansion]
) -> list[_Draft]:
    """Return the instructions, before repair, that replace a statement.

    Args:
        grammar: the grammar.
        body: the body.
        at: number of the statement.
        changes: the expansions of the statement (key None) and of its operands, by use number.
    """
    expansion = changes.get(None, Expansion())
    drafts = [_Draft(_instruction(grammar, one), False) for one in expansion.before]
    if expansion.body is None:
        operands = {
            use: grammar.text(one.body)
            for use, one in changes.items()
            if use is not None and one.body
        }
        drafts.append(_own(body, at, operands))
    elif expansion.body:
        drafts.append(_Draft(_instruction(grammar, expansion.body), False))
    return drafts


def _own(body: Body, at: int, operands: Mapping[int, str]) -> _Draft:
    """Return a statement at its original place, with other texts for some operands."""
    instruction = body.statements[at].instruction
    kept = frozenset(range(len(instruction.uses))) - operands.keys()
    return _Draft(exchange(body, instruction, operands), True, kept)


def _instruction(grammar: PtxGrammar, donor: str) -> Instruction:
    place = grammar.places[donor]
    return grammar.bodies[place.body].statements[place.statement].instruction


def exchange(body: Body, instruction: Instruction, texts: Mapping[int, str]) -> Instruction:
    """Return an instruction with other operands.

    Args:
        body: the body.
        instruction: the instruction.
        texts: the new text of each changed operand, by use number.
    """
    if not texts:
        return instruction
    text = instruction.text
    for number in sorted(texts, reverse=True):  # uses stand in the order of the text
        use = instruction.uses[number]
        text = text[: use.start] + texts[number] + text[use.end :]
    changed = read_instruction(text, body.function.registers)
    assert changed is not None
    return changed


class _Repair:
    """Repairs one function of a variant.

    Edits do not change labels and jumps, so the basic blocks stay the same, with other steps.
    """

    def __init__(self, body: Body, drafts: Mapping[int, list[_Draft]]) -> None:
        self._body = body
        self._drafts = drafts

    def changes(self) -> dict[int, tuple[Placed, ...]]:
        """Return the instructions that replace each changed statement, by statement number."""
        flow = self._body.flow
        touched = {flow.block_of[at] for at in self._drafts}
        gains = list(flow.gains)
        for number in touched:
            gains[number] = 0
            for at in flow.statements_of(number):
                gains[number] |= self._writes(at)
        found: dict[int, tuple[Placed, ...]] = {}
        for number, entry in enumerate(flow.entries(gains)):
            if number not in touched and entry == flow.original_entries[number]:
                continue
            for at in flow.statements_of(number):
                step = flow.steps[at]
                # Skip the many statements that are neither edited nor affected by an edit.
                if at in self._drafts or step.reads & flow.defined[at] & ~entry:
                    placed = tuple(self._repaired(at, entry))
                    if [one.instruction for one in placed] != [step.instruction]:
                        found[at] = placed
                entry |= self._writes(at)
        return found

    def _writes(self, at: int) -> int:
        """Return the registers, as a bit mask, that a statement or its replacement writes."""
        if at not in self._drafts:
            return self._body.flow.steps[at].writes
        return self._body.mask(
            name for draft in self._drafts[at] for name in draft.instruction.defines
        )

    def _repaired(self, at: int, defined: int) -> Iterator[Placed]:
        body = self._body
        original = body.flow.defined[at]
        before: list[Instruction] = []
        for draft in self._drafts.get(at, [_own(body, at, {})]):
            repairs: dict[int, str] = {}
            for number, use in enumerate(draft.instruction.uses):
                if not use.name or defined & body.bits[use.name]:
                    continue
                if number in draft.kept and not original & body.bits[use.name]:
                    continue
                kind = body.function.registers[use.name]
                other = self._nearest(at, before, defined, kind)
                if other is not None:
                    repairs[number] = other
            yield Placed(exchange(body, draft.instruction, repairs), draft.own)
            before.append(draft.instruction)
            defined |= body.mask(draft.instruction.defines)

    def _nearest(
        self, at: int, before: Sequence[Instruction], defined: int, kind: RuleType
    ) -> str | None:
        """Return the register of a type that was written last before a place, or None.

        Args:
            at: number of the statement at the place.
            before: instructions that precede the use in the replacement of the statement.
            defined: the registers that are defined there, as a bit mask.
            kind: type of the register.
        """
        body = self._body
        for instruction in chain(reversed(before), self._back_from(at)):
            for name in reversed(instruction.defines):
                if body.function.registers[name] is kind and defined & body.bits[name]:
                    return name
        return None

    def _back_from(self, at: int) -> Iterator[Instruction]:
        for earlier in range(at - 1, -1, -1):
            if earlier in self._drafts:
                for draft in reversed(self._drafts[earlier]):
                    yield draft.instruction
            else:
                yield self._body.statements[earlier].instruction
