"""Apply edits to a function of instructions, and repair broken uses of registers.

A use is broken if some way leads to it on which nothing writes its register: the instruction that
did is gone, or the use came to where it is not written yet. GEVO repairs such operands with another
value of the type (Liou et al., TACO 2020). Here it is the register of the type that is
defined on every way there and was written last in the order of the text. Where there is none, PTX
keeps the use, which reads what the assembler finds in its register, and LLVM-IR reads zero. A use
that the compiler left like that in its own place stays too.

In PTX a copied instruction writes the register that it writes in its own place. Where registers are
assigned once (:mod:`gi_cuda.grammar.frontends.instructions.copies`), a copy may need another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from gi_cuda.grammar.frontends.instructions.body import Body
from gi_cuda.grammar.frontends.instructions.copies import named_once
from gi_cuda.grammar.frontends.instructions.drafts import Draft
from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.instructions.instruction import Instruction
from gi_cuda.grammar.rule import Expansion

_ZERO = "zeroinitializer"
"""LLVM-IR's zero of any type."""


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


def alter(grammar: InstructionGrammar, expansions: Mapping[str, Expansion]) -> Iterator[Altered]:
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
        if body.function.assigned_once:
            drafts = named_once(body, drafts)
        yield Altered(number, _Repair(body, drafts).changes())


def _drafts(
    grammar: InstructionGrammar, body: Body, at: int, changes: Mapping[int | None, Expansion]
) -> list[Draft]:
    """Return the instructions, before repair, that replace a statement.

    Args:
        grammar: the grammar.
        body: the body.
        at: number of the statement.
        changes: the expansions of the statement (key None) and of its operands, by use number.
    """
    expansion = changes.get(None, Expansion())
    drafts = [_copy(grammar, one) for one in expansion.before]
    if expansion.body is None:
        operands = {
            use: grammar.text(one.body)
            for use, one in changes.items()
            if use is not None and one.body
        }
        drafts.append(Draft.own(body, at).reading(operands, body))
    elif expansion.body:
        drafts.append(replace(_copy(grammar, expansion.body), instead=True))
    return drafts


def _copy(grammar: InstructionGrammar, donor: str) -> Draft:
    place = grammar.places[donor]
    instruction = grammar.bodies[place.body].statements[place.statement].instruction
    return Draft(instruction, place.statement)


class _Repair:
    """Repairs one function of a variant.

    Edits do not change labels and jumps, so the basic blocks stay the same, with other steps.
    """

    def __init__(self, body: Body, drafts: Mapping[int, Sequence[Draft]]) -> None:
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
        entries = flow.entries(gains)
        for number, entry in enumerate(entries):
            if number not in touched and entry == flow.original_entries[number]:
                continue
            for at in flow.statements_of(number):
                step = flow.steps[at]
                # Nearly all are neither.
                if at in self._drafts or step.reads & flow.defined[at] & ~entry:
                    self._place(at, self._repaired(at, entry), found)
                entry |= self._writes(at)
        for at in self._body.phis:
            self._place(at, self._merged(at, entries, gains), found)
        return found

    def _place(
        self, at: int, repaired: Iterator[Placed], found: dict[int, tuple[Placed, ...]]
    ) -> None:
        placed = tuple(repaired)
        if [one.instruction for one in placed] != [self._body.statements[at].instruction]:
            found[at] = placed

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
        for draft in self._drafts.get(at, [Draft.own(body, at)]):
            repairs: dict[int, str] = {}
            for number, use in enumerate(draft.instruction.uses):
                if not use.name or use.block or defined & body.bits[use.name]:
                    continue
                if number in draft.kept and not original & body.bits[use.name]:
                    continue
                written = chain(reversed(before), self._back_from(at))
                if other := self._nearest(written, defined, body.function.registers[use.name]):
                    repairs[number] = other
            yield Placed(draft.reading(repairs, body).instruction, draft.original is None)
            before.append(draft.instruction)
            defined |= body.mask(draft.instruction.defines)

    def _merged(self, at: int, entries: Sequence[int], gains: Sequence[int]) -> Iterator[Placed]:
        """A phi: each of its operands is read at the end of a block."""
        body = self._body
        for draft in self._drafts.get(at, [Draft.own(body, at)]):
            repairs: dict[int, str] = {}
            for number, use in enumerate(draft.instruction.uses):
                block = body.ends[use.block]
                defined = entries[block] | gains[block]
                if use.name and not defined & body.bits[use.name]:
                    written = self._back_from(body.flow.blocks[block].last)
                    kind = body.function.registers[use.name]
                    repairs[number] = self._nearest(written, defined, kind) or _ZERO
            yield Placed(draft.reading(repairs, body).instruction, True)

    def _nearest(self, written: Iterator[Instruction], defined: int, kind: str) -> str | None:
        """Return the register of a type that was written last before a place, or None.

        Args:
            at: number of the statement at the place.
            before: instructions that precede the use in the replacement of the statement.
            defined: the registers that are defined there, as a bit mask.
            kind: type of the register.
        """
        body = self._body
        for instruction in written:
            for name in reversed(instruction.defines):
                # A variant's copies under names of their own are read where they are put alone.
                known = body.bits.get(name, 0)
                if defined & known and body.function.registers[name] == kind:
                    return name
        for name in reversed(body.function.parameters):
            if body.function.registers[name] == kind:
                return name
        return _ZERO if body.function.assigned_once else None

    def _back_from(self, at: int) -> Iterator[Instruction]:
        for earlier in range(at - 1, -1, -1):
            if earlier in self._drafts:
                for draft in reversed(self._drafts[earlier]):
                    yield draft.instruction
            else:
                yield self._body.statements[earlier].instruction
