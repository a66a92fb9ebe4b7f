"""The work of a thread by items: which statements and variables each item has of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.syntax import declarators, name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    Code,
    Function,
    descend,
    geometry,
    holds,
    statements,
)
from gi_cuda.grammar.frontends.cuda.transforms.indices import (
    Index,
    declared_as,
    declared_names,
    indices,
    is_guarded,
    uses_block_besides,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.bounds import Bound, read_bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import (
    Passing,
    called_name,
    has_effect,
    is_cast,
    passing_of,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.guards import read_guard
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes, changes_by

_SHARED = frozenset({"for_statement", "while_statement"})
_LEAVES = frozenset({"break_statement", "continue_statement"})
_DECLINED = frozenset(
    {"return_statement", "goto_statement", "labeled_statement", "lambda_expression"}
)
_READ_ONLY = frozenset({Passing.VALUE, Passing.SOURCE})


@dataclass(frozen=True, slots=True)
class Run:
    """Statements that follow each other and that each item has of its own.

    Attributes:
        statements: the statements, with the pragmas in front of them.
        acts: whether they may change anything but variables of the work.
    """

    statements: tuple[Node, ...]
    acts: bool


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a thread, which several items can share.

    Attributes:
        index: the global index that numbers the items.
        name: the variable of that number.
        declared: its declaration.
        tests: the comparisons of the number that hold for each item.
        statements: the work.
        own: the variables that depend on the number, itself among them.
        runs: the statements that use these variables, in order.
    """

    index: Index
    name: str
    declared: Node
    tests: tuple[Bound, ...]
    statements: tuple[Node, ...]
    own: frozenset[str]
    runs: tuple[Run, ...]


def read_work(code: Code, kernel: Function, axis: str) -> Work | None:
    """Read the work of the threads of a kernel along an axis.

    Returns:
        None if it cannot be told apart by items, or has no loop that several items can share.
    """
    known = indices(code, kernel)
    found = [one for one in known.found if one.axis == axis]
    if len(found) != 1 or any(one == axis for one, _ in known.strides) or not code.alone(kernel):
        return None
    declared, block = declared_as(found[0]), statements(kernel.body)
    if declared is None or declared[0] not in block:
        return None
    name, rest = code.span(declared[1]), block[block.index(declared[0]) + 1 :]
    if uses_block_besides(code, kernel, found[0]) or name in changes(code, kernel.body).whole:
        return None
    guarded = _guarded(code, kernel, rest, name)
    if guarded is None:
        others = {told[1] for one in known.others if (told := geometry(one, code.text))}
        if axis in others or is_guarded(code, kernel, axis):
            return None
        guarded = (), rest
    tests, work = guarded
    outside = Counter(declared_names(kernel.body, code))
    outside.subtract(name for one in work for name in declared_names(one, code))
    names = _dependent(code, work, name)
    if names is None or any(outside[one] for one in names - {name}):
        return None
    found_runs = tuple(_runs(code, work, names))
    shared = [one for top in work for one in descend(top) if one.type in _SHARED]
    if not any(holds(loop, one[0]) and loop not in one for loop in shared for one in found_runs):
        return None
    held = _held(code, [kernel.body])
    mine = [one for run in found_runs for one in run]
    if any(_acts(code, kernel, one, held) for one in _outside(kernel.body, mine)):
        return None  # several items would have done once what each of them has to do
    runs = (
        Run(one, any(_acts(code, kernel, n, held) for top in one for n in descend(top)))
        for one in found_runs
    )
    return Work(found[0], name, declared[0], tests, tuple(work), names, tuple(runs))


def declared_in(code: Code, run: Run) -> frozenset[str]:
    """Return the variables that a run declares."""
    return _declared(code, run.statements)


def _declared(code: Code, nodes: Iterable[Node]) -> frozenset[str]:
    return frozenset(name for one in nodes for name in declared_names(one, code))


