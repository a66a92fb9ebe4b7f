"""How a source's host code launches a kernel, as expressions that a target can hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from gi_cuda.grammar import SourceLine
from gi_cuda.grammar.frontends.cuda.element_types import ElementTypes
from gi_cuda.grammar.frontends.cuda.file import Argument, CudaFile, KernelSource, walk
from gi_cuda.init.host_code import KnownNames, Resolver

_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """One launch of a kernel in host code.

    Attributes:
        place: where it is.
        grid, block: up to three expressions each; None where they cannot be told.
        shared: bytes of dynamic shared memory, None where that cannot be told.
        templates: template arguments, as the host code writes them.
        values: what the host code passes for a parameter, where that is a number.
        computed: for a parameter that the host code computes from others, how.
        types: declared type of each argument, where there is one.
        allocated: bytes that the host code allocates for a parameter, as an expression.
    """

    place: SourceLine
    grid: tuple[str, ...] | None
    block: tuple[str, ...] | None
    shared: str | None
    templates: tuple[str, ...] = ()
    values: Mapping[str, int | float] = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    allocated: Mapping[str, str] = field(default_factory=dict)


def launch_sites(
    codes: Sequence[CudaFile], kernel: KernelSource, types: ElementTypes, known: KnownNames
) -> list[LaunchSite]:
    """The launches of a kernel in its source.

    Args:
        codes: the source, then its headers.
        known: what may stay a name; the kernel's own scalars need not be said.
    """
    code = codes[0]
    found = []
    for node in walk(code.root):
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        syntax = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
        if called is None or syntax is None:
            continue
        name = code.of(called).partition("<")[0]
        if name.rpartition("::")[2].strip() == kernel.definition.name:
            found.append(_site(codes, kernel, types, known, (node, syntax)))
    return found


def _site(
    codes: Sequence[CudaFile],
    kernel: KernelSource,
    types: ElementTypes,
    known: KnownNames,
    launch: tuple[Node, Node],
) -> LaunchSite:
    node, syntax = launch
    code = codes[0]
    given = node.child_by_field_name("arguments")
    listed = [c for c in given.named_children if c.type != "comment"] if given else []
    passed = list(zip(kernel.arguments, listed, strict=False))
    here = {code.of(n).strip(): a.name for a, n in passed if not a.pointers and _is_name(n)}
    plain = Resolver(codes, node, types, KnownNames(starts=True))
    resolver = Resolver(codes, node, types, replace(known, scalars=here))
    # How many threads a block has is no matter of how much data there is.
    of_block = Resolver(codes, node, types, replace(known, scalars=here, own=False))
    config = syntax.named_children
    values = {a.name: v for a, n in passed if (v := plain.number(n)) is not None}
    declared = {a.name: t for a, n in passed if (t := resolver.declared_type(n)) is not None}
    return LaunchSite(
        place=code.place(node),
        grid=resolver.extent(config[0]) if config else None,
        block=of_block.extent(config[1]) if len(config) > 1 else None,
        shared=of_block.expression(config[2]) if len(config) > 2 else "0",
        templates=tuple(resolver.template_arguments(node.child_by_field_name("function"))),
        values=values,
        computed=dict(_computed(resolver, passed, known.kept)),
        types=declared,
        allocated={a.name: b for a, n in passed if a.pointers and (b := resolver.bytes(n))},
    )


def _is_name(node: Node) -> bool:
    """Whether an expression names one value: ``n``, ``matrix.rows``, ``data.size()``."""
    if node.type == "call_expression":
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        member = called is not None and called.type == "field_expression"
        return member and given is not None and not given.named_children
    return node.type in ("identifier", "field_expression")


def _computed(
    resolver: Resolver, passed: Sequence[tuple[Argument, Node]], kept: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """The parameters for which the host code passes what it computes from earlier ones."""
    known: set[str] = set()
    for argument, node in passed:
        text = resolver.made_from_others(node)
        names = set(_NAME.findall(text or ""))
        if text is not None and names and names <= known | kept and names & known:
            yield argument.name, text
        elif not argument.pointers and _is_name(node):
            known.add(argument.name)
