"""The work of a thread by items: the statements and variables that each item has for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import declarators, name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    LOOPS,
    Code,
    Function,
    descend,
    geometry,
    holds,
    statements,
)
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import (
    Index,
    declared_as,
    declared_names,
    indices,
    is_guarded,
    uses_block_besides,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import (
    Passing,
    called_name,
    has_effect,
    is_cast,
    passing_of,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.bounds import Bound, read_bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes, changes_by
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.guards import read_guard

_SHARED = frozenset({"for_statement", "while_statement"})
_LEAVES = frozenset({"break_statement", "continue_statement"})
_DECLINED = frozenset(
    {"return_statement", "goto_statement", "labeled_statement", "lambda_expression"}
)
_BLOCKS = frozenset({"compound_statement", "else_clause"})
_SETS = {"init_declarator": ("declarator", "value"), "assignment_expression": ("left", "right")}
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
        name: the number of the item: a variable, or ``blockIdx.x``.
        statements: the work.
        own: the variables that depend on the number, itself among them.
        runs: the statements that use these variables, in order.
    """

    name: str
    statements: tuple[Node, ...]
    own: frozenset[str]
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """Threads as the items of the work.

    Attributes:
        index: the global index that numbers the items.
        declared: the declaration of its variable.
        tests: the comparisons of the number that hold for each item.
        work: the work.
    """

    index: Index
    declared: Node
    tests: tuple[Bound, ...]
    work: Work


