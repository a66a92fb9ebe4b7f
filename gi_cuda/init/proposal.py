"""What a target for a kernel could be: buffers, scalars, launch, parameters, cases."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar import Function, KeptInclude, LineIndex, convert
from gi_cuda.grammar.frontends.cuda.element_types import Element, ElementTypes, read_element_types
from gi_cuda.grammar.frontends.cuda.file import (
    Argument,
    CudaFile,
    KernelSource,
    read_cuda_file,
    source_constants,
)
from gi_cuda.init.access import Access, accesses, is_compared
from gi_cuda.init.buffers import ProposedBuffer, role_of, variables
from gi_cuda.init.compilation import Compilation, Headers, find_headers
from gi_cuda.init.geometry import DEFAULT_BLOCK, Launching, launching
from gi_cuda.init.host_code import KnownNames as HostStanding
from gi_cuda.init.launching import LaunchSite, uses
from gi_cuda.init.sizes import (
    Extent,
    constants,
    elements,
    extents,
    is_count_name,
    is_looped,
    large_enough,
    rounds_down,
    small_enough,
)
from gi_cuda.init.sources import choose
from gi_cuda.init.textures import is_texture, memory_of
from gi_cuda.init.tuning import Proposing, Tunable, tunables
from gi_cuda.spec.expression import ExpressionError, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
_INDEX = re.compile(r"(?i)i|.*(?:index|idx|int|size|offset|ordinal|count).*")


@dataclass(frozen=True, slots=True)
class ProposedScalar:
    """A value that the kernel gets.

    Attributes:
        value: what it is where it does not say how much data there is.
        source: whether the host code says so.
        computed: how the host code computes it from other scalars, if it does.
    """

    name: str
    element: Element
    value: int | float
    source: bool
    computed: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """All that the files of a target are written from.

    Attributes:
        evolving: headers that evolve with the source.
        kept: headers that hold what the kernel reaches, and cannot.
        files: by name of a function that evolves, the file that it stands in.
        headers: what else is included.
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

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of the scalars that say how much data there is."""
        return tuple(extent.name for extent in self.extents)


def propose(path: Path, wanted: str | None, compilation: Compilation) -> Proposal:
    """Read a source and propose a target for one of its kernels.

    Args:
        wanted: the kernel's name; None for the only one there is.

    Raises:
        UserError: no such kernel, a header that is not found, a parameter no target can pass.
    """
    chosen = choose(path, wanted, compilation.include)
    code, kernel = chosen.code, chosen.kernel
    headers = find_headers(path, code.source, compilation)
    code = replace(code, around=tuple(read_cuda_file(header) for header in headers.own))
    codes = (code, *code.around)
    functions = convert(code.source, [kernel.name]).functions
    types = read_element_types(codes)
    fixed = frozenset(code.macros) | source_constants(code).keys()
    named = uses(codes, kernel, types, HostStanding(kept=fixed))
    parameters = tunables(code, codes[1:], functions, compilation.define, _words(named))
    defaults = {p.name: p.default for p in parameters if p.standing is Proposing.ACTIVE}
    active = frozenset(defaults)
    found = uses(codes, kernel, types, HostStanding(kept=active))
    use = found[0] if found else None
    bound, instance = _instance(kernel, types, use, active)
    instances = dict.fromkeys([instance, *(_instance(kernel, types, u, active)[1] for u in found)])
    buffers, scalars, arguments = _arguments(code, kernel, bound, use)
    counting = _counting(code, kernel, scalars, use)
    of_host: list[str] = []
    if not counting and use is not None:
        # How much there is, only the host code knows: by the name that it has there.
        named = uses(codes, kernel, types, HostStanding(kept=fixed, own=True))
        found = uses(codes, kernel, types, HostStanding(kept=active, own=True))
        use = found[0]
        of_host = sorted(_words([use], [*use.allocated.values()]) - active - {*arguments, *fixed})
    buffers = tuple(_sized(buffer, use, counting or of_host) for buffer in buffers)
    body = code.of(kernel.definition.node)
    counts = constants(code, [code.text[f.start : f.end] for f in functions])
    sizes = extents(
        counting or of_host,
        taken=frozenset([*arguments, *code.macros]),
        constants=counts,
        checked=bool(counting)
        and all(is_compared(code, kernel.definition, name) for name in counting)
        and not _rounds_down(use, counting, defaults),
        looped=any(is_looped(body, name) for name in counting),
        least=_threads(use) if any(b.elements is None for b in buffers) else None,
        host={} if use is None else use.values,
    )
    sizes = tuple(replace(one, passed=one.name in counting) for one in sizes)
    sizes = small_enough(sizes, [b.elements for b in buffers if b.elements], defaults)
    own = {**compilation.define}
    for one in parameters:
        if one.standing is Proposing.ACTIVE:
            own.pop(one.name, None)
    launch = launching(
        (code, kernel, bound),
        list(zip(found, named, strict=True)),
        frozenset(s.name for s in scalars if "int" in s.element.type) | active,
        sizes,
        counts,
    )
    return Proposal(
        name=kernel.definition.name,
        source=path.resolve(),
        evolving=chosen.headers,
        kept=chosen.kept,
        kernel=instance,
        instances=tuple(instances)[1:],
        functions=functions,
        files={f.name: LineIndex(code.source).at(f.start).file for f in functions},
        headers=headers,
        compilation=replace(compilation, define=own),
        parameters=parameters,
        buffers=(*buffers, *variables(code, functions, bound)),
        scalars=scalars,
        arguments=arguments,
        extents=large_enough(sizes, launch.grid, defaults),
        launching=launch,
    )


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
    kernel: KernelSource, types: ElementTypes, use: LaunchSite | None, active: frozenset[str]
) -> tuple[ElementTypes, str]:
    """The types with template parameters bound, and the kernel's name as an instance."""
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


