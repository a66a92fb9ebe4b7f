"""Rank the kernels of a source: by the launches in host code and the work of one thread."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, KernelSource
from gi_cuda.grammar.frontends.cuda.declarations.file import kernels as kernels_of
from gi_cuda.init.host.host import HostCode, enclosing_function, read_host_code
from gi_cuda.init.host.launch_calls import launch_calls

_WORD = re.compile(r"[A-Za-z_]\w*")
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
_WORK = frozenset(
    {"binary_expression", "assignment_expression", "update_expression", "subscript_expression"}
)
_ROUNDS = 8
"""Assumed number of iterations of a loop."""

_DEPTH = 3
"""Largest depth of nested loops that is counted."""

_SCALAR = re.compile(
    r"(?:(?:unsigned|signed|int|long|short|char|float|double|bool)\s*)+"
    r"|size_t|u?int\d+_t|u(?:int|char|short|long)|clock_t"
)
"""Types of scalar arguments."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A kernel and its rank's reason.

    Attributes:
        kernel: its name, in the form that ``--kernel`` takes.
        why: the reason for its rank, in words.
    """

    kernel: str
    why: str


@dataclass(slots=True)
class _Launches:
    """Counts of the launches of each kernel in host code; a launch in a loop weighs more."""

    places: Counter[str] = field(default_factory=Counter)
    named: set[str] = field(default_factory=set)
    looped: set[str] = field(default_factory=set)
    weight: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, loops: int) -> None:
        self.places[name] += 1
        self.weight[name] += _ROUNDS ** min(loops, _DEPTH - 1)
        if loops:
            self.looped.add(name)

    def said(self, name: str) -> str:
        """Describe the launches of a kernel in words."""
        count = self.places[name]
        if not count:
            return "only named by host code" if name in self.named else "no launch of it was found"
        times = f"in {count} places" if count > 1 else "once"
        return f"launched {times}" + (", in a loop" if name in self.looped else "")


def ranked(code: CudaFile, hosts: Sequence[HostCode] = ()) -> tuple[Ranked, ...]:
    """Return all kernels of a source, the one most worth a target first.

    Kernels that host code launches come before other kernels. Kernels of headers and kernels
    without
    array arguments come last. Within each group the order is by number of launches times work of
    one
    thread; ties keep the order of the source.

    Args:
        hosts: files that may launch the kernels; by default the source itself.
    """
    every = kernels_of(code)
    names = frozenset(k.definition.name for k in every)
    launches = _Launches()
    for host in hosts or (read_host_code(code),):
        _count(launches, host, names)
    work = _Work(code)
    amounts = {index: work.of(k.definition.node) for index, k in enumerate(every)}

    def order(index: int) -> tuple[bool, bool, bool, bool, int]:
        kernel = every[index]
        name = kernel.definition.name
        own = code.place(kernel.definition.node).file == code.source.name
        weight = launches.weight[name]
        return (
            not own,
            not _has_data(kernel),
            not weight,
            not weight and name not in launches.named,
            -amounts[index] * max(weight, 1),
        )

    most = max(amounts.values(), default=0)
    return tuple(
        Ranked(
            every[index].shown,
            launches.said(every[index].definition.name)
            + (", most work" if amounts[index] == most and len(every) > 1 else ""),
        )
        for index in sorted(amounts, key=order)
    )


def _count(found: _Launches, host: HostCode, names: frozenset[str]) -> None:
    """Count the launches in functions that are not kernels."""
    code = host.code
    kernels = [d.node for d in code.definitions if d.kernel]
    for definition in code.definitions:
        if not definition.kernel:
            words = _WORD.findall(code.of(definition.node))
            found.named |= {word for word in words if word in names}
    switched: set[tuple[str, Node]] = set()
    for name, call in launch_calls(host, names):
        node = call.node
        if enclosing_function(node) in kernels:
            continue
        loops, switch = _around(node)
        # Only one branch of a switch runs: count its launches once for each kernel.
        if switch is None or (name, switch) not in switched:
            found.add(name, loops)
        if switch is not None:
            switched.add((name, switch))


def _around(node: Node) -> tuple[int, Node | None]:
    """Return the number of loops around a node, and the outermost switch around it."""
    loops, switch, parent = 0, None, node.parent
    while parent is not None and parent.type != "function_definition":
        loops += parent.type in _LOOPS
        if parent.type == "switch_statement":
            switch = parent
        parent = parent.parent
    return loops, switch


class _Work:
    """Estimate of the operations of one thread, called functions included; loops weigh more."""

    def __init__(self, code: CudaFile) -> None:
        self._code = code
        self._functions = {d.name: d.node for d in code.definitions if d.device and not d.kernel}
        self._known: dict[str, int] = {}

    def of(self, node: Node) -> int:
        """Return the weighted number of operations of a function."""
        total = 0
        stack = [(node, 0)]
        while stack:
            one, loops = stack.pop()
            rounds = _ROUNDS ** min(loops, _DEPTH)
            if one.type in _WORK:
                total += rounds
            elif one.type == "call_expression":
                total += rounds * (1 + self._called(one))
            loops += one.type in _LOOPS
            stack.extend((child, loops) for child in one.children)
        return total

    def _called(self, call: Node) -> int:
        called = call.child_by_field_name("function")
        name = "" if called is None else self._code.of(called).partition("<")[0]
        if name not in self._functions:
            return 0
        if name not in self._known:
            # A recursive call counts as no operations.
            self._known[name] = 0
            self._known[name] = self.of(self._functions[name])
        return self._known[name]


def _has_data(kernel: KernelSource) -> bool:
    """Tell whether a kernel takes arrays or structs."""
    return any(a.pointers or not _SCALAR.fullmatch(a.type) for a in kernel.arguments)
