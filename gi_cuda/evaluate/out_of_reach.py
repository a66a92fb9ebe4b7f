"""What device code may do and back ends cannot: said in place of a compiler's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.table import backends_on_gpus
from gi_cuda.errors import UserError
from gi_cuda.grammar import Function, LineIndex, Source
from gi_cuda.grammar.frontends.cuda.reading import bare_text


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A place where device code does something that back ends cannot.

    Attributes:
        on_gpu: whether those of GPUs can.
    """

    on_gpu: bool
    error: UserError


@dataclass(frozen=True, slots=True)
class _Feature:
    """Something that device code may do.

    Attributes:
        used: what is said where it is done; ``name`` is shown.
        what, hint: with ``{function}``, ``{name}`` and, for what to do, ``{another}``.
    """

    on_gpu: bool
    used: re.Pattern[str]
    what: str
    hint: str


_FEATURES = (
    _Feature(
        False,
        re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*(?:<[^<>;{}]*>\s*)?<<<"),
        "{function} launches {name} itself (dynamic parallelism), which no back end runs",
        "let it write to a buffer what is to be launched, and launch {name} from host code; or"
        " {another}",
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
    """What functions do and back ends cannot.

    Args:
        path: where the source's main file is.
        functions: with their spans in the source's text.
    """
    text, places = bare_text(source.text), LineIndex(source)
    for feature in _FEATURES:
        for function in functions:
            if used := feature.used.search(text, function.start, function.end):
                file, line = places.at(used.start())
                other = used["name"] if used["name"] != function.name else "NAME"
                alone = "make a target of it alone" if other != "NAME" else "take another kernel"
                names = {
                    "function": function.name,
                    "name": used["name"],
                    "another": f"{alone}: gi-cuda init {path} --kernel {other}",
                }
                yield OutOfReach(
                    feature.on_gpu,
                    UserError(
                        feature.what.format(**names),
                        where=f"{path if file == source.name else path.parent / file}:{line}",
                        hint=feature.hint.format(**names),
                    ),
                )
