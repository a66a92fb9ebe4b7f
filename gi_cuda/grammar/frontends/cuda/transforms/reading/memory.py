"""Memory accesses of a function: its pointers, and accesses of the elements behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.text.syntax import assigned_root, declarators, name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    LOOPS,
    Code,
    Function,
    descend,
    statements,
)
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import declared_names

_LEAVES_LOOP = frozenset({"break_statement", "continue_statement"})
_LEAVES = frozenset({"return_statement", "goto_statement"})
_SWAPS = frozenset({"swap", "std::swap"})
_MEETS = re.compile(
    r"__sync|\bsync\b|\batomic|__threadfence|__nanosleep|\bbarrier\b|\bwait\b|\barrive|\bvolatile\b"
    r"|\bcooperative_groups\b|\basm\b|__asm"
)
"""Words of code in which a thread waits for memory that other threads write."""

_MEMBERS = ("subscript_expression", "field_expression")
_EFFECTS = frozenset({"assignment_expression", "update_expression", "pointer_expression"})


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer that a function declares: a parameter, or a local variable.

    Attributes:
        name: its name.
        spelled: the type of its elements as written, without qualifiers: ``unsigned char``.
        const: whether its elements cannot be written through it.
        restrict: whether it is declared ``__restrict__``.
        parameter: whether it is a parameter.
        node: its declaration.
    """

    name: str
    spelled: str
    const: bool
    restrict: bool
    parameter: bool
    node: Node


class Use(Enum):
    """The kinds of access to an element."""

    READ = "x = p[i]"
    WRITE = "p[i] = x"
    UPDATE = "p[i] += x, p[i]++, p[i].x = x, or an argument that is passed by reference"


@dataclass(frozen=True, slots=True)
class Access:
    """One access of an element.

    Attributes:
        node: the expression that stands for the element: ``p[i]``, or ``__ldg(&p[i])``.
        element: ``p[i]``.
        index: ``[i]``, without white space; ``[i][j]`` where a pointer leads to pointers.
        use: what is done to the element.
        steps: what leads from the pointer to the element: ``("[i]",)``, ``("->s", "[i]")``.
    """

    node: Node
    element: Node
    index: str
    use: Use
    steps: tuple[str, ...]


def pointers(code: Code, function: Function) -> Iterator[Pointer]:
    """Find the pointers of one level that a function declares once, volatile ones apart."""
    found: list[Pointer] = []
    seen: list[str] = []
    for node in descend(function.node):
        if node.type not in ("parameter_declaration", "declaration"):
            continue
        for declarator in declarators(node):
            if (name := name_node(declarator)) is not None:
                seen.append(code.span(name))
            if (pointer := _pointer(code, node, declarator)) is not None:
                found.append(pointer)
    return (one for one in found if seen.count(one.name) == 1)


def _pointer(code: Code, declaration: Node, declarator: Node) -> Pointer | None:
    parameter = declaration.type == "parameter_declaration"
    levels = ("pointer_declarator", "array_declarator") if parameter else ("pointer_declarator",)
    inner, base = declarator, declaration.child_by_field_name("type")
    words = code.words(declaration)
    if inner.type not in levels or base is None or words & {"volatile", "__shared__"}:
        return None
    name = inner.child_by_field_name("declarator")
    if name is None or name.type != "identifier":
        return None
    const = any(
        one.type == "type_qualifier" and code.span(one) == "const" for one in declaration.children
    )
    restrict = any("restrict" in word for word in code.words(declarator))
    return Pointer(code.span(name), code.span(base), const, restrict, parameter, declaration)


def accesses(
    code: Code, root: Node, name: str, *, members: bool = False
) -> tuple[Access, ...] | None:
    """Find the accesses of a pointer's elements in a piece of code.

    Args:
        members: whether members are elements by themselves: ``p[i].x``, ``p->s[i]``.

    Returns:
        None if the code uses the pointer in another way (``p + 1``, ``&p[i]``, ``f(p)``), hides it
        in a macro, or declares another variable of its name.
    """
    if name in code.macro_words(root) or name in declared_names(root, code):
        return None
    found = []
    for node in descend(root):
        if node.type == "identifier" and code.span(node) == name:
            access = _access(code, node, members)
            if access is None:
                return None
            found.append(access)
    return tuple(found)


