"""Choose a kernel of a source, and the headers that evolve with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from gi_cuda.grammar import (
    Function,
    Grammar,
    KeptInclude,
    LineIndex,
    Source,
    Tree,
    Wanted,
    convert,
    read_files,
    read_source,
    read_tree,
)
from gi_cuda.grammar.frontends.cuda.declarations.element_types import (
    ElementTypes,
    read_element_types,
)
from gi_cuda.grammar.frontends.cuda.declarations.file import (
    CudaFile,
    KernelSource,
    choose_kernel,
    kernels,
    of_source,
    read_cuda_file,
    source_constants,
)
from gi_cuda.grammar.frontends.cuda.parsed_text import read_cuda
from gi_cuda.grammar.frontends.cuda.text.macros import study
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text, block_end, built_in_indices
from gi_cuda.grammar.macro_values import constants_said
from gi_cuda.grammar.presence import read_presence
from gi_cuda.grammar.scope import FILE_LEVEL
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.build.repository import repository_of
from gi_cuda.init.host.host import HostCode, KnownNames
from gi_cuda.init.host.host_files import find_hosts
from gi_cuda.init.host.launching import LaunchSite, launch_sites
from gi_cuda.init.host.local_constants import local_constants
from gi_cuda.init.kernel.sizes import constants
from gi_cuda.init.kernel.tuning import is_division, whole_number
from gi_cuda.init.source.conditions import without_dead_code
from gi_cuda.init.source.headers import Headers, find_headers
from gi_cuda.init.source.linking import defining, with_members

_MOST_ROUNDS = 4
"""Largest number of searches for files that newly found files need."""

NO_MEMBERS: Mapping[str, Mapping[str, str]] = MappingProxyType({})
_WORD = re.compile(r"[A-Za-z_]\w*")
_OWNER = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;{}]*>\s*)?::")
_SCOPE = re.compile(
    r"\b(?P<key>namespace|struct|class|union)\s+(?:__align__\s*\([^()]*\)\s*)?"
    r"(?P<name>[A-Za-z_]\w*)\s*(?:<[^;{}()]*>\s*)?(?::[^;{}()]*)?\{"
)
_VARIABLE = re.compile(
    r"__(?:constant|device)__\b[^;{}()=\[\]]*\b(?P<name>[A-Za-z_]\w*)\s*(?:\[[^;{}()]*)?(?:=[^;]*)?;"
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A kernel, and all that is read of its source before a target is proposed.

    Attributes:
        code: the source, with the headers that evolve in place and its other headers around it.
        functions: the functions that evolve, the kernel among them.
        types: the types that its text declares.
        evolving: the headers that evolve with it.
        kept: headers with functions that the kernel calls and that have to stay includes.
        headers: all other headers.
        hosts: the files with host code that may launch the kernel.
        local_constants: see :func:`~gi_cuda.init.host.local_constants.local_constants`.
    """

    code: CudaFile
    kernel: KernelSource
    functions: tuple[Function, ...]
    types: ElementTypes
    evolving: tuple[Path, ...]
    kept: tuple[KeptInclude, ...]
    headers: Headers
    hosts: tuple[HostCode, ...]
    local_constants: Mapping[str, str]

    @property
    def body(self) -> str:
        """Return the kernel's text; see :func:`built_in_indices`."""
        return built_in_indices(self.code.of(self.kernel.definition.node))

    @property
    def texts(self) -> list[str]:
        """Return the texts of all functions that evolve."""
        return [self.code.text[f.start : f.end] for f in self.functions]

    @property
    def fixed(self) -> frozenset[str]:
        """Return the names of macros and constants."""
        return frozenset({*self.code.macros, *source_constants(self.code), *self.local_constants})

    def constants(self) -> dict[str, int]:
        """Return the constants that say how much data there is."""
        return constants(self.code, self.texts)

    def launches(
        self,
        kept: frozenset[str],
        *,
        own: bool = False,
        members: Mapping[str, Mapping[str, str]] = NO_MEMBERS,
    ) -> list[LaunchSite]:
        """Return the kernel's launches.

        Args:
            kept: names that expressions keep.
            own: keep variables of the host code whose names suggest an amount of data.
            members: see :class:`~gi_cuda.init.host.host_code.KnownNames`.
        """
        known = KnownNames(kept=kept, own=own, members=members)
        found = (launch_sites(host, self.kernel, self.types, known) for host in self.hosts)
        return [site for sites in found for site in sites]


