"""CUDA features in device code that back ends do not support, with messages for the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.table import backends_on_gpus
from gi_cuda.errors import UserError
from gi_cuda.grammar import Function, LineIndex, Source
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A place where device code uses an unsupported feature.

    Attributes:
        on_gpu: whether back ends on GPUs support the feature.
    """

    on_gpu: bool
    error: UserError


@dataclass(frozen=True, slots=True)
class _Feature:
    """A feature of device code that some or all back ends do not support.

    Attributes:
        used: pattern of its use; the group ``name`` is shown in messages.
        what, hint: message and remedy, with ``{function}``, ``{name}`` and ``{another}``: advice on
            another kernel.
    """

    on_gpu: bool
    used: re.Pattern[str]
    what: str
    hint: str


_KERNEL = re.compile(r"\b__global__\b(?P<head>[^;{}]*)\{")
_BOUNDS = re.compile(r"\b__\w+__\s*\((?:[^()]|\([^()]*\))*\)")
_NAMED = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*\(")

_FEATURES = (
    _Feature(
        False,
        re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*(?:<[^<>;{}]*>\s*)?<<<"),
        "{function} launches {name} itself (dynamic parallelism), which no back end runs",
        "let it write to a buffer what is to be launched, and launch {name} from host code"
        "{another}",
    ),
    _Feature(
        False,
        re.compile(
            r"\b(?P<name>cudaGraphSetConditional|cudaGraphConditionalHandle|cudaGraphLaunch"
            r"|cudaGetCurrentGraphExec|cudaGraphKernelNodeSet\w+|cudaLaunchDevice\w*)\b"
        ),
        "{function} uses {name}, which is for kernels that run in a graph or launch others, and no"
        " back end runs them",
        "let it write what it decides to a buffer, and a small kernel of its own steer the graph",
    ),
    _Feature(
        True,
        re.compile(r"\b(?P<name>this_cluster|cluster_group|__cluster\w+)\b"),
        "{function} uses {name}, and the host back end has no clusters of blocks",
        f"check and evolve it on a GPU: --backend {backends_on_gpus(gpu=True)[0]}",
    ),
)


def out_of_reach(path: Path, source: Source, functions: Sequence[Function]) -> Iterator[OutOfReach]:
    """Yield the uses of unsupported features in functions.

    Args:
        path: path of the source's main file.
        functions: with their spans in the source's text.
    """
    text, places = bare_text(source.text), LineIndex(source)
    for feature in _FEATURES:
        for function in functions:
            if used := feature.used.search(text, function.start, function.end):
                file, line = places.at(used.start())
                names = {
                    "function": function.name,
                    "name": used["name"],
                    "another": _another(path, text, function.name, used["name"]),
                }
                yield OutOfReach(
                    feature.on_gpu,
                    UserError(
                        feature.what.format(**names),
                        where=f"{path if file == source.name else path.parent / file}:{line}",
                        hint=feature.hint.format(**names),
                    ),
                )


def _another(path: Path, text: str, function: str, launched: str) -> str:
    """Return advice to use another kernel instead of one that launches kernels; "" if there is
    none.
    """
    known = [name for name in _kernels(text) if name != function]
    if launched in known:
        return f"; or make a target of it alone: gi-cuda init {path} --kernel {launched}"
    return f"; or take another kernel: gi-cuda init {path} --kernel {known[0]}" if known else ""


def _kernels(text: str) -> Iterator[str]:
    """Yield the names of the kernels in a text without comments."""
    for match in _KERNEL.finditer(text):
        head = _BOUNDS.sub(" ", match["head"])
        if named := _NAMED.search(head):
            yield named["name"]
