"""Uses of variables in a function: which memory and variables each mention reads and writes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import declarators, name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import declared_names
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import Passing, is_cast, passing_of
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import (
    argument_of,
    change_by,
    target_of,
    unparenthesized,
)
from gi_cuda.grammar.scope import FILE_LEVEL
from gi_cuda.grammar.values import Type

_UNREAD = frozenset(
    {
        *("lambda_expression", "try_statement", "throw_statement", "new_expression"),
        *("delete_expression", "goto_statement", "labeled_statement", "gnu_asm_expression"),
        *("for_range_loop", "structured_binding_declarator", "function_declarator", "ERROR"),
    }
)
"""Nodes whose effects are not analysed; the parser takes ``half x(y);`` for a function."""

_OF_NUMBERS = frozenset({"*", "/", "%", "<<", ">>", "&", "|", "^"})
"""Operators that no pointer is an operand of."""

_UNKNOWN = "?"
"""The root of a pointer of unknown origin."""


@dataclass(frozen=True, slots=True)
class Use:
    """A mention of a variable.

    Example: ``out[i].x += v`` has a use of ``out`` that reads and writes memory, and uses of ``i``
    and ``v`` that read variables.

    Attributes:
        node: the identifier.
        local: where the local variable is declared; None for a variable of the file's level.
        whole: the expression that is read or written, e.g. ``out[i].x``.
        roots: the pointers that the memory belongs to; none where the variable itself is meant.
        reads: whether the expression is read.
        writes: whether it is written.
        by: the assignment, increment or call that writes.
    """

    node: Node
    local: int | None
    whole: Node
    roots: frozenset[str] = frozenset()
    reads: bool = True
    writes: bool = False
    by: Node | None = None

    @property
    def own(self) -> int | None:
        """The local variable, if the variable itself is read or written; else None."""
        return None if self.roots else self.local


@dataclass(frozen=True)
class Facts:
    """All uses in a function, in the order of the text."""

    code: Code
    function: Function
    uses: tuple[Use, ...]
    _starts: tuple[int, ...] = field(repr=False)
    _by_node: Mapping[int, Use] = field(repr=False)

    def within(self, node: Node) -> tuple[Use, ...]:
        """Return the uses in a part of the function."""
        first = bisect_left(self._starts, node.start_byte)
        return self.uses[first : bisect_left(self._starts, node.end_byte)]

    def at(self, name: Node) -> Use | None:
        """Return the use that an identifier is."""
        return self._by_node.get(name.id)

    def values(self, local: int, within: Node) -> Iterator[Node]:
        """Return the expressions that are assigned to a local variable: ``e`` of ``x = e``."""
        return _values(self.code, self.function, local, within)


@lru_cache(maxsize=64)
def read_facts(code: Code, function: Function) -> Facts | None:
    """Read all uses of variables in a function; None if some effect of the function is unknown."""
    code_of_macros = code.macro_words(function.body)
    if function.node.has_error or code.opaque(function.body):
        return None
    if any(map(code.assigns, code.macros_in(function.body))):
        return None
    if code_of_macros & (set(declared_names(function.body, code)) | _parameters(code, function)):
        return None
    if any(one.type in _UNREAD for one in descend(function.body)):
        return None
    try:
        uses = tuple(_Reader(code, function).uses())
    except _UnclearError:
        return None
    starts = tuple(one.node.start_byte for one in uses)
    return Facts(code, function, uses, starts, {one.node.id: one for one in uses})


def _parameters(code: Code, function: Function) -> frozenset[str]:
    declarator = function.node.child_by_field_name("declarator")
    return code.words(declarator) if declarator is not None else frozenset()


def _values(code: Code, function: Function, local: int, within: Node) -> Iterator[Node]:
    for node in descend(within):
        if node.type == "init_declarator":
            inner = node.child_by_field_name("declarator")
            value = node.child_by_field_name("value")
            if inner is not None and value is not None and inner.end_byte == local:
                yield value
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            plain = any(one.type == "=" for one in node.children)
            if plain and left is not None and left.type == "identifier" and right is not None:
                declared = code.declaration(left, function)
                if declared is not None and declared.start == local:
                    yield right


class _UnclearError(Exception):
    """An effect of the function is unknown."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """An expression that a variable is the root of.

    Attributes:
        whole: the expression, e.g. ``p[i].x`` or ``&p[i]``.
        behind: whether it goes through a pointer.
        address: whether the address is taken of it.
    """

    whole: Node
    behind: bool
    address: bool


class _Reader:
    """Reader of the uses of one function."""

    def __init__(self, code: Code, function: Function) -> None:
        self.code = code
        self.function = function
        self._chains: dict[int, _Chain] = {}
        self._roots: dict[int, frozenset[str]] = {}
        declared = (
            name_node(one)
            for node in descend(function.body)
            if node.type == "declaration"
            for one in declarators(node)
        )
        self._declared = {one.id for one in declared if one is not None}

    def uses(self) -> Iterator[Use]:
        """Return all uses, in the order of the text."""
        found = [self._use(one) for one in descend(self.function.body) if self._is_variable(one)]
        self._check_references(found)
        targets = {one.whole.id for one in found if one.writes}
        for node in descend(self.function.body):
            left = target_of(node)
            if left is not None and unparenthesized(left).id not in targets:
                raise _UnclearError
            if node.type == "call_expression" and not is_cast(self.code, node):
                self._ways(node)
        return iter(found)

    def _ways(self, call: Node) -> tuple[Passing, ...]:
        """Return how a called function takes its arguments."""
        ways = passing_of(self.code, self.function, call)
        if ways is None:
            raise _UnclearError
        return ways

    def _is_variable(self, node: Node) -> bool:
        """Tell whether an identifier is a use of a variable."""
        above = node.parent
        if node.type != "identifier" or node.id in self._declared or above is None:
            return False
        if above.type in ("template_function", "qualified_identifier"):
            return False
        return above.type != "call_expression" or above.child_by_field_name("function") != node

    def _local(self, name: Node) -> int | None:
        found = self.code.declaration(name, self.function)
        return None if found is None or found.function == FILE_LEVEL else found.start

    def _use(self, node: Node) -> Use:
        chain, local = self._chain(node), self._local(node)
        roots = self._roots_of(node, local) if chain.behind or local is None else frozenset[str]()
        above = chain.whole.parent
        call = None if above is None or above.type != "argument_list" else above.parent
        if call is not None and call.type == "call_expression" and not is_cast(self.code, call):
            return self._passed(node, local, chain, call)
        while above is not None and above.type == "parenthesized_expression":
            above = above.parent
        if chain.address:
            if not chain.behind and local is not None:
                raise _UnclearError
            return Use(node, local, node)
        own_array = local is not None and not chain.behind and self._is_array(chain.whole)
        if own_array and (above is None or above.type != "sizeof_expression"):
            raise _UnclearError
        assert above is not None
        reads, writes = change_by(above, chain.whole)
        if writes and _UNKNOWN in roots:
            raise _UnclearError
        return Use(node, local, chain.whole, roots, reads, writes, above if writes else None)

    def _passed(self, node: Node, local: int | None, chain: _Chain, call: Node) -> Use:
        """Return the use of a variable as an argument."""
        arguments = [one.id for one in parts(call.child_by_field_name("arguments"))]
        way = self._ways(call)[arguments.index(chain.whole.id)]
        behind = chain.behind or local is None
        leads = chain.address or self._is_pointer(chain.whole)
        if way is Passing.VALUE and not chain.address and not self._is_array(chain.whole):
            behind = behind or (self._is_parameter(node) and self._may_hold_pointers(chain.whole))
            roots = self._roots_of(node, local) if behind else frozenset[str]()
            return Use(node, local, chain.whole, roots)
        if way is Passing.VALUE:
            return Use(node, local, node)
        through = way is not Passing.REFERENCE and leads and not chain.address
        if through and not self._is_array(chain.whole):
            behind = True
        roots = self._roots_of(node, local) if behind else frozenset[str]()
        writes = way in (Passing.TARGET, Passing.REFERENCE)
        if writes and _UNKNOWN in roots:
            raise _UnclearError
        return Use(node, local, chain.whole, roots, True, writes, call if writes else None)

    def _check_references(self, uses: list[Use]) -> None:
        """Raise an error for references, unless they refer to memory that nothing writes."""
        written = frozenset[str]().union(*(one.roots for one in uses if one.writes))
        for node in descend(self.function.body):
            if node.type != "reference_declarator":
                continue
            holder = node.parent
            value = None if holder is None else holder.child_by_field_name("value")
            outer = None if holder is None else holder.parent
            if value is None or outer is None:
                raise _UnclearError
            const = any(self.code.span(one) == "const" for one in outer.children)
            inside = [
                one for one in uses if value.start_byte <= one.node.start_byte < value.end_byte
            ]
            if not const or not any(one.roots for one in inside):
                raise _UnclearError
            if any(one.roots & written for one in inside):
                raise _UnclearError

    # -- expressions that a variable is the root of --------------------------------------------

    def _chain(self, node: Node) -> _Chain:
        if node.id not in self._chains:
            self._chains[node.id] = self._climbed(node)
        return self._chains[node.id]

    def _climbed(self, node: Node) -> _Chain:
        """Go from a variable up to the expression that it is the root of."""
        at, whole, behind = node, node, False
        while (above := at.parent) is not None:
            if self._is_wrapper(above, at):
                at = above
                continue
            if above.type == "argument_list" and above.parent is not None:
                if not is_cast(self.code, above.parent):
                    return _Chain(at, behind, False)
                at = above.parent
            elif self._is_dereference(above, at):
                behind = behind or self._leaves_variable(node, whole)
                at = whole = above
            elif above.type == "field_expression" and above.child_by_field_name("argument") == at:
                operator = above.child_by_field_name("operator")
                behind = behind or (operator is not None and operator.type == "->")
                at = whole = above
            elif above.type == "pointer_expression":
                call = argument_of(above)
                return _Chain(above if call is None else call, behind, True)
            elif above.type == "binary_expression" and self._is_pointer(at):
                at = above
            else:
                break
        return _Chain(whole, behind, False)

    def _is_wrapper(self, above: Node, at: Node) -> bool:
        """Tell whether a node is a parenthesis or cast around another one."""
        if above.type == "cast_expression":
            return above.child_by_field_name("value") == at
        return above.type == "parenthesized_expression"

    def _is_dereference(self, above: Node, at: Node) -> bool:
        if above.child_by_field_name("argument") != at:
            return False
        if above.type == "subscript_expression":
            return True
        return above.type == "pointer_expression" and self.code.span(above).startswith("*")

    def _leaves_variable(self, root: Node, whole: Node) -> bool:
        """Tell whether an element of ``whole`` lies beyond the variable that it is a part of."""
        declared = self.code.declared_type(whole, self.function)
        if declared is None and whole.id != root.id and not self._is_parameter(root):
            raise _UnclearError
        if declared is None:
            return True
        if declared.levels:
            return not self._is_array_type(whole, declared)
        return self._is_parameter(root)

    def _is_parameter(self, name: Node) -> bool:
        local = self._local(name)
        return local is None or local < self.function.body.start_byte

    def _is_array_type(self, whole: Node, type_: Type) -> bool:
        """Tell whether a type is an array type, which no parameter has."""
        array = bool(type_.levels) and type_.levels[0] != "*"
        return array and not (whole.type == "identifier" and self._is_parameter(whole))

    def _is_array(self, node: Node) -> bool:
        known = self.code.declared_type(unparenthesized(node), self.function)
        return known is not None and self._is_array_type(unparenthesized(node), known)

    def _is_pointer(self, node: Node) -> bool:
        known = self.code.type(node, self.function)
        return known is not None and known.pointer

    def _may_hold_pointers(self, node: Node) -> bool:
        """Tell whether a value may be an object with pointers in it."""
        known = self.code.type(node, self.function)
        return known is None or not (known.arithmetic or known.pointer)

    # -- where pointers come from --------------------------------------------------------------

    def _roots_of(self, name: Node, local: int | None) -> frozenset[str]:
        """Return the pointers from which the memory of a variable comes."""
        if local is None or self._is_parameter(name):
            own = frozenset({self.code.span(name)})
            return own if local is None else own | self._assigned_roots(local)
        return self._assigned_roots(local) or frozenset({_UNKNOWN})

    def _assigned_roots(self, local: int) -> frozenset[str]:
        if local not in self._roots:
            self._roots[local] = frozenset()  # of one that is computed from itself
            found = frozenset[str]()
            for value in _values(self.code, self.function, local, self.function.body):
                for one in descend(value):
                    if self._is_variable(one) and self._flows(one):
                        found |= self._roots_of(one, self._local(one))
            self._roots[local] = found
        return self._roots[local]

    def _flows(self, name: Node) -> bool:
        """Tell whether the value of an expression that begins with a variable is a pointer."""
        chain = self._chain(name)
        if chain.address:
            return True
        above = chain.whole.parent
        operator = None if above is None else above.child_by_field_name("operator")
        if operator is not None and operator.type in _OF_NUMBERS:
            return False
        known = self.code.type(chain.whole, self.function)
        return known.pointer if known is not None else chain.whole.id == name.id