def _access(code: Code, pointer: Node, members: bool) -> Access | None:
    element, steps, kinds = pointer, list[str](), _MEMBERS if members else _MEMBERS[:1]
    while (above := element.parent) is not None and (
        above.type in kinds and above.child_by_field_name("argument") == element
    ):
        steps.append("".join(code.text[element.end_byte : above.end_byte].split()))
        element = above
    called = members and above is not None and above.type == "call_expression"
    if element == pointer or above is None or called:
        return None
    index = "".join(steps)
    if above.type == "pointer_expression":
        call = _load_call(code, above)
        return None if call is None else Access(call, element, index, Use.READ, tuple(steps))
    use = _use(code, element)
    return None if use is None else Access(element, element, index, use, tuple(steps))


def _load_call(code: Code, address: Node) -> Node | None:
    """Return the ``__ldg(&p[i])`` around ``&p[i]``."""
    call = None if address.parent is None else address.parent.parent
    if call is None or call.type != "call_expression" or not code.span(address).startswith("&"):
        return None
    called = call.child_by_field_name("function")
    return call if called is not None and code.span(called) == "__ldg" else None


def _use(code: Code, element: Node) -> Use | None:
    """Find what is done to an element, or to a part of it; None where its address is taken."""
    whole, node = True, element
    while (above := node.parent) is not None:
        if above.type in ("field_expression", "subscript_expression"):
            if above.child_by_field_name("argument") != node:
                return Use.READ
            whole = False
        elif above.type != "parenthesized_expression":
            break
        node = above
    if above is None:
        return Use.READ
    if above.type == "pointer_expression" and code.span(above).startswith("&"):
        return None
    if above.type == "assignment_expression" and above.child_by_field_name("left") == node:
        operator = above.child_by_field_name("operator")
        plain = whole and operator is not None and operator.type == "="
        return Use.WRITE if plain else Use.UPDATE
    changed = (
        above.type == "update_expression"
        or (above.type == "argument_list" and _by_reference(code, above.parent))
        or (above.type == "call_expression" and not whole)
        or (above.type == "init_declarator" and _refers(above))
    )
    return Use.UPDATE if changed else Use.READ


def _refers(declarator: Node) -> bool:
    """Tell whether a declarator with a value declares a reference."""
    inner = declarator.child_by_field_name("declarator")
    return inner is not None and inner.type == "reference_declarator"


def _by_reference(code: Code, call: Node | None) -> bool:
    """Tell whether a call may change variables that are its arguments."""
    called = None if call is None else call.child_by_field_name("function")
    if called is None or call is None or call.type != "call_expression":
        return False
    name = code.span(called)
    if name in code.macros_in(called):
        return code.assigns(name)
    bare = name.partition("<")[0].rpartition("::")[2]
    return name in _SWAPS or any(
        _takes_reference(code, one) for one in code.functions if one.name == bare
    )


def _takes_reference(code: Code, function: Function) -> bool:
    head = function_declarator(function.node)
    parameters = None if head is None else head.child_by_field_name("parameters")
    for one in parts(parameters):
        declarator = one.child_by_field_name("declarator")
        const = any(code.span(child) == "const" for child in one.children)
        if declarator is not None and declarator.type == "reference_declarator" and not const:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Changes:
    """The variables that a piece of code changes.

    Attributes:
        whole: those that are assigned themselves (``x = 1``, ``x++``, ``f(&x)``).
        inner: those of which a part, or an element that they lead to, is assigned
            (``x.a = 1``, ``x[i] = 1``, ``*x = 1``).
    """

    whole: frozenset[str]
    inner: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """All changed variables, ``whole`` and ``inner``."""
        return self.whole | self.inner


def changes(code: Code, *roots: Node) -> Changes:
    """Find the variables that some pieces of code change."""
    return _joined([_changes_in(code, root) for root in roots])


@lru_cache(maxsize=4096)
def _changes_in(code: Code, root: Node) -> Changes:
    return _joined([changes_by(code, node) for node in descend(root)])


def _joined(some: Sequence[Changes]) -> Changes:
    whole = frozenset[str]().union(*(one.whole for one in some))
    return Changes(whole, frozenset[str]().union(*(one.inner for one in some)))


def changes_by(code: Code, node: Node) -> Changes:
    """Find the variables that a node itself changes, and not what is below it."""
    whole: set[str] = set()
    inner: set[str] = set()
    for target in _targets(code, node):
        variable = assigned_root(target)
        if variable is not None:
            direct = _unwrapped(target) == variable
            (whole if direct else inner).add(code.span(variable))
    return Changes(frozenset(whole), frozenset(inner))