def _arguments(
    code: CudaFile, kernel: KernelSource, types: ElementTypes, use: LaunchSite | None
) -> tuple[tuple[ProposedBuffer, ...], tuple[ProposedScalar, ...], tuple[str, ...]]:
    buffers, scalars, names = [], [], []
    for index, argument in enumerate(kernel.arguments):
        if is_texture(types, argument) and argument.name:
            taken = [one.name for one in kernel.arguments]
            names.append(argument.name)
            buffers.append(memory_of(code, kernel.definition, argument.name, types, taken))
            continue
        element = types.element(argument.type)
        if element is None and argument.pointers == 1 and argument.type == "void":
            element = Element("uint8")
        what = f"the parameter {argument.name or index + 1!r} of {kernel.name} "
        if element is None or argument.pointers > 1 or argument.reference:
            kind = argument.text + ("&" if argument.reference else "")
            raise _cannot(code, kernel, what, kind, types.members(argument.type))
        name = argument.name or f"argument{index + 1}"
        names.append(name)
        if argument.pointers:
            buffers.append(_buffer(code, kernel, argument, name, element))
        elif element.parts > 1:
            raise _cannot(code, kernel, what, argument.type, types.members(argument.type))
        else:
            scalars.append(_scalar(name, element, use))
    return tuple(buffers), tuple(scalars), tuple(names)


def _cannot(
    code: CudaFile, kernel: KernelSource, what: str, kind: str, members: Sequence[str]
) -> UserError:
    hint = "targets pass numbers, texture objects, and pointers to numbers or plain structs"
    by_value = bool(members) and kind[-1] not in "*&"
    if by_value:
        hint += (
            f", but no struct by value: let the kernel take `const {kind} *`, or the members as"
            f" parameters of their own: {', '.join(members)}"
        )
    else:
        hint += "; let the kernel take these"
    return UserError(
        f"{what}is of type `{kind}`, which no target can pass",
        where=code.where(kernel.definition.node),
        hint=hint,
    )


def _buffer(
    code: CudaFile, kernel: KernelSource, argument: Argument, name: str, element: Element
) -> ProposedBuffer:
    if argument.const:
        return ProposedBuffer(name, element, "input", Access.READ, argument.text)
    access = accesses(code, kernel.definition, name)
    return ProposedBuffer(name, element, role_of(access), access, argument.text)


def _scalar(name: str, element: Element, use: LaunchSite | None) -> ProposedScalar:
    computed = None if use is None or element.floating else use.computed.get(name)
    if computed is not None:
        return ProposedScalar(name, element, 0, source=True, computed=computed)
    value = None if use is None else use.values.get(name)
    if value is not None and not (isinstance(value, float) and not element.floating):
        return ProposedScalar(name, element, value, source=True)
    small = 0.5 if element.floating else 1 if element.truth else 2
    return ProposedScalar(name, element, small, source=False)


def _counting(
    code: CudaFile, kernel: KernelSource, scalars: Sequence[ProposedScalar], use: LaunchSite | None
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
        pointers = {argument.name for argument in kernel.arguments if argument.pointers}
        if told and use.grid is not None and pointers <= use.allocated.keys():
            # Nothing is left for any other scalar to say.
            return [name for name in whole if name in told]
    return [
        name
        for name in whole
        if name in told or is_count_name(name, compared=is_compared(code, kernel.definition, name))
    ]


def python_name(name: str) -> str:
    """A name that Python takes, too."""
    return f"{name}_" if keyword.iskeyword(name) else name