def choose(
    path: Path, wanted: str | None, compilation: Compilation, hosts: Sequence[Path] = ()
) -> Chosen:
    """Find a kernel in a source or in headers of its tree, and the headers that it needs.

    Args:
        hosts: files that launch it; found by a search if empty.

    Raises:
        UserError: a file cannot be read, a header is not found, or the kernel does not exist or is
            ambiguous.
    """
    include = compilation.include
    tree, kernel, grammar = _linked(path, wanted, compilation)
    whole = bare_text(tree.joined.source.text)
    evolving = tuple(tree.paths[name] for name in _needed(tree, grammar))
    words = {word for f in grammar.functions for word in _WORD.findall(whole[f.start : f.end])}
    kept = tuple(one for one in tree.joined.kept if _defines(tree.paths[one.header], words))
    source = read_files(path, evolving, include).source
    program = read_cuda(source, Wanted((kernel.name,)))
    headers = find_headers(path, program, [kernel.name], compilation)
    around = (_read(file, read_source(file), compilation) for file in headers.own)
    code = replace(_read(path, source, compilation), around=tuple(around))
    kernel = choose_kernel(code, kernel.shown)
    functions = program.grammar.functions
    types = read_element_types((code, *code.around))
    # Launches may use macros that the build defines; constants in files take precedence.
    launching = tuple(
        replace(host, constants={**compilation.define, **host.constants})
        for host in find_hosts(code, [kernel], hosts)
    )
    local = local_constants(launching)
    return Chosen(code, kernel, functions, types, evolving, kept, headers, launching, local)


def read_whole(path: Path, compilation: Compilation) -> CudaFile:
    """Return a source with all headers of its tree in place.

    Raises:
        UserError: a file cannot be read.
    """
    return _read(path, _tree(path, compilation).joined.source, compilation)


def kernels_in(code: CudaFile, file: Path | None) -> list[KernelSource]:
    """Return the kernels of a source that one of its files defines; all if it is None."""
    every = kernels(code)
    if file is None:
        return [*every]
    names = {name: (code.path.parent / name).resolve() for name in code.source.names}
    return [k for k in every if names[code.place(k.definition.node).file] == file]


def _read(path: Path, source: Source, compilation: Compilation) -> CudaFile:
    """Parse a source without the code that is not compiled."""
    return of_source(path, without_dead_code(source, path, compilation.compiled))


def _tree(path: Path, compilation: Compilation, linked: Sequence[Path] = ()) -> Tree:
    include = compilation.include
    return read_tree(path, include, _belongs(path, include), linked)


def _linked(
    path: Path, wanted: str | None, compilation: Compilation
) -> tuple[Tree, KernelSource, Grammar]:
    """Return a source with its tree and the files of its repository that define what it needs."""
    tree = _tree(path, compilation)
    kernel = choose_kernel(_read(path, tree.joined.source, compilation), wanted)
    grammar = convert(tree.joined.source, [kernel.name])
    linked: tuple[Path, ...] = ()
    for _ in range(_MOST_ROUNDS):
        code = _read(path, tree.joined.source, compilation)
        further = tuple(defining(code, grammar, repository_of(path)))
        if not further:
            break
        linked += further
        tree = _tree(path, compilation, linked)
        grammar = convert(tree.joined.source, [kernel.name])
    return tree, kernel, grammar


