"""The view of a CUDA source that transformations read: kernels, loops, indices, types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.analysis import Analysis, analyse, types_in
from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition, function_declarator
from gi_cuda.grammar.frontends.cuda.declarations.infer import Inference
from gi_cuda.grammar.presence import Macro
from gi_cuda.grammar.scope import Declaration, Scope
from gi_cuda.grammar.source import Source
from gi_cuda.grammar.values import Type

_WORD = re.compile(r"[^\W\d]\w*")

GEOMETRY = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
AXES = ("x", "y", "z")

LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
NESTS = LOOPS | {"switch_statement", "lambda_expression"}
"""Types of nodes in which a ``return`` cannot become a ``continue`` of a loop around the body."""

TOGETHER = re.compile(
    r"__shared__|__syncthreads|__syncwarp|(?<![a-z])shfl|__ballot|__any|__all|__match|__reduce|__activemask"
    r"|\batomic\w+_block\b|\bthread_block\b|cooperative_groups|\bcg\b|this_thread|this_grid"
    r"|tiled_partition|\basm\b|\bgoto\b|\bwarpSize\b|\b__launch_bounds__\b|%laneid|cudaLaunch|\bclock"
)
"""Words of code in which the threads of a block, or of a warp, depend on each other."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that evolves.

    Attributes:
        number: index among the functions of the grammar.
        name: name without namespaces.
        kernel: True if it is a ``__global__`` function.
        host: True if it is compiled for the host as well.
        at: offset of its name.
        node: node of its definition.
        body: node of its block.
    """

    number: int
    name: str
    kernel: bool
    host: bool
    at: int
    node: Node
    body: Node


class Code:
    """A source with its syntax trees, types and macros.

    Args:
        source: the text.
        analysis: what the front end found in it.
    """

    def __init__(self, source: Source, analysis: Analysis) -> None:
        self.source = source
        self.text = source.text
        self._analysis = analysis

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The kernels that evolve and the device functions that they call, in source order."""
        found = (_function(k, one) for k, one in enumerate(self._analysis.definitions))
        return tuple(one for one in found if one is not None)

    @property
    def kernels(self) -> Iterator[Function]:
        """The kernels that evolve, in source order."""
        return (one for one in self.functions if one.kernel)

    def function_at(self, at: int) -> Function | None:
        """Return the function whose name is at an offset; None if there is none."""
        return next((one for one in self.functions if one.at == at), None)

    def span(self, node: Node) -> str:
        """Return the text of a node."""
        return self.text[node.start_byte : node.end_byte]

    def bare(self, node: Node) -> str:
        """Return the text of a node without comments, directives and literals, of equal length."""
        return self._analysis.findings.reading.bare[node.start_byte : node.end_byte]

    def words(self, node: Node) -> frozenset[str]:
        """Return all identifiers in a node, and those in the expansions of its macros."""
        found = frozenset(_WORD.findall(self.bare(node)))
        names = self._analysis.findings.macros.names
        return found.union(*(names[word] for word in found & names.keys()))

    def macros_in(self, node: Node) -> frozenset[str]:
        """Return the macros of the source that a node uses."""
        macros = self._analysis.findings.macros.names.keys()
        return frozenset(_WORD.findall(self.bare(node))) & macros

    def macro_words(self, node: Node) -> frozenset[str]:
        """Return all identifiers in the expansions of a node's macros."""
        return frozenset[str]().union(*(self._macro_words(m) for m in self.macros_in(node)))

    def assigns(self, macro: str) -> bool:
        """Tell whether a macro of the source may assign to its arguments."""
        return macro in self._analysis.findings.macros.assigning

    def opaque(self, node: Node) -> bool:
        """Tell whether a node uses a macro that declares, jumps or is no whole expression."""
        return self._analysis.findings.macros.opaque_in(self.bare(node))

    @property
    def root(self) -> Node:
        """The syntax tree of the whole source, host code too."""
        return self._analysis.root

    @cached_property
    def macros(self) -> dict[str, tuple[Macro, ...]]:
        """The macros that the source defines, by name; one may have several definitions."""
        found: dict[str, tuple[Macro, ...]] = {}
        for one in self._analysis.findings.presence.macros():
            found[one.name] = (*found.get(one.name, ()), one)
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for one in self.functions:
            found.setdefault(one.name, []).append(one)
        return found

    def called(self, function: Function) -> Iterator[Function]:
        """Return the functions of the source that a function may call, without itself."""
        seen, frontier = {function.number}, [function]
        while frontier:
            for word in self.words(frontier.pop().body):
                for one in self._by_name.get(word, ()):
                    if one.number not in seen:
                        seen.add(one.number)
                        frontier.append(one)
                        yield one

    def alone(self, kernel: Function, *, conditional: bool = False) -> bool:
        """Tell whether each thread of a kernel works by itself: no shared memory, no barrier, no
        warp operation, no geometry in the functions and macros that it calls.

        Args:
            conditional: whether the kernel may have ``#if`` in it, if all branches are read.
        """
        words = [self._macro_words(one) for one in self.macros_in(kernel.body)]
        if TOGETHER.search(self.bare(kernel.body)) or _APART & self.words(kernel.body):
            return False
        if GEOMETRY & frozenset().union(*words):
            return False
        if self.hidden(kernel) or (self._has_directive(kernel) and not conditional):
            return False
        return not any(
            TOGETHER.search(self.bare(one.node)) or self.words(one.body) & GEOMETRY
            for one in self.called(kernel)
        )

    def _macro_words(self, macro: str) -> frozenset[str]:
        return self._analysis.findings.macros.names.get(macro, frozenset())

    def _has_directive(self, function: Function) -> bool:
        """Tell whether a directive other than a pragma stands in a function."""
        directives = self._analysis.findings.presence.directives
        return any(
            function.body.start_byte <= one.start < function.body.end_byte and one.word != "pragma"
            for one in directives
        )

    def hidden(self, function: Function) -> bool:
        """Tell whether a function has code that the parser is not shown."""
        hidden = self._analysis.findings.reading.hidden
        body = function.body
        return any(body.start_byte <= one.start < body.end_byte for one in hidden)

    @cached_property
    def _inference(self) -> Inference:
        findings = self._analysis.findings
        bodies = [one.body for one in self.functions]
        book = types_in(self.source, self._analysis.root, bodies)
        return Inference(findings, Scope.of(findings.declarations), book)

    def type(self, node: Node | None, function: Function) -> Type | None:
        """Return the type of an expression's value; None if it is uncertain."""
        return self._inference.type(node, function.number)

    def declared_type(self, node: Node | None, function: Function) -> Type | None:
        """Return the declared type of an expression: arrays do not decay to pointers."""
        found = self._inference.typed(node, function.number)
        return None if found is None else found.type

    def spelled_type(self, text: str) -> Type | None:
        """Return the type of a spelling such as ``unsigned long``."""
        return self._inference.read(text)

    def declaration(self, name: Node, function: Function) -> Declaration | None:
        """Return the declaration of a used variable; None if the source does not have it."""
        scope = self._inference.scope
        return next(scope.visible(self.span(name), name.start_byte, function.number), None)