def _targets(code: Code, node: Node) -> Iterator[Node]:
    """Return the expressions that a node may assign to."""
    if node.type == "assignment_expression":
        target = node.child_by_field_name("left")
    elif node.type == "update_expression" or (
        node.type == "pointer_expression" and code.span(node).startswith("&")
    ):
        target = node.child_by_field_name("argument")
    elif node.type == "init_declarator" and _refers(node):
        target = node.child_by_field_name("value")
    else:
        if node.type == "call_expression" and _by_reference(code, node):
            yield from parts(node.child_by_field_name("arguments"))
        return
    if target is not None:
        yield target


def _unwrapped(node: Node) -> Node:
    """Return a node without the parentheses around it."""
    while node.type == "parenthesized_expression" and len(parts(node)) == 1:
        node = parts(node)[0]
    return node


def certain(node: Node, names: Mapping[int, str], *, loops: bool = True) -> frozenset[str]:
    """Find the names of the nodes that are evaluated whenever a piece of code is executed.

    Args:
        node: the piece of code.
        names: the nodes looked for by ``Node.id``, and their names.
        loops: whether the body of a loop counts, which may be executed not at all.
    """

    def of(*nodes: Node | None) -> frozenset[str]:
        found = (certain(one, names, loops=loops) for one in nodes if one is not None)
        return frozenset[str]().union(*found)

    def field(name: str) -> Node | None:
        return node.child_by_field_name(name)

    own = frozenset({names[node.id]} if node.id in names else ())
    if node.type in ("if_statement", "conditional_expression"):
        return of(field("condition")) | (of(field("consequence")) & of(field("alternative")))
    if node.type == "binary_expression" and (op := field("operator")) is not None:
        return of(field("left")) if op.type in ("&&", "||") else of(field("left"), field("right"))
    if node.type in LOOPS:
        body = field("body") if loops or node.type == "do_statement" else None
        return of(field("initializer"), field("condition"), body)
    if node.type == "switch_statement":
        return of(field("condition"))
    if node.type == "lambda_expression":
        return frozenset()
    if node.type == "compound_statement":
        return sequence(statements(node), names, loops=loops)
    return own | of(*node.children)


def sequence(
    nodes: Sequence[Node], names: Mapping[int, str], *, loops: bool = True
) -> frozenset[str]:
    """Find the names of the nodes that are evaluated whenever some statements are executed, one
    after the other. The last statement that counts is the first that may leave them."""
    found: frozenset[str] = frozenset()
    for one in nodes:
        found |= certain(one, names, loops=loops)
        if leaves(one):
            break
    return found


def leaves(node: Node, *, inside: bool = False) -> bool:
    """Tell whether a statement may jump out of itself.

    Args:
        inside: whether it stands in a loop or ``switch`` that a ``break`` would leave instead.
    """
    if node.type in _LEAVES or (node.type in _LEAVES_LOOP and not inside):
        return True
    if node.type == "lambda_expression":
        return False
    within = inside or node.type in LOOPS
    return any(leaves(one, inside=within) for one in node.children)


def is_invariant(
    code: Code, function: Function, loop: Node, changed: Changes, element: Node
) -> bool:
    """Tell whether an element's index stays the same in all iterations of a loop."""
    root = assigned_root(element)
    own = frozenset(declared_names(loop, code)) | changed.all
    constant = {one.name for one in pointers(code, function) if one.const}
    for node in descend(element):
        if node == root:
            continue
        if node.type == "identifier" and code.words(node) & own:
            return False
        if node.type in _EFFECTS or (code.span(node) == "->" and node.prev_sibling != root):
            return False
        if node.type == "call_expression" and not code.macros_in(node):
            return False
        if node.type == "subscript_expression" and node != element:
            inner = assigned_root(node)
            if inner is None or (inner != root and code.span(inner) not in constant):
                return False
    return True


def meetings(code: Code, node: Node) -> list[str]:
    """Find the words by which a thread waits for memory that others write, or writes memory that
    they wait for, in a piece of code and in the functions of the source that it may call."""
    called = (code.bare(one.node) for one in _called(code, node))
    return [word for text in (code.bare(node), *called) for word in _MEETS.findall(text)]


def _called(code: Code, node: Node) -> Iterator[Function]:
    """Find the functions of the source that a piece of code may call."""
    words = code.words(node)
    for one in code.functions:
        if one.name in words:
            yield one
            yield from code.called(one)
