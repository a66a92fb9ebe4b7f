"""Read the kernel launches in the host code of a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from tree_sitter import Node

from gi_cuda.grammar import SourceLine
from gi_cuda.grammar.frontends.cuda.declarations.element_types import (
    ElementTypes,
    read_element_types,
)
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.host.host import (
    HostCode,
    KnownNames,
    enclosing_function,
    function_name,
    without_casts,
)
from gi_cuda.init.host.host_code import Resolver
from gi_cuda.init.host.host_files import find_hosts
from gi_cuda.init.host.launch_calls import LaunchCall, launch_calls
from gi_cuda.init.host.rounds import is_conditional
from gi_cuda.init.proposing.instances import instance_of
from gi_cuda.init.source.sources import Chosen, choose, read_whole

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})


@dataclass(frozen=True, slots=True)
class Call:
    """One launch in host code.

    Attributes:
        kernel: name of the kernel, without scope and template arguments.
        place: file and line of the launch.
        function: host function that contains the launch.
        text: text of the launch, without blanks.
        conditional: whether the launch is inside a branch.
        loops: number of loops around the launch.
        host: the file that contains the launch.
        launch: the parsed launch.
    """

    kernel: str
    place: SourceLine
    function: str
    text: str
    conditional: bool
    loops: int
    host: HostCode = field(repr=False, compare=False)
    launch: LaunchCall = field(repr=False, compare=False)

    @property
    def configuration(self) -> str:
        """The text between ``<<<`` and ``>>>``."""
        return self.text.partition("<<<")[2].partition(">>>")[0]

    @property
    def where(self) -> str:
        """The file and the line of the launch, for messages."""
        return f"{self.host.code.path.parent / self.place.file}:{self.place.line}"


@dataclass(frozen=True)
class HostReading:
    """The launches of a source.

    Attributes:
        path: path of the source.
        compilation: options of its compilation.
        kept: names of macros that stay as names in expressions.
        given: files that launch its kernels; empty: search for them.
    """

    path: Path
    compilation: Compilation
    kept: frozenset[str] = frozenset()
    given: tuple[Path, ...] = ()
    _chosen: dict[str, Chosen] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def code(self) -> CudaFile:
        """Parsed source with its headers."""
        return read_whole(self.path, self.compilation)

    @cached_property
    def kernels(self) -> frozenset[str]:
        """Names of the kernels that the source defines."""
        return frozenset(one.definition.name for one in kernels(self.code))

    @cached_property
    def hosts(self) -> tuple[HostCode, ...]:
        """Files that may launch the kernels."""
        found = find_hosts(self.code, kernels(self.code), self.given)
        define = self.compilation.define
        return tuple(replace(one, constants={**define, **one.constants}) for one in found)

    @cached_property
    def types(self) -> ElementTypes:
        """Types that the source declares."""
        return read_element_types((self.code, *self.code.around))

    @cached_property
    def functions(self) -> frozenset[str]:
        """Names of all host functions in `hosts`."""
        every = (one for host in self.hosts for one in host.code.definitions)
        return frozenset(one.name for one in every if not one.kernel)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All launches in host code, in order."""
        return tuple(call for host in self.hosts for call in self._calls(host))

    def _calls(self, host: HostCode) -> Iterator[Call]:
        within = [one.node for one in host.code.definitions if one.kernel]
        for name, found in launch_calls(host, self.kernels):
            function = enclosing_function(found.node)
            if function not in within:
                yield Call(
                    name,
                    host.code.place(found.node),
                    function_name(host.code, function),
                    "".join(host.code.of(found.node).split()),
                    is_conditional(found.node),
                    _loops(found.node),
                    host,
                    found,
                )

    def chosen(self, kernel: str) -> Chosen:
        """Return a kernel with its parsed source.

        Raises:
            UserError: there is no kernel of that name, or several.
        """
        if kernel not in self._chosen:
            self._chosen[kernel] = choose(self.path, kernel, self.compilation, self.given)
        return self._chosen[kernel]

    def parameter_types(self, kernel: str) -> tuple[str, ...]:
        """Return the types of a kernel's parameters."""
        arguments = self.chosen(kernel).kernel.arguments
        stars = (f"{' ' * bool(one.pointers)}{'*' * one.pointers}" for one in arguments)
        return tuple(f"{one.type}{star}" for one, star in zip(arguments, stars, strict=True))

    def resolver(self, call: Call, scalars: Mapping[str, str]) -> Resolver:
        """Return a resolver that converts host expressions at a launch to a target's expressions.

        Args:
            call: the launch.
            scalars: the target's names of host variables.
        """
        known = KnownNames(kept=self.kept, scalars=scalars)
        return Resolver(call.host, call.launch.node, self.types, known)

    def instance(self, call: Call) -> str:
        """Return the name of a launch's kernel with its namespaces and template arguments.

        Raises:
            UserError: the template arguments cannot be read.
        """
        chosen = self.chosen(call.kernel)
        sites = chosen.launches(self.kept)
        site = next((one for one in sites if one.place == call.place), None)
        return instance_of(chosen, site, self.kept)[1]


def origin(resolver: Resolver, node: Node) -> str:
    """Return an argument of a launch without casts and blanks."""
    return "".join(resolver.origin(without_casts(node)).split())


def _loops(node: Node) -> int:
    count, above = 0, node.parent
    while above is not None and above.type != "function_definition":
        count += above.type in _LOOPS
        above = above.parent
    return count


def period(texts: Sequence[str]) -> int:
    """Return the length of the shortest prefix that a sequence repeats: 2 for A B A B."""
    return next(
        size
        for size in range(1, len(texts) + 1)
        if all(text == texts[at % size] for at, text in enumerate(texts))
    )
