"""Kernels of the corpus and their rewrites, whose truth is known.

A kernel is a folder of ``corpus/`` with ``KERNEL.cu`` and ``rewrites.toml``. Each table
``[[right]]`` or ``[[wrong]]`` is a rewrite::

    [[wrong]]
    name = "last_column_left_out"
    kind = "transcription"
    why = "The last value of each row is never written."
    edits = [['''c < cols; c++''', '''c < cols - 1; c++''']]

``edits`` are pairs of an old text, which the source holds exactly once, and a new one. ``kernel``
is a new definition of the kernel, in place of the old one. ``compiles = false`` marks what nvcc is
meant to refuse, ``unseen`` why :mod:`benchmarks.referee.truth` need not see that it is wrong.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"

WRONG_KINDS = frozenset(
    [
        *("speed", "sizes", "values", "state", "coverage", "unset"),
        *("host", "interface", "launch", "noise", "transcription", "cheat"),
    ]
)
"""The ten kinds of issue 59, then slips of those who transcribe and tricks of those who cheat.

``speed``: races and the like, which only those who look at slow rewrites, too, can see. ``sizes``:
wrong for some sizes. ``values``: wrong for some data. ``state``: wrong in later launches.
``coverage``: wrong in code that small cases do not reach. ``unset``: reads what nothing has set.
``host``: host code in a kernel. ``interface``: parameters and launch do not fit. ``launch``: wrong
only where the launch has several blocks, or many. ``noise``: wrong by little.
"""

_FIELDS = frozenset({"name", "kind", "why", "edits", "kernel", "compiles", "unseen"})


class CorpusError(Exception):
    """A file of the corpus that cannot be read as one; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewritten source file.

    Attributes:
        right: True if it means the same as the original for all inputs of its domain.
        why: the reason, one sentence.
        text: the whole file.
        compiles: True if nvcc accepts it.
        unseen: why running it need not show that it is wrong; "" if it does.
    """

    name: str
    kind: str
    right: bool
    why: str
    text: str
    compiles: bool = True
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """An original source file with its rewrites.

    Attributes:
        truth: how :mod:`benchmarks.referee.truth` runs it: a function, its arguments and sizes.
    """

    name: str
    source: Path
    text: str
    rewrites: tuple[Rewrite, ...]
    truth: Mapping[str, Any]


def read_kernel(folder: Path) -> Kernel:
    """Return the kernel of a folder of the corpus.

    Raises:
        CorpusError: an edit's old text is not there exactly once, or a field is wrong.
    """
    source = folder / f"{folder.name}.cu"
    text = source.read_text()
    tables = tomllib.loads((folder / "rewrites.toml").read_text())
    rewrites = tuple(
        _rewrite(folder.name, text, table, right)
        for word, right in (("wrong", False), ("right", True))
        for table in tables.get(word, ())
    )
    names = [one.name for one in rewrites]
    if twice := {name for name in names if names.count(name) > 1}:
        raise CorpusError(f"{folder.name}: two rewrites are called {', '.join(sorted(twice))}")
    if same := [one.name for one in rewrites if one.text == text]:
        raise CorpusError(f"{folder.name}: {same[0]} changes nothing")
    return Kernel(folder.name, source, text, rewrites, tables["truth"])


def read_corpus(corpus: Path = CORPUS) -> Iterator[Kernel]:
    """Yield all kernels of the corpus, by name.

    Raises:
        CorpusError: see :func:`read_kernel`.
    """
    for file in sorted(corpus.glob("*/rewrites.toml")):
        yield read_kernel(file.parent)


def _rewrite(kernel: str, text: str, table: Mapping[str, Any], right: bool) -> Rewrite:
    where = f"{kernel}: {table.get('name', 'a rewrite without a name')}"
    if unknown := set(table) - _FIELDS:
        raise CorpusError(f"{where}: unknown field {', '.join(sorted(unknown))}")
    if missing := {"name", "kind", "why"} - set(table):
        raise CorpusError(f"{where}: no {', '.join(sorted(missing))}")
    if not right and table["kind"] not in WRONG_KINDS:
        raise CorpusError(f"{where}: unknown kind {table['kind']}")
    edits = list(table.get("edits", ()))
    if "kernel" in table:
        edits.append((definition(text, kernel), table["kernel"]))
    try:
        rewritten = edited(text, edits)
    except CorpusError as error:
        raise CorpusError(f"{where}: {error}") from None
    told = {key: table[key] for key in ("compiles", "unseen") if key in table}
    return Rewrite(table["name"], table["kind"], right, table["why"], rewritten, **told)


def edited(text: str, edits: list[tuple[str, str]]) -> str:
    """Return the text after all edits, each of which is looked for in the original text.

    Raises:
        CorpusError: an old text does not occur exactly once, or two of them overlap.
    """
    places = []
    for old, new in edits:
        if (count := text.count(old)) != 1:
            raise CorpusError(f"occurs {count} times instead of once: {old!r}")
        places.append((text.index(old), old, new))
    places.sort()
    done, parts = 0, []
    for at, old, new in places:
        if at < done:
            raise CorpusError(f"overlaps with the edit before: {old!r}")
        parts += [text[done:at], new]
        done = at + len(old)
    return "".join([*parts, text[done:]])


def definition(text: str, kernel: str) -> str:
    """Return the definition of a kernel, from ``__global__`` to the brace at a line's beginning."""
    found = re.search(rf"^__global__ void {kernel}\(.*?^}}\n", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise CorpusError(f"there is no kernel {kernel}")
    return found[0]