def read_items(code: Code, kernel: Function, axis: str) -> Items | None:
    """Read the threads of a kernel along an axis as items.

    Returns:
        None if the work cannot be told apart by items, or has no loop that several can share.
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
    tests, statements_ = guarded
    if any(one.type in _DECLINED for top in statements_ for one in descend(top)):
        return None
    work = read_work(code, kernel, statements_, name)
    loops = [one for one in shared_nodes(work) if one.type in _SHARED] if work else []
    if work is None or not any(holds(o, run.statements[0]) for o in loops for run in work.runs):
        return None
    return Items(found[0], declared[0], tests, work)


def read_work(code: Code, kernel: Function, work: Sequence[Node], name: str) -> Work | None:
    """Read statements of a kernel as the work of items.

    Args:
        name: the number of the item.

    Returns:
        None if a variable that depends on the number is declared elsewhere, or if something that
        each item has to do would be done once.
    """
    outside = Counter(declared_names(kernel.body, code))
    outside.subtract(name for one in work for name in declared_names(one, code))
    names = _dependent(code, kernel, work, name)
    if names is None or any(outside[one] for one in names - {name}):
        return None
    found_runs = tuple(_runs(code, work, names))
    held = held_names(code, [kernel.body])
    mine = [one for run in found_runs for one in run]
    if any(_acts(code, kernel, one, held) for one in _outside(kernel.body, mine)):
        return None
    runs = (
        Run(one, any(_acts(code, kernel, n, held) for top in one for n in descend(top)))
        for one in found_runs
    )
    return Work(name, tuple(work), names, tuple(runs))


def shared_nodes(work: Work) -> Iterator[Node]:
    """Return the nodes that are executed once for all items: ``for`` of a loop around a run."""
    mine = [one for run in work.runs for one in run.statements]
    return (node for top in work.statements for node in _outside(top, mine))


def depends(code: Code, node: Node, names: frozenset[str]) -> bool:
    """Tell whether a piece of code uses one of some variables, such as ``i`` or ``blockIdx.x``."""
    return not names.isdisjoint(used_names(code, node))


@lru_cache(maxsize=4096)
def used_names(code: Code, node: Node) -> frozenset[str]:
    """Return the variables that a piece of code uses, also in macros: ``a``, ``i``, ``blockIdx.x``;
    no members."""
    found = [one for one in descend(node) if one.type in ("identifier", "field_expression")]
    fields = (told for one in found if (told := geometry(one, code.text)))
    own = {code.span(one) for one in found if one.type == "identifier"}
    return frozenset({*own, *map(".".join, fields)}) | code.macro_words(node)


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


def _dependent(
    code: Code, kernel: Function, work: Sequence[Node], name: str
) -> frozenset[str] | None:
    """Return the variables that depend on the number of the item.

    Returns:
        None if the work does not declare one of them, or hides one in a macro.
    """
    held, objects = held_names(code, work), held_names(code, work, numbers=False)
    leads = _leads(code, work, held)
    names, before = frozenset({name}), frozenset[str]()
    while names != before:
        before = names
        for leaf in _leaves(code, work, names):
            if depends(code, leaf, names):
                changed, inside = changes(code, leaf), _declared(code, [leaf])
                own = _declared_own(code, leaf, names)
                given = _given(code, kernel, leaf)
                reached = (changed.inner & held | given & objects).union(
                    *(leads.get(one, ()) for one in changed.inner | given)
                )
                names |= own | ((changed.whole | reached) - (inside - own))
    hidden = frozenset[str]().union(*(code.macro_words(one) for one in work))
    declared = _declared(code, work) | {name}
    return None if names - declared or hidden & declared else names


def _declared_own(code: Code, node: Node, names: frozenset[str]) -> frozenset[str]:
    """Return the variables of a declaration that depend on others: ``b`` of ``a = j, b = i``."""
    found = node.children_by_field_name("declarator") if node.type == "declaration" else []
    declared = (name_node(one) for one in found if depends(code, one, names))
    return frozenset(code.span(one) for one in declared if one is not None)


def _given(code: Code, kernel: Function, node: Node) -> frozenset[str]:
    """Return the variables in calls that may change what these lead to."""
    found: set[str] = set()
    for call in descend(node):
        if call.type == "call_expression" and not is_cast(code, call):
            passing = passing_of(code, kernel, call)
            arguments = parts(call.child_by_field_name("arguments"))
            for one, way in zip(arguments, passing or (), strict=False):
                found |= code.words(one) if way not in _READ_ONLY else set()
            found |= code.words(call) if passing is None else set()
    return frozenset(found)


def _leads(code: Code, work: Sequence[Node], held: frozenset[str]) -> Mapping[str, frozenset[str]]:
    """Return the arrays that each pointer may lead to: ``tile`` for ``p`` of ``p = tile + 1``."""
    found: dict[str, frozenset[str]] = {}
    for _ in range(2):  # a pointer may be set to another pointer
        for node in (one for top in work for one in descend(top)):
            left, right = (node.child_by_field_name(one) for one in _SETS.get(node.type, ("", "")))
            name = name_node(left) if node.type == "init_declarator" else left
            if name is None or right is None or name.type != "identifier":
                continue
            if (pointer := code.span(name)) not in held:
                words = code.words(right)
                more = (words & held).union(*(found.get(one, ()) for one in words))
                found[pointer] = found.get(pointer, frozenset()) | more
    return found


def held_names(code: Code, nodes: Iterable[Node], *, numbers: bool = True) -> frozenset[str]:
    """Return the variables that hold their elements or members themselves: no pointers.

    Args:
        numbers: whether numbers count as well.
    """
    found: set[str] = set()
    for node in (one for top in nodes for one in descend(top) if one.type == "declaration"):
        kind = node.child_by_field_name("type")
        known = None if kind is None else code.spelled_type(code.span(kind))
        number = known is not None and known.arithmetic
        for one in declarators(node):
            name = name_node(one)
            counts = numbers or not number or one.type == "array_declarator"
            if name is not None and one.type != "pointer_declarator" and counts:
                found.add(code.span(name))
    return frozenset(found)


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
    if node.type in _SHARED and any(_is_own(code, one, node, names) for one in descend(node)):
        return None
    bodies = [one for field in fields if (one := node.child_by_field_name(field)) is not None]
    heads = [one for one in node.children if one not in bodies]
    return None if any(depends(code, one, names) for one in heads) else bodies


def _is_own(code: Code, node: Node, loop: Node, names: frozenset[str]) -> bool:
    """Tell whether a node is a ``break`` or ``continue`` by which an item leaves a loop alone."""
    above = node.parent if node.type in _LEAVES else None
    while above is not None and above != loop and above.type not in LOOPS:
        head = above.child_by_field_name("condition") if above.type == "if_statement" else above
        if above.type not in _BLOCKS and head is not None and depends(code, head, names):
            return True
        above = above.parent
    return False


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
        bodies = _bodies(code, one, names) if depends(code, one, names) else []
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
