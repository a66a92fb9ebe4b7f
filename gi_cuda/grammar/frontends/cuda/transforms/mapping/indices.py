"""The global indices of a kernel: ``blockIdx.x * blockDim.x + threadIdx.x`` and the like."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import assigned_root, declarators, name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend, geometry
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import without_casts

_MULTIPLIES = re.compile(r"__u?mul24")
_LOADS = frozenset({"subscript_expression", "pointer_expression"})
_COMPARES = frozenset({"<", "<=", ">", ">=", "!=", "=="})


@dataclass(frozen=True, slots=True)
class Index:
    """An expression that is the global index of a thread along one axis.

    Attributes:
        axis: ``x``, ``y`` or ``z``.
        node: the whole sum; further terms may be in it.
        block: its ``blockIdx``.
        thread: its ``threadIdx``.
    """

    axis: str
    node: Node
    block: Node
    thread: Node


@dataclass(frozen=True)
class Indices:
    """The uses of the launch geometry in a kernel.

    Attributes:
        found: the global indices, in source order.
        strides: the products ``blockDim.x * gridDim.x``, with their axes.
        others: all other uses of the launch geometry.
    """

    found: tuple[Index, ...]
    strides: tuple[tuple[str, Node], ...]
    others: tuple[Node, ...]

    @property
    def plain(self) -> bool:
        """Tell whether the kernel works with any block size.

        It does if it uses the launch geometry only in global indices and strides.
        """
        return bool(self.found) and not self.others

    def axes(self) -> tuple[str, ...]:
        """Return the axes along which the kernel has an index, in order."""
        return tuple(sorted({one.axis for one in self.found}))


@lru_cache(maxsize=256)
def indices(code: Code, kernel: Function) -> Indices:
    """Find all uses of the launch geometry in a kernel's body."""
    found: list[Index] = []
    strides: list[tuple[str, Node]] = []
    fields = [n for n in descend(kernel.body) if geometry(n, code.text)]
    covered: set[int] = set()
    for node in fields:
        name, axis = geometry(node, code.text) or ("", "")
        if name == "threadIdx" and (index := _index(code, node, axis)) is not None:
            found.append(index)
            dim = next(
                n
                for n in _factors(code, _product_of(index.block))
                if geometry(n, code.text) == ("blockDim", axis)
            )
            covered |= {node.id, index.block.id, dim.id}
        elif name == "gridDim":
            product = _product_of(node)
            factors = list(_factors(code, product))
            told = [geometry(n, code.text) for n in factors]
            if sorted(t for t in told if t) == [("blockDim", axis), ("gridDim", axis)]:
                strides.append((axis, product))
                covered |= {n.id for n in factors}
    others = tuple(n for n in fields if n.id not in covered)
    return Indices(tuple(found), tuple(strides), others)


def _index(code: Code, thread: Node, axis: str) -> Index | None:
    """Return the global index that has a ``threadIdx`` as a term; None if there is none."""
    top = _outer(thread)
    while top.parent is not None and _is(code, top.parent, "+"):
        top = _outer(top.parent)
    for term in _terms(code, top):
        factors = {geometry(n, code.text): n for n in _factors(code, term)}
        if factors.keys() == {("blockIdx", axis), ("blockDim", axis)}:
            return Index(axis, top, factors["blockIdx", axis], thread)
    return None


def is_whole(code: Code, index: Index) -> bool:
    """Tell whether an index is only the thread's number, with nothing added."""
    return len(list(_terms(code, index.node))) == 2


def _outer(node: Node) -> Node:
    """Return a node with the parentheses and casts around it."""
    while node.parent is not None and (
        node.parent.type == "parenthesized_expression"
        or (
            node.parent.type == "cast_expression"
            and node.parent.child_by_field_name("value") == node
        )
    ):
        node = node.parent
    return node


def _is(code: Code, node: Node, operator: str) -> bool:
    found = node.child_by_field_name("operator")
    return node.type == "binary_expression" and found is not None and code.span(found) == operator


def _terms(code: Code, node: Node) -> Iterator[Node]:
    """Yield the terms of a sum."""
    node = without_casts(node)
    if _is(code, node, "+"):
        for side in ("left", "right"):
            if (child := node.child_by_field_name(side)) is not None:
                yield from _terms(code, child)
    else:
        yield node


def _factors(code: Code, node: Node) -> Iterator[Node]:
    """Yield the factors of a product, including products by ``__mul24``."""
    node = without_casts(node)
    if _is(code, node, "*"):
        for side in ("left", "right"):
            if (child := node.child_by_field_name(side)) is not None:
                yield from _factors(code, child)
    elif node.type == "call_expression" and _is_mul24(code, node):
        for one in parts(node.child_by_field_name("arguments")):
            yield from _factors(code, one)
    else:
        yield node


def _is_mul24(code: Code, node: Node) -> bool:
    called = node.child_by_field_name("function")
    return called is not None and _MULTIPLIES.fullmatch(code.span(called)) is not None


