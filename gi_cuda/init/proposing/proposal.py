"""Propose a target for a kernel: buffers, scalars, launch, parameters, cases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.out_of_reach import out_of_reach
from gi_cuda.grammar import Function, KeptInclude, LineIndex
from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.host.launching import LaunchSite
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.kernel.tuning import Tunable, tunables, whole_number, within_blocks
from gi_cuda.init.proposing.arguments import read_arguments
from gi_cuda.init.proposing.buffers import ProposedBuffer, judged
from gi_cuda.init.proposing.cases import Second, second_of
from gi_cuda.init.proposing.data import Launches, data_of, known_sizes, words_of
from gi_cuda.init.proposing.geometry import Launching, launching, with_room
from gi_cuda.init.proposing.instances import instance_of
from gi_cuda.init.proposing.members import ProposedScalar, ProposedStruct
from gi_cuda.init.proposing.variables import variables
from gi_cuda.init.source.headers import Headers
from gi_cuda.init.source.layouts import Layouts
from gi_cuda.init.source.sources import Chosen, choose
from gi_cuda.spec.toml_file.load import MARK

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Step:
    """One launch of a target: kernel, launch configuration, names of its arguments."""

    kernel: str
    launching: Launching
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """All that the files of a target are written from.

    Attributes:
        evolving: headers that evolve with the source.
        kept: headers with functions that the kernel calls, and that cannot evolve.
        files: the file of each function that evolves, by the function's name.
        headers: all other headers.
        use: the launch that it was read from.
        further: launches of other kernels after that of the first.
        second: size of the second case of each role.
        left_out: message on a warp function whose mask leaves out a thread that calls it; "" if
            none was observed.
        mark: the word that marks assumptions in the files.
    """

    name: str
    source: Path
    evolving: tuple[Path, ...]
    kept: tuple[KeptInclude, ...]
    kernel: str
    instances: tuple[str, ...]
    functions: tuple[Function, ...]
    files: Mapping[str, str]
    headers: Headers
    compilation: Compilation
    parameters: tuple[Tunable, ...]
    buffers: tuple[ProposedBuffer, ...]
    scalars: tuple[ProposedScalar, ...]
    structs: tuple[ProposedStruct, ...]
    arguments: tuple[str, ...]
    extents: tuple[Extent, ...]
    launching: Launching
    use: LaunchSite | None = None
    further: tuple[Step, ...] = ()
    second: Second = Second.NONE
    left_out: str = ""
    mark: str = MARK

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return all launches, in order."""
        return (Step(self.kernel, self.launching, self.arguments), *self.further)

    @property
    def counts(self) -> tuple[str, ...]:
        """Return the names of the scalars that say how much data there is."""
        return tuple(extent.name for extent in self.extents if not extent.blocks)


def propose(
    path: Path,
    wanted: str | None,
    compilation: Compilation,
    hosts: Sequence[Path] = (),
    templates: Sequence[str] = (),
) -> Proposal:
    """Read a source and propose a target for one of its kernels.

    Args:
        wanted: the kernel's name; None for the only kernel.
        hosts: files that launch it; found by a search if empty.
        templates: its template arguments, if known.

    Raises:
        UserError: there is no such kernel, a needed header is missing, a target cannot pass a
            parameter, or no back end supports a feature of the kernel.
    """
    source = choose(path, wanted, compilation, hosts)
    _refuse_empty(source)
    _refuse_out_of_reach(source)
    named = source.launches(source.fixed)
    parameters = _parameters(source, named, compilation)
    defaults = {p.name: p.default for p in parameters if p.active}
    active = frozenset(defaults)
    launches = Launches(source.launches(active), named)
    bound, instance = instance_of(source, launches.use, active, templates)
    instances = [instance_of(source, one, active)[1] for one in launches.found]
    numbered = _WORD.sub(lambda m: source.local_constants.get(m[0], m[0]), instance)
    layouts, of_instance = Layouts(source, numbered, compilation), replace(source, types=bound)
    given = read_arguments(of_instance, launches.use, layouts)
    symbols = variables(source, bound)
    data = data_of(source, given, [one.name for one in symbols], launches, defaults)
    launch = launching(
        of_instance,
        list(zip(data.launches.found, data.launches.named, strict=True)),
        frozenset(s.name for s in data.scalars if "int" in s.element.type) | active,
        data.extents,
    )
    sizes = with_room(data.extents, [launch], known_sizes(data.buffers), defaults)
    places = LineIndex(source.code.source)
    define = {name: text for name, text in compilation.define.items() if name not in active}
    return Proposal(
        name=source.kernel.definition.name,
        source=path.resolve(),
        evolving=source.evolving,
        kept=source.kept,
        kernel=instance,
        instances=tuple(dict.fromkeys(name for name in instances if name != instance)),
        functions=source.functions,
        files={f.name: places.at(f.start).file for f in source.functions},
        headers=source.headers,
        compilation=replace(compilation, define=define),
        parameters=parameters,
        buffers=_all(source, data.buffers, symbols),
        scalars=data.scalars,
        structs=given.structs,
        arguments=given.names,
        extents=sizes,
        launching=launch,
        use=data.launches.use,
        second=second_of(sizes),
    )


def _refuse_empty(source: Chosen) -> None:
    """Refuse a kernel without statements, such as the skeleton of an exercise."""
    definition = source.kernel.definition.node
    if parts(definition.child_by_field_name("body")):
        return
    raise UserError(
        f"{source.kernel.name} has no statements: there is nothing to evolve",
        where=source.code.where(definition),
        hint="write what it is to do first",
    )


def _refuse_out_of_reach(source: Chosen) -> None:
    """Refuse features that no back end supports."""
    for one in out_of_reach(source.code.path, source.code.source, source.functions):
        if not one.on_gpu:
            raise one.error


def _parameters(
    source: Chosen, named: Sequence[LaunchSite], compilation: Compilation
) -> tuple[Tunable, ...]:
    """Return the parameters of the target.

    Args:
        named: launches with the names of all macros and constants.
    """
    texts = [text for one in named for text in one.block or ()]
    blocks = frozenset(word for text in texts for word in _WORD.findall(text))
    used = blocks.union(*(_WORD.findall(text) for one in named for text in one.templates))
    numbers = {name: whole_number(source.local_constants.get(name, "")) for name in sorted(used)}
    local = {name: number for name, number in numbers.items() if number is not None}
    files = {source.code.path.resolve(), *(one.resolve() for one in source.evolving)}
    elsewhere = {
        name: host.code.path.name
        for host in source.hosts
        if host.code.path.resolve() not in files
        for name in host.code.macros
    }
    found = tunables(
        source.code,
        source.functions,
        compilation.define,
        words_of(named) | local.keys(),
        blocks,
        elsewhere,
        local,
    )
    # A constant of host code affects the kernel only through template arguments and blocks.
    found = tuple(one for one in found if one.active or one.name not in local)
    return within_blocks(found, [one.block for one in named if one.block])


def _all(
    source: Chosen, buffers: Sequence[ProposedBuffer], symbols: Sequence[ProposedBuffer]
) -> tuple[ProposedBuffer, ...]:
    """Return all buffers; refuse a kernel without outputs."""
    every = judged(buffers, symbols)
    if any(one.role in ("output", "inout") for one in every):
        return every
    raise UserError(
        f"{source.kernel.name} writes nothing that could be judged",
        where=source.code.where(source.kernel.definition.node),
        hint="let it write a result to a buffer that is no `const` pointer, or to a `__device__`"
        " variable",
    )
