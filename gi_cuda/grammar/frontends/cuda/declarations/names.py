"""Reader of names: declarations, uses and assignments in a function.

It makes one pass over the syntax tree with an explicit stack, so deep nesting does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.rules.findings import Findings
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node


class NodePlace(NamedTuple):
    """The context of a node.

    Attributes:
        end: end of the scope of names declared here.
        block: True if directly in a ``{}`` block, so that a statement may vanish.
        dangling: True if an outer ``else`` would bind here if the ``else`` here vanished.
        rules: True if rules are made here.
    """

    end: int
    block: bool = True
    dangling: bool = False
    rules: bool = True


Pending = Iterable[tuple[Node, NodePlace]]
Reader = Callable[[Any, Node, NodePlace], Pending]


class NameReader:
    """Reads the names of one function, and adds them to ``findings``."""

    readers: ClassVar[Mapping[str, Reader]]
    """Methods that read a node and return the nodes to read next, by node type."""

    def __init__(self, findings: Findings, function: int, name: str) -> None:
        self.findings = findings
        self.function = function
        self.function_name = name

    def read(self, body: Node) -> None:
        """Read a function's body."""
        stack: list[tuple[Node, NodePlace]] = [(body, NodePlace(body.end_byte))]
        while stack:
            node, place = stack.pop()
            reader = self.readers.get(node.type)
            if reader is not None:
                stack.extend(reader(self, node, place))
            elif node.child_count:
                stack.extend(self._within(node, place))

    # -- declarations -----------------------------------------------------------------------

    def declaration(self, node: Node, place: NodePlace) -> Pending:
        self.findings.declare_all(node, place.end, self.function)
        return [(child, place._replace(rules=False)) for child in node.children]

    def initialised(self, node: Node, place: NodePlace) -> Pending:
        self.findings.assign(name_node(node), node)
        return self._within(node, place)

    def local_type(self, node: Node, place: NodePlace) -> Pending:
        """Read a class defined in a function; its members are not visible outside."""
        if node.child_by_field_name("body") is None:
            return self._within(node, place)
        name = node.child_by_field_name("name")
        if name is not None:
            self.findings.declare_name(name, place.end, self.function)
        return self._within(node, place._replace(end=node.end_byte))

    def alias(self, node: Node, place: NodePlace) -> Pending:
        """Read ``using a = b`` or ``typedef b a``."""
        name = node.child_by_field_name("name")
        name = name or name_node(node.child_by_field_name("declarator"))
        if name is not None:
            self.findings.declare_name(name, place.end, self.function)
        return self._within(node, place)

    def enumeration(self, node: Node, place: NodePlace) -> Pending:
        name = node.child_by_field_name("name")
        if name is not None and node.child_by_field_name("body") is not None:
            self.findings.declare_name(name, place.end, self.function)
        return self._within(node, place)

    def enumerator(self, node: Node, place: NodePlace) -> Pending:
        name = node.child_by_field_name("name")
        if name is not None:
            self.findings.declare_name(name, place.end, self.function)
        return self._within(node, place)

    def error(self, node: Node, place: NodePlace) -> Pending:
        self._opaque(node, place)
        self.findings.use_words(node.start_byte, node.end_byte)
        return []

    # -- expressions ------------------------------------------------------------------------

    def name(self, node: Node, place: NodePlace) -> Pending:
        if node.start_byte not in self.findings.declared_at:
            self.findings.use(self.findings.span(node), node.start_byte)
        return []

    def qualified(self, node: Node, place: NodePlace) -> Pending:
        """Read ``a::b<c>``: only ``a`` and ``c`` are looked up from here."""
        scope = node.child_by_field_name("scope")
        if scope is not None:
            yield scope, place
        name = node.child_by_field_name("name")
        arguments = None if name is None else name.child_by_field_name("arguments")
        if arguments is not None:
            yield arguments, place
        elif name is not None and name.type == "qualified_identifier":
            yield from self.qualified(name, place) if scope is None else ()

    def assignment(self, node: Node, place: NodePlace) -> Pending:
        self.findings.assign(node.child_by_field_name("left"), node)
        return self._within(node, place)

    def update(self, node: Node, place: NodePlace) -> Pending:
        self.findings.assign(node.child_by_field_name("argument"), node)
        return self._within(node, place)

    def pointer(self, node: Node, place: NodePlace) -> Pending:
        operator = node.child_by_field_name("operator")
        if operator is not None and operator.type == "&":
            self.findings.assign(node.child_by_field_name("argument"), node)
        return self._within(node, place)

    def call(self, node: Node, place: NodePlace) -> Pending:
        called = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if called is not None and arguments is not None:
            name = self.findings.span(called)
            if name in self.findings.macros.assigning:
                for argument in arguments.named_children:
                    self.findings.assign(argument, node)
                for inner in self.findings.macros.names[name]:
                    self.findings.assignments.append((node.start_byte, node.end_byte, inner))
        return self._within(node, place)

    def lambda_(self, node: Node, place: NodePlace) -> Pending:
        """Read a lambda's names; its body is not edited."""
        inside = NodePlace(node.end_byte, rules=False)
        declarator = node.child_by_field_name("declarator")
        parameters = None if declarator is None else declarator.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters is not None else ():
            self.findings.declare_all(parameter, node.end_byte, self.function)
        self.findings.declare("return", "", node.start_byte, node.end_byte, self.function)
        return [(child, inside) for child in node.named_children]

    def parameter(self, node: Node, place: NodePlace) -> Pending:
        self.findings.declare_all(node, place.end, self.function)
        return self._within(node, place)

    def _opaque(self, node: Node, place: NodePlace) -> None:
        start, end = node.start_byte, node.end_byte
        self.findings.declare_opaque(start, end, place.end, self.function)

    def _within(self, node: Node, place: NodePlace) -> Pending:
        inside = place._replace(rules=False, block=False)
        return [(child, inside) for child in node.children]


NAME_READERS: Mapping[str, Reader] = {
    "declaration": NameReader.declaration,
    "init_declarator": NameReader.initialised,
    "struct_specifier": NameReader.local_type,
    "class_specifier": NameReader.local_type,
    "union_specifier": NameReader.local_type,
    "enum_specifier": NameReader.enumeration,
    "alias_declaration": NameReader.alias,
    "type_definition": NameReader.alias,
    "enumerator": NameReader.enumerator,
    "ERROR": NameReader.error,
    "identifier": NameReader.name,
    "type_identifier": NameReader.name,
    "namespace_identifier": NameReader.name,
    "qualified_identifier": NameReader.qualified,
    "assignment_expression": NameReader.assignment,
    "update_expression": NameReader.update,
    "pointer_expression": NameReader.pointer,
    "call_expression": NameReader.call,
    "lambda_expression": NameReader.lambda_,
    "parameter_declaration": NameReader.parameter,
}

NameReader.readers = NAME_READERS