def _belongs(path: Path, include: tuple[Path, ...]) -> Callable[[Path], bool]:
    """Return a test if a file is in the source's repository or in folders of -I beside it."""
    folder = path.resolve().parent
    beside = [f for f in include if folder.parent in f.parents and len(f.parts) > 2]
    roots = [repository_of(path).root, *beside]
    return lambda file: any(file.is_relative_to(one) for one in roots)


def _needed(tree: Tree, grammar: Grammar) -> Iterator[str]:
    """Yield the headers that have to be part of the source's text, in their order."""
    source = grammar.source
    places = LineIndex(source)
    needed = {source.name, *(places.at(function.start).file for function in grammar.functions)}
    needed |= {*_of_variables(grammar, places), *_of_members(grammar, places)}
    needed |= {*_of_numbers(grammar, places)}
    starts = {part.file: part.start for part in reversed(source.stretches)}
    words = {name: frozenset(_WORD.findall(text)) for name, text in source.files.items()}
    declared = list(_declared(grammar, places))
    size = 0
    while size < len(needed):
        size = len(needed)
        needed |= set().union(*(tree.includers.get(name, ()) for name in needed))
        for name in words.keys() - needed:
            # A header may rely on declarations before it without including their file.
            seen = {word for word, at, file in declared if file in needed and at < starts[name]}
            needed |= {name} if words[name] & seen else set()
    return (name for name in source.names if name in needed and name != source.name)


def _of_variables(grammar: Grammar, places: LineIndex) -> Iterator[str]:
    """Yield the files of ``__constant__`` and ``__device__`` variables that the functions use."""
    text = bare_text(grammar.source.text)
    used = {word for f in grammar.functions for word in _WORD.findall(text[f.start : f.end])}
    used = with_members(text, used)
    for match in _VARIABLE.finditer(text):
        if match["name"] in used:
            yield places.at(match.start()).file


def _of_numbers(grammar: Grammar, places: LineIndex) -> Iterator[str]:
    """Yield the files of macros and constants that are block or tile sizes of the functions."""
    source = grammar.source
    text = bare_text(source.text)
    used = {word for f in grammar.functions for word in _WORD.findall(text[f.start : f.end])}
    macros = tuple(read_presence(source.text).macros())
    through = study(macros).names
    used = used.union(*(through.get(word, ()) for word in used))
    starts = [(one.name, one.body, one.directive.start) for one in macros]
    starts += [(one.name, one.value, one.start) for one in constants_said(text) if one.const]
    for name, body, start in starts:
        if name in used and is_division(name) and whole_number(body) is not None:
            yield places.at(start).file


def _of_members(grammar: Grammar, places: LineIndex) -> Iterator[str]:
    """Yield the files of classes and namespaces that the functions are members of.

    Types with shared memory that the functions use are included: each variant needs its own.
    """
    text = bare_text(grammar.source.text)
    bodies = [text[f.start : f.end] for f in grammar.functions]
    used = {word for body in bodies for word in _WORD.findall(body)}
    owners = {name for body in bodies for name in _OWNER.findall(body.partition("{")[0])}
    for match in _SCOPE.finditer(text):
        name, begin = match["name"], match.end()
        shares = name in used and "__shared__" in text[begin : block_end(text, begin - 1)]
        if name in owners or (shares and match["key"] != "namespace"):
            yield places.at(match.start()).file


def _declared(grammar: Grammar, places: LineIndex) -> Iterator[tuple[str, int, str]]:
    """Yield name, offset and file of the declarations at file level, macros excepted."""
    for (function, name), visible in grammar.scope.tables.items():
        if function == FILE_LEVEL and name not in grammar.macros:
            for at in visible.starts:
                yield name, at, places.at(at).file


def _defines(path: Path, words: set[str]) -> bool:
    """Tell whether a header defines a device function of one of these names."""
    return any(one.device and one.name in words for one in read_cuda_file(path).definitions)
