"""What a target for a kernel could be: buffers, scalars, launch, parameters, cases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.evaluate.out_of_reach import out_of_reach
from gi_cuda.grammar import Function, KeptInclude, LineIndex
from gi_cuda.init.access import is_compared
from gi_cuda.init.arguments import Arguments, read_arguments, with_members_set
from gi_cuda.init.buffers import ProposedBuffer, judged
from gi_cuda.init.cases import Second, second_of
from gi_cuda.init.compilation import Compilation
from gi_cuda.init.consistent import consistent, of_counts, of_structs, with_rows
from gi_cuda.init.count_names import is_count_name, is_of_window
from gi_cuda.init.geometry import Launching, launching, with_room
from gi_cuda.init.headers import Headers
from gi_cuda.init.hidden import as_headers_have
from gi_cuda.init.instances import instance_of
from gi_cuda.init.launching import LaunchSite
from gi_cuda.init.layouts import Layouts
from gi_cuda.init.member_counts import with_member_counts
from gi_cuda.init.members import ProposedScalar, ProposedStruct, set_apart, written_members
from gi_cuda.init.sizes import (
    Extent,
    elements,
    extents,
    is_few,
    is_looped,
    rounds_down,
    small_enough,
)
from gi_cuda.init.sources import Chosen, choose
from gi_cuda.init.texture_setup import shaped
from gi_cuda.init.tuning import Tunable, tunables, within_blocks
from gi_cuda.init.variables import variables
from gi_cuda.spec.expression import ExpressionError, parse
from gi_cuda.spec.load import MARK

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Step:
    """One launch of a target: a kernel, how it is launched, and the names of what it gets."""

    kernel: str
    launching: Launching
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """All that the files of a target are written from.

    Attributes:
        evolving: headers that evolve with the source.
        kept: headers that hold what the kernel reaches, and cannot.
        files: by name of a function that evolves, the file that it stands in.
        headers: what else is included.
        use: the launch that it was read from.
        further: launches of other kernels behind that of the first.
        second: how much data there is in the second case of each role.
        left_out: where the mask of a warp function leaves out a thread that calls it; "" where that
            was not seen.
        mark: what stands where something was assumed.
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
        """All launches, in order."""
        return (Step(self.kernel, self.launching, self.arguments), *self.further)

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of the scalars that say how much data there is."""
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
        wanted: the kernel's name; None for the only one there is.
        hosts: files that launch it, if they are not to be searched for.
        templates: its template arguments, where they are known.

    Raises:
        UserError: no such kernel, a header that is needed and not found, a parameter no target can
            pass, something that no back end does.
    """
    source = choose(path, wanted, compilation, hosts)
    compilation = as_headers_have(path, source.code, source.functions, compilation, source.headers)
    _refuse_out_of_reach(source)
    named = source.launches(source.fixed)
    parameters = _parameters(source, named, compilation)
    defaults = {p.name: p.default for p in parameters if p.active}
    active = frozenset(defaults)
    launches = _Launches(source.launches(active), named)
    bound, instance = instance_of(source, launches.use, active, templates)
    instances = [instance_of(source, one, active)[1] for one in launches.found]
    layouts, of_instance = Layouts(source, instance, compilation), replace(source, types=bound)
    given = read_arguments(of_instance, launches.use, layouts)
    symbols, led_to = variables(source, bound, layouts)
    given = replace(given, buffers=(*given.buffers, *led_to))
    names = [one.name for one in (*symbols, *led_to)]
    data = _data(source, given, names, launches, defaults)
    launch = launching(
        of_instance,
        list(zip(data.launches.found, data.launches.named, strict=True)),
        frozenset(s.name for s in data.scalars if "int" in s.element.type) | active,
        data.extents,
    )
    sizes = with_room(data.extents, [launch], _known(data.buffers), defaults)
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
        buffers=with_member_counts(_all(source, data.buffers, symbols), data.extents, source.texts),
        scalars=data.scalars,
        structs=given.structs,
        arguments=given.names,
        extents=sizes,
        launching=launch,
        use=data.launches.use,
        second=second_of(sizes),
    )


def _refuse_out_of_reach(source: Chosen) -> None:
    """Refuse what no back end does."""
    for one in out_of_reach(source.code.path, source.code.source, source.functions):
        if not one.on_gpu:
            raise one.error


