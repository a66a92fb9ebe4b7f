"""Read how host code launches a kernel, as expressions for a target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from gi_cuda.grammar import SourceLine
from gi_cuda.grammar.frontends.cuda.declarations.constants import LONGEST
from gi_cuda.grammar.frontends.cuda.declarations.element_types import ElementTypes
from gi_cuda.grammar.frontends.cuda.declarations.file import Argument, KernelSource
from gi_cuda.init.host.drawn import drawn
from gi_cuda.init.host.host import (
    HostCode,
    KnownNames,
    enclosing_function,
    function_name,
    is_name,
    template_names,
)
from gi_cuda.init.host.host_code import Resolver
from gi_cuda.init.host.host_extents import extents_of
from gi_cuda.init.host.launch_calls import LaunchCall, launch_calls
from gi_cuda.init.host.rounds import SECOND, counted, is_conditional, times
from gi_cuda.init.host.value_ranges import Range
from gi_cuda.init.kernel.sizes import bracketed

_MOST = 6
"""Largest number of launches of a kernel that are read per file; dispatchers may have a hundred."""

_DEPTH = 3
"""Largest depth of substitution of computed arguments in each other."""

_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """One launch of a kernel in host code.

    Attributes:
        place: file and line.
        grid, block: up to three expressions each; None if unknown.
        shared: bytes of dynamic shared memory; None if unknown.
        loose: grid, block and shared again, with variables for numbers that only a run tells; empty
            if not even these expressions are known.
        templates: template arguments, as the host code writes them; "" for an unknown one.
        values: numbers that the host code passes for parameters, or sets members of passed structs
            to. A loop variable has its value in the second iteration.
        computed: expressions of parameters that the host code computes from other parameters.
        types: declared type of each argument, if there is one.
        passed: the text of the argument for each parameter.
        allocated: bytes that the host code allocates for each pointer, as an expression.
        drawn: range of the random numbers that the host code fills each buffer with.
        times: launches in a run of the program, by the loops around; 1 if unknown.
    """

    place: SourceLine
    grid: tuple[str, ...] | None
    block: tuple[str, ...] | None
    shared: str | None
    loose: tuple[tuple[str, ...], tuple[str, ...], str] = ((), (), "")
    templates: tuple[str, ...] = ()
    values: Mapping[str, int | float] = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    passed: Mapping[str, str] = field(default_factory=dict)
    allocated: Mapping[str, str] = field(default_factory=dict)
    drawn: Mapping[str, Range] = field(default_factory=dict)
    times: int = 1


def launch_sites(
    host: HostCode, kernel: KernelSource, types: ElementTypes, known: KnownNames
) -> list[LaunchSite]:
    """Return the launches of a kernel in host code.

    Launches in branches that are never taken are left out, unless there are no others.

    Args:
        known: names that expressions may keep, besides the kernel's own scalars.
    """
    calls = [call for _, call in launch_calls(host, {kernel.definition.name})]
    reached = [call for call in calls if _is_reached(host, types, call.node)]
    return [_site(host, kernel, types, known, call) for call in (reached or calls)[:_MOST]]


def _is_reached(host: HostCode, types: ElementTypes, node: Node) -> bool:
    """Return False for a launch in a branch of an ``if`` that is known not to be taken."""
    resolver = Resolver(host, node, types, KnownNames(starts=True, free=True))
    child, parent = node, node.parent
    while parent is not None and parent.type != "function_definition":
        if parent.type == "if_statement":
            clause = parent.child_by_field_name("condition")
            value = None if clause is None else clause.child_by_field_name("value")
            taken = None if value is None else resolver.number(value)
            in_else = child == parent.child_by_field_name("alternative")
            if taken is not None and bool(taken) == in_else:
                return False
        child, parent = parent, parent.parent
    return True


def _site(
    host: HostCode,
    kernel: KernelSource,
    types: ElementTypes,
    known: KnownNames,
    call: LaunchCall,
) -> LaunchSite:
    code, node = host.code, call.node
    passed = list(zip(kernel.arguments, call.arguments, strict=False))
    here = {code.of(n).strip(): a.name for a, n in passed if not a.pointers and is_name(n)}
    for argument, passes in passed:
        own = known.members.get(argument.name, {})
        here |= {f"{code.of(passes).strip()}{path}": name for path, name in own.items()}
    plain = Resolver(host, node, types, KnownNames(starts=True))
    for text, name in [*here.items()]:
        for other in plain.other_names(text):
            here.setdefault(other, name)
    resolver = Resolver(host, node, types, replace(known, scalars=here))
    # Block size and shared memory must not depend on guesses of the amount of data (own=False).
    of_block = Resolver(host, node, types, replace(known, scalars=here, own=False))
    loose = Resolver(host, node, types, replace(known, scalars=here, own=False, free=True))
    values = {n: v for text, n in here.items() if (v := plain.number_of(text)) is not None}
    values |= {a.name: v for a, n in passed if (v := plain.number(n)) is not None}
    rounds = frozenset(counted(code, node, plain.number))
    values |= {a.name: SECOND for a, n in passed if code.of(n).strip() in rounds}
    # Template parameters of the enclosing function that no call here determines.
    unknown = frozenset(template_names(code, enclosing_function(node)))
    declared = {
        a.name: t
        for a, n in passed
        if (t := resolver.declared_type(n)) is not None and unknown.isdisjoint(_NAME.findall(t))
    }
    templates = resolver.template_arguments(call.called)
    return LaunchSite(
        place=code.place(node),
        grid=_extent(resolver, call.grid),
        block=_extent(of_block, call.block),
        shared="0" if call.shared is None else of_block.expression(call.shared),
        loose=(
            _extent(loose, call.grid) or (),
            _extent(loose, call.block) or (),
            ("0" if call.shared is None else loose.expression(call.shared)) or "",
        ),
        templates=tuple(t if unknown.isdisjoint(_NAME.findall(t)) else "" for t in templates),
        values=values,
        computed=dict(_computed(resolver, types, passed, known.kept)),
        types=declared,
        passed={a.name: resolver.origin(n) for a, n in passed},
        allocated={a.name: b for a, n in passed if a.pointers and (b := resolver.bytes(n))},
        drawn={a.name: d for a, n in passed if a.pointers and (d := drawn(host, node, n))},
        times=_times(host, Resolver(host, node, types, KnownNames(starts=True, free=True)), node),
    )


def _times(host: HostCode, resolver: Resolver, node: Node) -> int:
    """Return the number of times that a program reaches a node.

    The loops around the node count, and those around the only call of its function. 1 if unknown.
    """
    caller = resolver.caller
    if is_conditional(node):
        caller = None
    alone = len(host.calls.get(function_name(host.code, enclosing_function(node)), ())) == 1
    above = _times(host, *caller) if caller and alone else 1
    return above * (times(host.code, node, resolver.number) or 1)


def _extent(resolver: Resolver, nodes: Sequence[Node]) -> tuple[str, ...] | None:
    return resolver.extent(nodes[0]) if len(nodes) == 1 else extents_of(resolver, nodes)


def _computed(
    resolver: Resolver,
    types: ElementTypes,
    passed: Sequence[tuple[Argument, Node]],
    kept: frozenset[str],
) -> Iterator[tuple[str, str]]:
    """Yield the whole-number parameters that the host code computes from others, with expressions.

    Parameters of other types cannot have an expression in a target.
    """
    made = {argument.name: resolver.made_from_others(node) or "" for argument, node in passed}
    whole = {
        argument.name
        for argument, node in passed
        if not argument.pointers and is_name(node) and not _is_real(types, argument)
    }
    known = {name for name in whole if not _NAME.search(made[name])}
    for argument, _ in passed:
        own = argument.name
        text = _written_out(made[own], {n: t for n, t in made.items() if t and n not in known})
        names = set(_NAME.findall(text))
        if names <= known | kept and names & known:
            yield own, text
        elif own in whole:
            known.add(own)


def _written_out(text: str, made: Mapping[str, str]) -> str:
    """Return an expression with the definitions of its variables substituted."""
    for _ in range(_DEPTH):
        if len(text) > LONGEST or made.keys().isdisjoint(_NAME.findall(text)):
            break
        text = _NAME.sub(lambda match: bracketed(made.get(match[0], match[0])), text)
    return text


def _is_real(types: ElementTypes, argument: Argument) -> bool:
    element = types.element(argument.type)
    return element is not None and element.floating
