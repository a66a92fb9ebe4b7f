"""Find kernel launches in host code: ``<<<>>>``, and calls of the runtime and the driver API."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.init.host.host import HostCode, enclosing_function, plain_name, without_casts

_WORD = re.compile(r"[A-Za-z_]\w*")
_RUNTIME = frozenset({"cudaLaunchKernel", "cudaLaunchCooperativeKernel"})
_DRIVER = frozenset({"cuLaunchKernel", "cuLaunchCooperativeKernel"})
_NAMING = frozenset({"cuModuleGetFunction", "cuLibraryGetKernel"})


@dataclass(frozen=True, slots=True)
class LaunchCall:
    """One launch, as nodes of the host code.

    Attributes:
        node: the whole call.
        called: the expression that names the kernel.
        grid, block: one node, or one for each dimension.
        shared: bytes of dynamic shared memory; None if not given.
        arguments: the arguments of the kernel.
    """

    node: Node
    called: Node
    grid: tuple[Node, ...]
    block: tuple[Node, ...]
    shared: Node | None
    arguments: tuple[Node, ...]


def launch_calls(host: HostCode, kernels: Collection[str]) -> Iterator[tuple[str, LaunchCall]]:
    """Yield the launches of some kernels in order, each with the kernel's name, without scope."""
    code = host.code
    for node in walk(code.root):
        found = _launch(code, node) if node.type == "call_expression" else None
        if found is None:
            continue
        named = {_kernel_name(code, called): called for called in _called(host, found)}
        for name, called in named.items():
            if name in kernels:
                yield name, replace(found, called=called)


def _launch(code: CudaFile, node: Node) -> LaunchCall | None:
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None:
        return None
    listed = tuple(parts(given))
    syntax = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
    if syntax is not None:
        config = tuple(parts(syntax))
        shared = config[2] if len(config) > 2 else None
        return LaunchCall(node, called, config[:1], config[1:2], shared, listed)
    name = plain_name(code.of(called))
    if name in _RUNTIME and len(listed) >= 4:
        kernel, grid, block, packed, *rest = listed
        shared = rest[0] if rest else None
        return LaunchCall(node, kernel, (grid,), (block,), shared, _packed(code, packed))
    if name in _DRIVER and len(listed) >= 10:
        packed = listed[9]
        return LaunchCall(
            node, listed[0], listed[1:4], listed[4:7], listed[7], _packed(code, packed)
        )
    return None


def _called(host: HostCode, launch: LaunchCall) -> Iterator[Node]:
    """Yield the nodes that may name the launched kernel: the expression itself, or values of a
    variable.
    """
    code, called = host.code, without_casts(launch.called)
    yield called
    name = _kernel_name(code, called)
    if name not in host.kernels:
        yield from map(without_casts, _set_to(code, launch.node, name))


def _kernel_name(code: CudaFile, called: Node) -> str:
    return plain_name(code.of(called).strip().strip('"').lstrip("&* "))


def _set_to(code: CudaFile, at: Node, name: str) -> Iterator[Node]:
    """Yield the values that a function gives a variable; for ``cuModuleGetFunction``, the kernel's
    name.
    """
    function = enclosing_function(at)
    for node in walk(function) if function is not None else ():
        value = None
        if node.type == "init_declarator":
            declarator = node.child_by_field_name("declarator")
            if declarator is not None and name in _WORD.findall(code.of(declarator)):
                value = node.child_by_field_name("value")
        elif node.type == "assignment_expression":
            target = node.child_by_field_name("left")
            if target is not None and code.of(target) == name:
                value = node.child_by_field_name("right")
        elif node.type == "call_expression":
            value = _named_by_driver(code, node, name)
        if value is not None:
            yield value


def _named_by_driver(code: CudaFile, node: Node, name: str) -> Node | None:
    """Return the node of the kernel's name in ``cuModuleGetFunction(&name, module, "kernel")``."""
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or given is None or code.of(called) not in _NAMING:
        return None
    listed = tuple(parts(given))
    if len(listed) < 3 or name not in _WORD.findall(code.of(listed[0])):
        return None
    return listed[2]


def _packed(code: CudaFile, packed: Node) -> tuple[Node, ...]:
    """Return the nodes of the arguments in ``void *args[] = {&a, &n}``."""
    packed = without_casts(packed)
    listed = packed.child_by_field_name("value") or packed
    if packed.type == "identifier":
        listed = _array(code, packed) or packed
    if listed.type != "initializer_list":
        return ()
    pointed = (without_casts(node) for node in parts(listed))
    return tuple(
        node.child_by_field_name("argument") or node if node.type == "pointer_expression" else node
        for node in pointed
    )


def _array(code: CudaFile, name: Node) -> Node | None:
    function = enclosing_function(name)
    found = None
    for node in walk(function) if function is not None else ():
        declarator = (
            node.child_by_field_name("declarator") if node.type == "init_declarator" else None
        )
        before = declarator is not None and node.start_byte < name.start_byte
        if before and declarator and code.of(name) in _WORD.findall(code.of(declarator)):
            found = node.child_by_field_name("value")
    return found
