"""What a target for a kernel could be: buffers, scalars, launch, parameters, cases."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.grammar import Function, KeptInclude, LineIndex
from gi_cuda.grammar.frontends.cuda.element_types import ElementTypes
from gi_cuda.grammar.frontends.cuda.file import KernelSource
from gi_cuda.init.access import is_compared
from gi_cuda.init.arguments import ProposedScalar, read_arguments
from gi_cuda.init.buffers import ProposedBuffer, variables
from gi_cuda.init.compilation import Compilation
from gi_cuda.init.geometry import DEFAULT_BLOCK, Launching, launching
from gi_cuda.init.headers import Headers
from gi_cuda.init.launching import LaunchSite
from gi_cuda.init.sizes import (
    Extent,
    elements,
    extents,
    is_count_name,
    is_looped,
    large_enough,
    rounds_down,
    small_enough,
)
from gi_cuda.init.sources import Chosen, choose
from gi_cuda.init.texture_setup import shaped
from gi_cuda.init.tuning import Tunable, tunables
from gi_cuda.spec.expression import ExpressionError, parse
from gi_cuda.spec.load import MARK

_WORD = re.compile(r"[A-Za-z_]\w*")
_INDEX = re.compile(r"(?i)i|.*(?:index|idx|int|size|offset|ordinal|count).*")


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
    arguments: tuple[str, ...]
    extents: tuple[Extent, ...]
    launching: Launching
    use: LaunchSite | None = None
    further: tuple[Step, ...] = ()
    mark: str = MARK

    @property
    def steps(self) -> tuple[Step, ...]:
        """All launches, in order."""
        return (Step(self.kernel, self.launching, self.arguments), *self.further)

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of the scalars that say how much data there is."""
        return tuple(extent.name for extent in self.extents)


def propose(
    path: Path, wanted: str | None, compilation: Compilation, hosts: Sequence[Path] = ()
) -> Proposal:
    """Read a source and propose a target for one of its kernels.

    Args:
        wanted: the kernel's name; None for the only one there is.
        hosts: files that launch it, if they are not to be searched for.

    Raises:
        UserError: no such kernel, a header that is needed and not found, a parameter no target can
            pass.
    """
    source = choose(path, wanted, compilation, hosts)
    named = source.launches(source.fixed)
    blocks = frozenset(
        word for one in named for text in one.block or () for word in _WORD.findall(text)
    )
    parameters = tunables(source.code, source.functions, compilation.define, _words(named), blocks)
    defaults = {p.name: p.default for p in parameters if p.active}
    active = frozenset(defaults)
    found = source.launches(active)
    use = found[0] if found else None
    bound, instance = _instance(source, use, active)
    instances = [_instance(source, one, active)[1] for one in found]
    buffers, scalars, arguments = read_arguments(replace(source, types=bound), use)
    counting = counted = _counting(source, scalars, use)
    if not counting and use is not None:
        # How much there is, only the host code knows: by the name that it has there.
        named = source.launches(source.fixed, own=True)
        found = source.launches(active, own=True)
        use = found[0]
        own = _words([use], [*use.allocated.values()])
        counted = sorted(own - active - {*arguments, *source.fixed})
    buffers = tuple(_sized(buffer, use, counted) for buffer in buffers)
    sizes = _sizes(source, counting, counted, arguments, buffers, use, defaults)
    names, passed = [extent.name for extent in sizes], {} if use is None else use.passed
    buffers = tuple(shaped(buffer, names, passed) for buffer in buffers)
    launch = launching(
        replace(source, types=bound),
        list(zip(found, named, strict=True)),
        frozenset(s.name for s in scalars if "int" in s.element.type) | active,
        sizes,
    )
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
        buffers=(*buffers, *variables(source.code, source.functions, bound)),
        scalars=scalars,
        arguments=arguments,
        extents=large_enough(sizes, [*launch.grid, *_known(buffers)], defaults),
        launching=launch,
        use=use,
    )