def _parameters(
    source: Chosen, named: Sequence[LaunchSite], compilation: Compilation
) -> tuple[Tunable, ...]:
    """What may be tuned.

    Args:
        named: launches with the names of all macros and constants.
    """
    texts = [text for one in named for text in one.block or ()]
    blocks = frozenset(word for text in texts for word in _WORD.findall(text))
    files = {source.code.path.resolve(), *(one.resolve() for one in source.evolving)}
    elsewhere = {
        name: host.code.path.name
        for host in source.hosts
        if host.code.path.resolve() not in files
        for name in host.code.macros
    }
    found = tunables(
        source.code, source.functions, compilation.define, _words(named), blocks, elsewhere
    )
    return within_blocks(found, [one.block for one in named if one.block])


@dataclass(frozen=True, slots=True)
class _Launches:
    """A kernel's launches in the host code.

    Attributes:
        found: with the names of active parameters.
        named: the same with the names of all macros and constants.
    """

    found: Sequence[LaunchSite]
    named: Sequence[LaunchSite]

    @property
    def use(self) -> LaunchSite | None:
        """The launch by which the target is made; None where there is none."""
        return self.found[0] if self.found else None


@dataclass(frozen=True, slots=True)
class _Data:
    """What a kernel works on, and how much of it there is.

    Attributes:
        launches: in the names that say how much.
    """

    launches: _Launches
    buffers: tuple[ProposedBuffer, ...]
    scalars: tuple[ProposedScalar, ...]
    extents: tuple[Extent, ...]


def _data(
    source: Chosen,
    given: Arguments,
    symbols: Sequence[str],
    launches: _Launches,
    defaults: Mapping[str, int],
) -> _Data:
    """What the kernel gets, with sizes.

    Args:
        symbols: names of the variables that it uses, and of what pointers in them lead to.
        launches: as they are where members of structs have no names.
        defaults: of the active parameters.
    """
    active, members = frozenset(defaults), written_members(given.structs, given.scalars)

    def read(*, own: bool = False) -> _Launches:
        kinds = (active, source.fixed)
        return _Launches(*(source.launches(one, own=own, members=members) for one in kinds))

    if members:
        launches = read()
        given = replace(given, scalars=with_members_set(given.scalars, launches.use))
    saying = _counting(source, given.scalars, launches.use)
    scalars = set_apart(consistent(given.scalars, saying, source.body))
    counting = counted = _counting(source, scalars, launches.use)
    if not counting and launches.use is not None:
        # How much there is, only the host code knows: by the name that it has there.
        launches = read(own=True)
        own = _words(launches.found[:1], [*launches.found[0].allocated.values()])
        counted = sorted(own - active - {*given.names, *source.fixed})
    use = launches.use
    within = of_structs(given.structs, given.buffers, scalars, saying)
    buffers = with_rows(tuple(_sized(buffer, use, counted) for buffer in within), counting)
    inner = [name for struct in given.structs for name, _ in struct.members]
    written = {s.name: s.written for s in scalars}
    taken = (*given.names, *inner, *symbols)
    sizes = _sizes(source, (counting, counted), written, taken, buffers, use, defaults)
    counts, passed = [extent.name for extent in sizes], {} if use is None else use.passed
    buffers = tuple(shaped(buffer, counts, passed) for buffer in buffers)
    return _Data(launches, buffers, scalars, sizes)


def _all(
    source: Chosen, buffers: Sequence[ProposedBuffer], symbols: Sequence[ProposedBuffer]
) -> tuple[ProposedBuffer, ...]:
    """All buffers, of which some are judged."""
    every = judged(buffers, symbols)
    if any(one.role in ("output", "inout") for one in every):
        return every
    raise UserError(
        f"{source.kernel.name} writes nothing that could be judged",
        where=source.code.where(source.kernel.definition.node),
        hint="let it write a result to a buffer that is no `const` pointer, or to a `__device__`"
        " variable",
    )


