"""Analysis of a CUDA source: its functions, declarations and unnamed rules."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition, definitions, evolved
from gi_cuda.grammar.frontends.cuda.declarations.infer import Inference
from gi_cuda.grammar.frontends.cuda.declarations.toplevel import declare_file_level, read_head
from gi_cuda.grammar.frontends.cuda.declarations.types import TypeBook, read_types
from gi_cuda.grammar.frontends.cuda.rendering.seams import read_seams
from gi_cuda.grammar.frontends.cuda.rules.body import BodyReader
from gi_cuda.grammar.frontends.cuda.rules.findings import Findings
from gi_cuda.grammar.frontends.cuda.rules.operands import OperandReader
from gi_cuda.grammar.frontends.cuda.text.macros import study
from gi_cuda.grammar.frontends.cuda.text.numbers import read_numbers
from gi_cuda.grammar.frontends.cuda.text.reading import read
from gi_cuda.grammar.frontends.cuda.text.syntax import parse
from gi_cuda.grammar.presence import read_presence
from gi_cuda.grammar.rule import Function
from gi_cuda.grammar.rule_types import PAPER_TYPES, RuleType
from gi_cuda.grammar.scope import Scope
from gi_cuda.grammar.source import Source


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of analysing a source: the functions that evolve, and the findings in them."""

    findings: Findings
    functions: tuple[Function, ...]
    definitions: tuple[Definition, ...]
    """The functions' definitions, with their syntax trees."""
    root: Node
    """The syntax tree of the source."""

    @property
    def bodies(self) -> tuple[Node, ...]:
        """The syntax trees of the functions' bodies."""
        return tuple(body for _, body in _bodies(self.definitions))


def analyse(
    source: Source, kernels: Sequence[str] | None, types: frozenset[RuleType] = PAPER_TYPES
) -> Analysis:
    """Read kernels, and the device functions of the file that they reach.

    Args:
        source: the source.
        kernels: names of the kernels; None: all.
        types: the types of rules to make.

    Raises:
        UserError: there is no kernel, or no kernel of a requested name.
    """
    presence = read_presence(source.text)
    macros = study(presence.macros())
    reading = read(source.text, presence)
    root = parse(reading.code)
    found = tuple(definitions(root, source.text, macros.names))
    chosen = evolved(found, kernels, source, macros.names)
    findings = Findings(source.text, presence, macros, reading)
    declare_file_level(root, findings)
    for number, definition in enumerate(chosen):
        already = len(findings.declarations)
        read_head(definition, number, findings)
        body = definition.node.child_by_field_name("body")
        if body is not None:
            BodyReader(findings, number, definition.name).read(body)
        _note_hidden(definition, number, findings, already)
    findings.sort()
    if types - PAPER_TYPES:
        book = types_in(source, root, [b for _, b in _bodies(chosen)])
        _read_operands(chosen, findings, book)
    if RuleType.SEAM in types:
        for number, body in _bodies(chosen):
            read_seams(body, number, findings)
    if RuleType.NUMBER in types:
        for number, definition in enumerate(chosen):
            read_numbers(definition.node, number, findings)
    findings.rules = [rule for rule in findings.rules if rule.type in types]
    functions = tuple(
        Function(d.name, d.kernel, d.outer.start_byte, d.outer.end_byte) for d in chosen
    )
    return Analysis(findings, functions, chosen, root)


def types_in(source: Source, root: Node, bodies: Sequence[Node]) -> TypeBook:
    """Return the types that are known in a source: its own, and those of its included headers."""
    presence = read_presence(source.text)
    bodies_of: dict[str, set[str]] = {}
    for macro in presence.macros():
        if macro.parameters is None:
            settled = not presence.is_guarded(macro)
            bodies_of.setdefault(macro.name, set()).add(macro.body if settled else "")
    macros = {name: found.pop() for name, found in bodies_of.items() if len(found) == 1}
    return read_types(root, source.text, bodies, map(_header, source.beside), macros)


@lru_cache(maxsize=256)
def _header(text: str) -> tuple[Node, str]:
    return parse(read(text, read_presence(text)).code), text


def _bodies(chosen: Sequence[Definition]) -> list[tuple[int, Node]]:
    """Return the bodies of the functions, each with the function's number."""
    found = ((k, d.node.child_by_field_name("body")) for k, d in enumerate(chosen))
    return [(number, body) for number, body in found if body is not None]


def _read_operands(chosen: Sequence[Definition], findings: Findings, book: TypeBook) -> None:
    """Make the rules within statements and conditions of the functions that evolve."""
    reader = OperandReader(findings, Inference(findings, Scope.of(findings.declarations), book))
    for number, body in _bodies(chosen):
        reader.read(body, number)


def _note_hidden(definition: Definition, number: int, findings: Findings, already: int) -> None:
    """Assume that text hidden from the parser uses and declares each name in it.

    Args:
        definition: the function.
        number: number of the function.
        findings: the findings; the names are added there.
        already: number of declarations found before this function's own.
    """
    own = findings.declarations[already:]
    first, last = definition.node.start_byte, definition.node.end_byte
    directives = findings.presence.directives
    for k in range(bisect_left(directives, first, key=lambda d: d.start), len(directives)):
        if directives[k].start >= last:
            break
        if directives[k].word == "pragma":
            findings.use_words(directives[k].start, directives[k].end)
    for hidden in findings.reading.hidden:
        if first <= hidden.start < last:
            findings.use_words(hidden.start, hidden.end)
            until = min(last, hidden.until)
            shown = {
                d.name: d.end
                for d in own
                if d.function == number and hidden.shown[0] <= d.start < hidden.shown[1]
            }
            for name in findings.words_in(hidden.start, hidden.end):
                findings.declare(name, "", hidden.start, shown.get(name, until), number)