def _guarded(
    code: Code, kernel: Function, rest: Sequence[Node], name: str
) -> tuple[tuple[Bound, ...], Sequence[Node]] | None:
    """Return the comparisons that hold for each item, and the work."""
    first = next((one for one in rest if name in code.words(one)), None)
    guard = None if first is None else read_guard(kernel.body, first)
    tests = []
    for one in guard.conditions if guard else ():
        if name in code.words(one):
            bound = read_bound(code, one, name)
            bound = bound.negated if bound and guard and guard.returns else bound
            if bound is None or not bound.from_above:
                return None
            tests.append(bound)
    return (tuple(tests), guard.work) if guard and tests else None


def _dependent(code: Code, work: Sequence[Node], name: str) -> frozenset[str] | None:
    """Return the variables that depend on the number of the item.

    Returns:
        None if the work does not declare one of them, or is not understood.
    """
    if any(one.type in _DECLINED for top in work for one in descend(top)):
        return None
    held = _held(code, work)
    names, before = frozenset({name}), frozenset[str]()
    while names != before:
        before = names
        for leaf in _leaves(code, work, names):
            if code.words(leaf) & names:
                changed, inside = changes(code, leaf), _declared(code, [leaf])
                own = inside if leaf.type == "declaration" else frozenset[str]()
                names |= own | ((changed.whole | changed.inner & held) - (inside - own))
    hidden = frozenset[str]().union(*(code.macro_words(one) for one in work))
    return None if names - {name} - _declared(code, work) or names & hidden else names


def _held(code: Code, nodes: Iterable[Node]) -> frozenset[str]:
    """Return the variables that hold their elements or members themselves: no pointers."""
    found = (
        (one, name_node(one))
        for top in nodes
        for node in descend(top)
        if node.type == "declaration"
        for one in declarators(node)
    )
    return frozenset(
        code.span(name) for one, name in found if name and one.type != "pointer_declarator"
    )


def _leaves(code: Code, work: Iterable[Node], names: frozenset[str]) -> Iterator[Node]:
    """Find the statements that all items execute together, or each by itself."""
    for one in work:
        if (bodies := _bodies(code, one, names)) is None:
            yield one
        else:
            yield from _leaves(code, bodies, names)


def _bodies(code: Code, node: Node, names: frozenset[str]) -> list[Node] | None:
    """Return the statements in a loop or branch that all items share; None for other nodes."""
    if node.type == "compound_statement":
        return list(node.named_children)
    if node.type == "else_clause":
        return [parts(node)[-1]]
    fields = {"if_statement": ("consequence", "alternative")}.get(node.type, ("body",))
    if node.type != "if_statement" and node.type not in _SHARED:
        return None
    if node.type in _SHARED and any(one.type in _LEAVES for one in descend(node)):
        return None
    bodies = [one for field in fields if (one := node.child_by_field_name(field)) is not None]
    heads = [one for one in node.children if one not in bodies]
    return None if any(code.words(one) & names for one in heads) else bodies


def _runs(code: Code, work: Iterable[Node], names: frozenset[str]) -> Iterator[tuple[Node, ...]]:
    """Find the statements that each item has of its own."""
    run: list[Node] = []
    pragmas: list[Node] = []
    for one in work:
        if one.type == "comment":
            continue
        if one.type.startswith("preproc"):
            pragmas.append(one)
            continue
        bodies = _bodies(code, one, names) if code.words(one) & names else []
        if bodies is None:
            run += [*pragmas, one]
        elif run:
            yield tuple(run)
            run = []
        pragmas = []
        yield from _runs(code, bodies or (), names)
    if run:
        yield tuple(run)


def _outside(top: Node, inner: Sequence[Node]) -> Iterator[Node]:
    """Return a node and those below it, without some of them."""
    if top not in inner:
        yield top
        for child in top.children:
            yield from _outside(child, inner)


def _acts(code: Code, kernel: Function, node: Node, held: frozenset[str]) -> bool:
    """Tell whether a node itself may change anything but variables.

    Args:
        held: variables that hold their elements or members themselves.
    """
    if node.type != "call_expression":
        return bool(changes_by(code, node).inner - held)
    if is_cast(code, node):
        return False
    if called_name(code, node) in code.macros or has_effect(code, node):
        return True
    passing = passing_of(code, kernel, node)
    return passing is None or not _READ_ONLY.issuperset(passing)