def _sizes(
    source: Chosen,
    counts: tuple[Sequence[str], Sequence[str]],
    written: Mapping[str, str],
    taken: Sequence[str],
    buffers: Sequence[ProposedBuffer],
    use: LaunchSite | None,
    defaults: Mapping[str, int],
) -> tuple[Extent, ...]:
    """What says how much data there is, and how much there is in each case.

    Args:
        counts: the kernel's scalars that say so; these, or else numbers of the host code's own.
        written: what stands for a scalar in the kernel's text.
        taken: names that are in use.
    """
    counting, counted = counts
    places = [written[name] for name in counting]
    kernel = source.kernel.definition
    sizes = extents(
        counted,
        taken=frozenset([*taken, *source.code.macros]),
        constants=source.constants(),
        checked=bool(counting)
        and all(is_compared(source.code, kernel, name) for name in places)
        and not _rounds_down(use, counting, defaults),
        looped=any(is_looped(source.body, name) for name in places),
        least=_threads(use) if any(b.elements is None for b in buffers) else None,
        host={} if use is None else use.values,
    )
    sizes = tuple(replace(one, passed=one.name in counting) for one in sizes)
    return small_enough(sizes, _known(buffers), defaults)


def _known(buffers: Sequence[ProposedBuffer]) -> list[str]:
    """The sizes of buffers that have one."""
    return [buffer.elements for buffer in buffers if buffer.elements]


def _words(found: Sequence[LaunchSite], further: Sequence[str] = ()) -> frozenset[str]:
    """The names that launches use, and some further expressions."""
    texts = [text for use in found for text in (*(use.grid or ()), *(use.block or ()))]
    return frozenset(word for text in (*texts, *further) for word in _WORD.findall(text))


def _rounds_down(
    use: LaunchSite | None, counting: Sequence[str], defaults: Mapping[str, int]
) -> bool:
    """Whether the host code relies on there being no items beyond its last whole block."""
    grid = () if use is None else use.grid or ()
    others = {**dict.fromkeys(counting, 1), **defaults}
    return any(rounds_down(text, name, others) for text in grid for name in counting)


def _threads(use: LaunchSite | None) -> int:
    """Four for each thread of a launch that is always the same, 0 for any other."""
    texts = () if use is None else (*(use.grid or ("x",)), *(use.block or ("x",)))
    product = 4
    for text in texts:
        try:
            product *= parse(text).evaluate({})
        except ExpressionError:
            return 0
    return product if texts else 0


def _sized(
    buffer: ProposedBuffer, use: LaunchSite | None, counting: Sequence[str]
) -> ProposedBuffer:
    """With the number of items that the host code allocates, if it can be told."""
    bytes_ = None if use is None else use.allocated.get(buffer.name)
    items = None if bytes_ is None else elements(bytes_, buffer.element.bytes)
    if use is not None and items is not None:
        computed = use.computed
        items = _WORD.sub(lambda m: f"({computed[m[0]]})" if m[0] in computed else m[0], items)
    if use is None or items is None or not set(_WORD.findall(items)) <= set(counting):
        return buffer
    values = {name: use.values[name] for name in counting if name in use.values}
    return replace(buffer, elements=of_counts(items, values))


def _counting(
    source: Chosen, scalars: Sequence[ProposedScalar], use: LaunchSite | None
) -> list[str]:
    """The scalars that say how much data there is: by host code, else by their names as well."""
    numbers = [s for s in scalars if s.computed is None and s.count == 1]
    numbers = [s for s in numbers if "int" in s.element.type and not s.element.truth]
    whole = [s.name for s in numbers]
    told: set[str] = set()
    fixed: set[str] = set()
    if use is not None:
        further = [*use.allocated.values(), *use.computed.values()]
        said = set(_words([], [*(use.grid or ()), *further]))
        told = {s.name for s in numbers if s.name in said and not is_of_window(s.meaning)}
        if use.grid is not None and use.allocated:
            # What host code has few of, and neither launches nor allocates by, is no data.
            fixed = {s.name for s in numbers if s.name not in said and is_few(use.values, s.name)}
        pointers = {argument.name for argument in source.kernel.arguments if argument.pointers}
        apart = not any(s.member for s in scalars)
        if told and use.grid is not None and apart and pointers <= use.allocated.keys():
            # Nothing is left for any other scalar to say.
            return [name for name in whole if name in told]
    kernel = source.kernel.definition
    return [
        s.name
        for s in numbers
        if s.name in told
        or (
            s.name not in fixed
            and is_count_name(s.meaning, compared=is_compared(source.code, kernel, s.written))
        )
    ]