_FOR_HOSTS = frozenset({"__host__", "constexpr", "consteval"})

_APART = frozenset({"__syncthreads", "__shared__"})


@lru_cache(maxsize=128)
def read_code(source: Source) -> Code:
    """Read a source that edits have changed, with all its kernels."""
    return Code(source, analyse(source, None, frozenset()))


def _function(number: int, definition: Definition) -> Function | None:
    body = definition.node.child_by_field_name("body")
    head = function_declarator(definition.node)
    inner = None if head is None else head.child_by_field_name("declarator")
    while inner is not None and inner.type in ("qualified_identifier", "template_function"):
        inner = inner.child_by_field_name("name")
    if body is None or body.type != "compound_statement" or inner is None:
        return None
    at = inner.start_byte
    host = not definition.words.isdisjoint(_FOR_HOSTS)
    return Function(number, definition.name, definition.kernel, host, at, definition.node, body)


@lru_cache(maxsize=512)
def descend(node: Node) -> Sequence[Node]:
    """Return a node and all nodes below it, in the order of the text."""
    found, stack = [], [node]
    while stack:
        one = stack.pop()
        found.append(one)
        stack.extend(reversed(one.children))
    return tuple(found)


def holds(outer: Node, inner: Node) -> bool:
    """Tell whether a node is another one, or has it below it."""
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def geometry(node: Node, text: str) -> tuple[str, str] | None:
    """Return variable and axis of ``blockIdx.x`` and similar; None for any other node."""
    if node.type != "field_expression":
        return None
    of, axis = node.child_by_field_name("argument"), node.child_by_field_name("field")
    if of is None or axis is None or of.type != "identifier":
        return None
    name = text[of.start_byte : of.end_byte]
    return (name, text[axis.start_byte : axis.end_byte]) if name in GEOMETRY else None


def statements(block: Node) -> Sequence[Node]:
    """Return the statements of a block, without comments."""
    return [one for one in block.named_children if one.type != "comment"]


def is_nested(node: Node, body: Node) -> bool:
    """Tell whether a loop or ``switch`` of a body is around a node."""
    above = node.parent
    while above is not None and above != body:
        if above.type in NESTS:
            return True
        above = above.parent
    return False
