"""A text of instructions as a grammar: instructions and what they read are rules.

The edits are those of GEVO (Liou, Forrest and Wu, "GEVO: GPU code optimization using evolutionary
computation", TACO 2020), on PTX one level further down: an instruction is deleted, copied before
another one, or put in another's place; what an instruction reads gives way to another value of its
type. Two edits make a move or a swap.

Labels, directives, declarations and jumps stay, calls in PTX and phis in LLVM-IR too. Something may
be inserted before a jump, and its predicate may be exchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.instructions.body import Body
from gi_cuda.grammar.frontends.instructions.instruction import InstructionFunction, OperandUse
from gi_cuda.grammar.interface import Rules
from gi_cuda.grammar.rule import Loop, Rule
from gi_cuda.grammar.rule_types import OPERAND_TYPES, Operation, RuleType
from gi_cuda.grammar.source import LineIndex, Source


@dataclass(frozen=True, slots=True)
class InstructionPlace:
    """Place of a rule: the numbers of its body, its statement and its operand; operand None: the
    whole statement."""

    body: int
    statement: int
    use: int | None = None


@dataclass(frozen=True)
class InstructionGrammar(Rules):
    """A module cut into fixed text and rules; its loops are the natural ones.

    Attributes:
        bodies: the functions that evolve.
        places: where each rule is, by its name.
    """

    bodies: tuple[Body, ...] = field(repr=False)
    places: Mapping[str, InstructionPlace] = field(repr=False)
    _donors: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def use(self, place: InstructionPlace) -> OperandUse | None:
        """Return the operand at a place; None for a whole statement."""
        if place.use is None:
            return None
        return self.bodies[place.body].statements[place.statement].instruction.uses[place.use]

    def donors(self, place: str) -> tuple[str, ...]:
        """The donors that may go to a place, never the place itself nor what spells the same.

        An instruction takes all others of its function. A register gives way to registers of the
        type that it is declared with which are defined there on every way, a literal to literals of
        its kind in the function; the first rule that spells it stands for each.
        """
        found = self._donors.get(place)
        if found is None:
            found = self._donors[place] = tuple(self._find(self.rule(place)))
        return found

    def count(self, place: str) -> int:
        """Return the number of donors for a place."""
        return len(self.donors(place))

    def operations(self, place: str) -> tuple[Operation, ...]:
        """Return the edit operations that apply to a rule."""
        rule = self.rule(place)
        if rule.type is RuleType.STATEMENT:
            others = (Operation.REPLACE, Operation.INSERT) if self.donors(place) else ()
            return (Operation.DELETE, *others)
        if not self.donors(place):
            return ()
        return (Operation.INSERT if rule.type is RuleType.JUMP else Operation.REPLACE,)

    @cached_property
    def _groups(self) -> Mapping[tuple[int, str], Mapping[str, str]]:
        """The first rule of each text, by function and by type or kind."""
        found: dict[tuple[int, str], dict[str, str]] = {}
        for rule in self.rules:
            if rule.type is not RuleType.JUMP:
                key = self.places[rule.name].body, self._kind(rule)
                found.setdefault(key, {}).setdefault(self.text(rule.name), rule.name)
        return found

    def _kind(self, rule: Rule) -> str:
        use = self.use(self.places[rule.name])
        return use.literal if use is not None and use.literal else str(rule.type)

    def _find(self, rule: Rule) -> Iterator[str]:
        place, own = self.places[rule.name], self.text(rule.name)
        jump = rule.type is RuleType.JUMP
        kind = str(RuleType.STATEMENT) if jump else self._kind(rule)
        body = self.bodies[place.body]
        defined = body.defined(place.statement, self.use(place))
        registers = rule.type in OPERAND_TYPES and rule.type is not RuleType.IMM
        for text, name in self._groups.get((place.body, kind), {}).items():
            if text != own and (not registers or defined & body.bits[text]):
                yield name


def convert(
    source: Source,
    language: str,
    functions: Iterable[InstructionFunction],
    kernels: Collection[str] | None = None,
    wanted_functions: Collection[str] | None = None,
    loops_of: Callable[[Sequence[Body], LineIndex], Iterable[Loop]] = lambda *_: (),
) -> InstructionGrammar:
    """Cut a module into a grammar.

    The kernels and those functions that they call are read as rules; everything else is fixed text.

    Args:
        source: the module.
        language: its name, for messages.
        functions: of the module, with bodies.
        kernels: their symbols; None: all.
        wanted_functions: symbols of the functions that may be rules; None: all of the module.
        loops_of: finds the loops that can be guarded; as it is given, none.

    Raises:
        UserError: there is no kernel, or none of a name asked for.
    """
    found = {function.name: function for function in functions}
    entries = [function.name for function in found.values() if function.kernel]
    wanted = entries if kernels is None else list(kernels)
    for name in wanted:
        if name not in entries:
            raise UserError(
                f"the {language} has no kernel {name}",
                where=source.name,
                hint="it has: " + (", ".join(entries) or "no kernel at all"),
            )
    if not wanted:
        raise UserError(f"the {language} has no kernel", where=source.name)
    reached = _reached(found, wanted)
    if wanted_functions is not None:
        reached &= {*wanted, *wanted_functions}
    bodies = tuple(Body(found[name]) for name in found if name in reached)
    lines = LineIndex(source)
    rules: list[Rule] = []
    places: dict[str, InstructionPlace] = {}
    for number, body in enumerate(bodies):
        for rule, place in _rules(number, body, lines):
            rules.append(rule)
            places[rule.name] = place
    return InstructionGrammar(
        source, tuple(rules), tuple(loops_of(bodies, lines)), {}, bodies, places
    )


def _reached(functions: Mapping[str, InstructionFunction], wanted: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found.add(name)
            waiting += functions[name].calls
    return frozenset(found)


def _rules(number: int, body: Body, lines: LineIndex) -> Iterator[tuple[Rule, InstructionPlace]]:
    """The rules of one body."""
    seen: Counter[tuple[int, RuleType]] = Counter()
    name_of_function = body.function.name

    def rule(kind: RuleType, start: int, end: int) -> Rule:
        file, line = lines.at(start)
        seen[line, kind] += 1
        again = f".{seen[line, kind]}" if seen[line, kind] > 1 else ""
        prefix = "" if kind is RuleType.STATEMENT else str(kind)
        name = f"{prefix}_{file}_{line}{again}"
        return Rule(name, kind, file, line, start, end, name_of_function)

    for at, statement in enumerate(body.statements):
        instruction = statement.instruction
        if statement.fixed:
            continue
        if not instruction.merges:
            kind = RuleType.JUMP if instruction.jumps else RuleType.STATEMENT
            yield rule(kind, statement.start, statement.end), InstructionPlace(number, at)
        for use_number, use in enumerate(instruction.uses):
            found = body.function.registers[use.name] if use.name else RuleType.IMM
            if use.fixed or not isinstance(found, RuleType):
                continue
            kind = found
            span = statement.start + use.start, statement.start + use.end
            yield rule(kind, *span), InstructionPlace(number, at, use_number)