def _sizes(
    source: Chosen,
    counting: Sequence[str],
    counted: Sequence[str],
    arguments: Sequence[str],
    buffers: Sequence[ProposedBuffer],
    use: LaunchSite | None,
    defaults: Mapping[str, int],
) -> tuple[Extent, ...]:
    """What says how much data there is, and how much there is in each case.

    Args:
        counting: the kernel's scalars that say so.
        counted: these, or else numbers of the host code's own.
    """
    kernel = source.kernel.definition
    sizes = extents(
        counted,
        taken=frozenset([*arguments, *source.code.macros]),
        constants=source.constants(),
        checked=bool(counting)
        and all(is_compared(source.code, kernel, name) for name in counting)
        and not _rounds_down(use, counting, defaults),
        looped=any(is_looped(source.body, name) for name in counting),
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


def _instance(
    source: Chosen, use: LaunchSite | None, active: frozenset[str]
) -> tuple[ElementTypes, str]:
    """The types with template parameters bound, and the kernel's name as an instance."""
    kernel, types = source.kernel, source.types
    if not kernel.templates:
        return types, kernel.shown
    given = () if use is None else use.templates
    aliases, words = dict(types.aliases), []
    for index, parameter in enumerate(kernel.templates):
        text = given[index] if index < len(given) else None
        if text is None and parameter.type is None:
            text = _deduced(kernel, parameter.name, use)
        text = text or parameter.default
        if parameter.type is None:
            known = text is not None and types.element(text) is not None
            text = text if text is not None and known else _likely(kernel, parameter.name)
            aliases[parameter.name] = text
        elif text is None or not _is_constant(text, active):
            text = str(DEFAULT_BLOCK if "lock" in parameter.name.lower() else 4)
            if parameter.type == "bool":
                text = "true"
        words.append(text)
    # Those left out have their defaults.
    name = f"{kernel.name}<{', '.join(words)}>"
    return replace(types, aliases=aliases), name


def _is_constant(text: str, active: frozenset[str]) -> bool:
    return set(re.findall(r"\b[A-Za-z_]\w*", text)) <= active | {"true", "false"}


def _likely(kernel: KernelSource, name: str) -> str:
    """What a template's type could be: whole numbers for what counts or is an index."""
    counts = any(
        a.type == name and not a.pointers and is_count_name(a.name, compared=False)
        for a in kernel.arguments
    )
    return "int" if counts or _INDEX.fullmatch(name) else "float"


def _deduced(kernel: KernelSource, name: str, use: LaunchSite | None) -> str | None:
    for argument in kernel.arguments:
        if argument.type == name and use is not None and argument.name in use.types:
            return use.types[argument.name]
    return None


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
    if items is None or not set(_WORD.findall(items)) <= set(counting):
        return buffer
    return replace(buffer, elements=items)


def _counting(
    source: Chosen, scalars: Sequence[ProposedScalar], use: LaunchSite | None
) -> list[str]:
    """The scalars that say how much data there is: by host code, else by their names as well."""
    whole = [
        s.name
        for s in scalars
        if s.computed is None and "int" in s.element.type and not s.element.truth
    ]
    told: set[str] = set()
    if use is not None:
        further = [*use.allocated.values(), *use.computed.values()]
        told = set(_words([], [*(use.grid or ()), *further])) & set(whole)
        pointers = {argument.name for argument in source.kernel.arguments if argument.pointers}
        if told and use.grid is not None and pointers <= use.allocated.keys():
            # Nothing is left for any other scalar to say.
            return [name for name in whole if name in told]
    kernel = source.kernel.definition
    return [
        name
        for name in whole
        if name in told or is_count_name(name, compared=is_compared(source.code, kernel, name))
    ]


def python_name(name: str) -> str:
    """A name that Python takes, too."""
    return f"{name}_" if keyword.iskeyword(name) else name
