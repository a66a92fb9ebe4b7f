"""Which headers evolve with a source: those that hold what its kernel reaches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.grammar import Grammar, KeptInclude, LineIndex, Tree, convert, read_files, read_tree
from gi_cuda.grammar.frontends.cuda.file import (
    CudaFile,
    KernelSource,
    choose_kernel,
    of_source,
    read_cuda_file,
)
from gi_cuda.grammar.scope import FILE_LEVEL

_WORD = re.compile(r"[A-Za-z_]\w*")
_VARIABLE = re.compile(
    r"__(?:constant|device)__\b[^;{}()=\[\]]*\b(?P<name>[A-Za-z_]\w*)\s*(?:\[[^;{}()]*|=[^;]*)?;"
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A source with the headers that are to evolve with it.

    Attributes:
        code: its text, theirs in place.
        kernel: the kernel.
        headers: where they are.
        kept: headers that hold what the kernel reaches and have to stay includes.
    """

    code: CudaFile
    kernel: KernelSource
    headers: tuple[Path, ...]
    kept: tuple[KeptInclude, ...]


def choose(path: Path, wanted: str | None, include: tuple[Path, ...]) -> Chosen:
    """Find a kernel, in a source or in headers of its tree, and the headers that go with it.

    Raises:
        UserError: a file cannot be read; there is no such kernel, or several.
    """
    tree = read_tree(path, include, _belongs(path, include))
    whole = tree.joined.source
    kernel = choose_kernel(of_source(path, whole), wanted)
    grammar = convert(whole, [kernel.name])
    needed = tuple(_needed(tree, grammar))
    headers = tuple(tree.paths[name] for name in needed)
    code = of_source(path, read_files(path, headers, include).source)
    words = {word for f in grammar.functions for word in _WORD.findall(whole.text[f.start : f.end])}
    kept = [one for one in tree.joined.kept if _defines(tree.paths[one.header], words)]
    return Chosen(code, choose_kernel(code, kernel.shown), headers, tuple(kept))


def _belongs(path: Path, include: tuple[Path, ...]) -> Callable[[Path], bool]:
    """What is in the source's tree: its git work tree, or its folder and those of -I beside it."""
    folder = path.resolve().parent
    root = next((f for f in (folder, *folder.parents) if (f / ".git").exists()), None)
    beside = [f for f in include if folder.parent in f.parents and len(f.parts) > 2]
    roots = [root] if root else [folder, *beside]
    return lambda file: any(file.is_relative_to(one) for one in roots)


def _needed(tree: Tree, grammar: Grammar) -> Iterator[str]:
    """The headers that have to be in place, in the order in which they stand."""
    source = grammar.source
    places = LineIndex(source)
    needed = {source.name, *(places.at(function.start).file for function in grammar.functions)}
    needed |= set(_of_variables(grammar, places))
    starts = {part.file: part.start for part in reversed(source.stretches)}
    words = {name: frozenset(_WORD.findall(text)) for name, text in source.files.items()}
    declared = list(_declared(grammar, places))
    size = 0
    while size < len(needed):
        size = len(needed)
        needed |= set().union(*(tree.includers.get(name, ()) for name in needed))
        for name in words.keys() - needed:
            # It may rely on what stands in front of it, without including that.
            seen = {word for word, at, file in declared if file in needed and at < starts[name]}
            needed |= {name} if words[name] & seen else set()
    return (name for name in source.names if name in needed and name != source.name)


def _of_variables(grammar: Grammar, places: LineIndex) -> Iterator[str]:
    """The files of ``__constant__`` and ``__device__`` variables that the functions use."""
    text = grammar.source.text
    used = {word for f in grammar.functions for word in _WORD.findall(text[f.start : f.end])}
    for match in _VARIABLE.finditer(text):
        if match["name"] in used:
            yield places.at(match.start()).file


def _declared(grammar: Grammar, places: LineIndex) -> Iterator[tuple[str, int, str]]:
    """Names but macros that are declared at the file's level, where, and in which file."""
    for (function, name), visible in grammar.scope.tables.items():
        if function == FILE_LEVEL and name not in grammar.macros:
            for at in visible.starts:
                yield name, at, places.at(at).file


def _defines(path: Path, words: set[str]) -> bool:
    """Whether a header defines a device function of one of these names."""
    return any(one.device and one.name in words for one in read_cuda_file(path).definitions)