def _product_of(node: Node) -> Node:
    """Return the whole product that has a node as a factor."""
    node = _outer(node)
    while (above := node.parent) is not None:
        call = above.parent if above.type == "argument_list" else None
        if above.type == "binary_expression" and above.child_by_field_name("operator") is not None:
            operator = above.child_by_field_name("operator")
            assert operator is not None
            if operator.type != "*":
                break
            node = _outer(above)
        elif call is not None and call.type == "call_expression":
            called = call.child_by_field_name("function")
            if (
                called is None
                or called.text is None
                or not _MULTIPLIES.fullmatch(called.text.decode())
            ):
                break
            node = _outer(call)
        else:
            break
    return node


def sole_declarator(declaration: Node) -> Node | None:
    """Return the declarator with a value of a declaration that has no other."""
    found = declaration.children_by_field_name("declarator")
    if declaration.type != "declaration" or len(found) != 1:
        return None
    name = found[0].child_by_field_name("declarator")
    alone = found[0].type == "init_declarator" and name is not None and name.type == "identifier"
    return found[0] if alone else None


def declared_as(index: Index) -> tuple[Node, Node] | None:
    """Return the declaration of the one variable that is an index, and its name."""
    above = index.node.parent
    declaration = None if above is None else above.parent
    found = None if declaration is None else sole_declarator(declaration)
    name = None if found is None else found.child_by_field_name("declarator")
    if declaration is None or found != above or name is None:
        return None
    return declaration, name


@lru_cache(maxsize=256)
def index_names(code: Code, kernel: Function, axis: str) -> frozenset[str]:
    """Return the variables that are computed from a kernel's index along an axis, not loaded."""
    where = frozenset(one.node.id for one in indices(code, kernel).found if one.axis == axis)
    return derived_names(code, kernel, where)


def derived_names(code: Code, kernel: Function, where: frozenset[int]) -> frozenset[str]:
    """Return the variables that are computed from some nodes of a kernel, not loaded by them.

    Args:
        where: the nodes, by ``Node.id``.
    """
    known: set[str] = set()
    for node in descend(kernel.body):
        if node.type == "init_declarator":
            name, value = (
                name_node(node.child_by_field_name("declarator")),
                node.child_by_field_name("value"),
            )
        elif node.type == "assignment_expression":
            name, value = (
                assigned_root(node.child_by_field_name("left")),
                node.child_by_field_name("right"),
            )
        else:
            continue
        if name is None or value is None:
            continue
        if is_derived(code, value, known, where):
            known.add(code.span(name))
    return frozenset(known)


def is_derived(code: Code, node: Node, known: Collection[str], where: frozenset[int]) -> bool:
    """Tell whether an expression is computed from some variables or nodes, not loaded by them."""
    return any(one.id in where or _word(code, one) & set(known) for one in _computed(node))


def is_guarded(code: Code, kernel: Function, axis: str) -> bool:
    """Tell whether threads beyond the data do nothing: a comparison of the index along an axis
    decides what a thread does."""
    names = index_names(code, kernel, axis)
    for node in descend(kernel.body):
        if node.type not in ("for_statement", "if_statement"):
            continue
        condition = node.child_by_field_name("condition")
        for one in descend(condition) if condition is not None else ():
            operator = one.child_by_field_name("operator")
            if one.type != "binary_expression" or operator is None:
                continue
            told = (_word(code, n) & names or geometry(n, code.text) for n in _computed(one))
            if operator.type in _COMPARES and any(told):
                return True
    return False


def _computed(node: Node) -> Iterator[Node]:
    """Yield the nodes of an expression, without those of addresses: ``i`` of ``a[i]``."""
    yield node
    if node.type not in _LOADS:
        for child in node.children:
            yield from _computed(child)


def _word(code: Code, node: Node) -> frozenset[str]:
    """Return the identifier of a node, with those in its expansion if it is a macro."""
    return code.words(node) if node.type == "identifier" else frozenset()


def shape_along(
    code: Code, kernel: Function, field: str, values: Mapping[str, int]
) -> dict[str, int]:
    """Return how launches change, by the keys of :class:`gi_cuda.spec.launching.shape.Shape`:
    exactly along the axes on which the kernel is not guarded.

    Args:
        field: ``threads`` or ``items``.
        values: its value, by axis.
    """
    changed = {f"{kernel.name}.{field}.{axis}": value for axis, value in values.items()}
    exact = (axis for axis in values if not is_guarded(code, kernel, axis))
    return changed | {f"{kernel.name}.exact.{axis}": 1 for axis in exact}


def uses_block_besides(code: Code, kernel: Function, index: Index) -> bool:
    """Tell whether a kernel uses the number of its block, or of blocks, along the axis of an index
    anywhere else."""
    for node in descend(kernel.body):
        told = geometry(node, code.text)
        if (
            told in (("blockIdx", index.axis), ("gridDim", index.axis))
            and node.id != index.block.id
        ):
            return True
    return False


def parameter_names(code: Code, kernel: Function) -> frozenset[str]:
    """Return the names of a kernel's parameters."""
    nodes = (one for one in descend(kernel.node) if one.type == "parameter_declaration")
    names = (name_node(one.child_by_field_name("declarator")) for one in nodes)
    return frozenset(code.span(one) for one in names if one is not None)


@lru_cache(maxsize=4096)
def declared_names(node: Node, code: Code) -> tuple[str, ...]:
    """Return the variables that declarations in a node declare, in order."""
    found = (one for one in descend(node) if one.type == "declaration")
    names = (name_node(declarator) for one in found for declarator in declarators(one))
    return tuple(code.span(name) for name in names if name is not None)
