"""A PTX module as a grammar: instructions and the operands that they read are rules.

The edits are those of GEVO (Liou, Forrest and Wu, "GEVO: GPU code optimization using evolutionary
computation", TACO 2020), applied to PTX instead of LLVM IR. An instruction can be deleted, copied
before another instruction, or put in the place of another one. An operand that an instruction reads
can be replaced by another value of its type. Two edits make a move or a swap.

Labels, directives, declarations, calls and jumps stay. An instruction may be inserted before a
jump, and a jump's predicate may be replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.ptx.body import Body
from gi_cuda.grammar.frontends.ptx.loops import loops_of
from gi_cuda.grammar.frontends.ptx.operands import OperandUse
from gi_cuda.grammar.frontends.ptx.syntax import PtxFunction, read_functions
from gi_cuda.grammar.interface import Rules
from gi_cuda.grammar.rule import Rule
from gi_cuda.grammar.rule_types import OPERAND_TYPES, Operation, RuleType
from gi_cuda.grammar.source import LineIndex, Source


@dataclass(frozen=True, slots=True)
class PtxPlace:
    """The place of a rule.

    Attributes:
        body: number of the function's body.
        statement: number of the statement in the body.
        use: number of the operand among those that the statement reads; None: the statement itself.
    """

    body: int
    statement: int
    use: int | None = None


@dataclass(frozen=True)
class PtxGrammar(Rules):
    """A PTX module cut into fixed text and rules; its loops are the natural ones.

    Attributes:
        bodies: bodies of the functions that evolve.
        places: the place of each rule, by name.
    """

    bodies: tuple[Body, ...] = field(repr=False)
    places: Mapping[str, PtxPlace] = field(repr=False)
    _donors: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def use(self, place: PtxPlace) -> OperandUse | None:
        """Return the operand at a place; None if the place is a whole statement."""
        if place.use is None:
            return None
        return self.bodies[place.body].statements[place.statement].instruction.uses[place.use]

    def donors(self, place: str) -> tuple[str, ...]:
        """Return the donors that may go to a place, without rules of the same text.

        An instruction takes all other instructions of its function. A register takes registers of
        its declared type that are defined there on every path. A literal takes literals of its kind
        in the function. Of rules with equal texts, only the first is a donor.
        """
        found = self._donors.get(place)
        if found is None:
            found = self._donors[place] = tuple(self._find(self.rule(place)))
        return found

    def count(self, place: str) -> int:
        """Return the number of donors that :meth:`donors` returns for a place."""
        return len(self.donors(place))

    def operations(self, place: str) -> tuple[Operation, ...]:
        """Return the operations that a rule offers."""
        rule = self.rule(place)
        if rule.type is RuleType.STATEMENT:
            others = (Operation.REPLACE, Operation.INSERT) if self.donors(place) else ()
            return (Operation.DELETE, *others)
        if not self.donors(place):
            return ()
        return (Operation.INSERT if rule.type is RuleType.JUMP else Operation.REPLACE,)

    @cached_property
    def _groups(self) -> Mapping[tuple[int, str], Mapping[str, str]]:
        """For each function and type (or kind of literal), the first rule with each text."""
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
        defined = body.flow.defined[place.statement]
        registers = rule.type in OPERAND_TYPES and rule.type is not RuleType.IMM
        for text, name in self._groups.get((place.body, kind), {}).items():
            if text != own and (not registers or defined & body.bits[text]):
                yield name


def convert_ptx(
    source: Source, kernels: Collection[str] | None = None, functions: Collection[str] | None = None
) -> PtxGrammar:
    """Read PTX as a grammar.

    The kernels and the functions that they call are read as rules; everything else is fixed text.

    Args:
        source: the module.
        kernels: symbols of the kernels; None: every ``.entry``.
        functions: symbols of the functions that may evolve besides kernels; None: all.

    Raises:
        UserError: there is no kernel, or no kernel of a requested name.
    """
    found = {function.name: function for function in read_functions(source.text)}
    entries = [function.name for function in found.values() if function.kernel]
    wanted = entries if kernels is None else list(kernels)
    for name in wanted:
        if name not in entries:
            raise UserError(
                f"the PTX has no kernel {name}",
                where=source.name,
                hint="it has: " + (", ".join(entries) or "no kernel at all"),
            )
    if not wanted:
        raise UserError("the PTX has no kernel", where=source.name)
    reached = _reached(found, wanted)
    if functions is not None:
        reached &= {*wanted, *functions}
    bodies = tuple(Body(found[name]) for name in found if name in reached)
    lines = LineIndex(source)
    rules: list[Rule] = []
    places: dict[str, PtxPlace] = {}
    for number, body in enumerate(bodies):
        for rule, place in _rules(number, body, lines):
            rules.append(rule)
            places[rule.name] = place
    return PtxGrammar(source, tuple(rules), tuple(loops_of(bodies, lines)), {}, bodies, places)


def _reached(functions: Mapping[str, PtxFunction], wanted: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found.add(name)
            waiting += functions[name].calls
    return frozenset(found)


def _rules(number: int, body: Body, lines: LineIndex) -> Iterator[tuple[Rule, PtxPlace]]:
    """Yield the rules of one body, with their places."""
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
        if statement.nested or instruction.operation == "call":
            continue
        kind = RuleType.JUMP if instruction.jumps else RuleType.STATEMENT
        yield rule(kind, statement.start, statement.end), PtxPlace(number, at)
        for use_number, use in enumerate(instruction.uses):
            if instruction.operation == "brx" and not (instruction.guarded and use_number == 0):
                continue  # with another index, the indirect branch could go anywhere
            kind = body.function.registers[use.name] if use.name else RuleType.IMM
            span = statement.start + use.start, statement.start + use.end
            yield rule(kind, *span), PtxPlace(number, at, use_number)
