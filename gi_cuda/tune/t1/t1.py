"""Reader of T1 files, which describe a kernel and its parameters for any tuner."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from gi_cuda.genome.space import Space
from gi_cuda.spec.expression import parse
from gi_cuda.spec.parameters import Constraint, Parameter, ParameterKind, Value
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.t1.json_node import Node, read_json
from gi_cuda.tune.t1.python_text import PythonTextError, evaluate, to_c
from gi_cuda.tune.t1.t1_arguments import Argument, read_arguments, thresholds

_COMPARED = 4096
"""Configurations at most for which a condition and its translation are compared."""

_CUDA_ONLY = "CUDA only: OpenCL, Vulkan and others cannot be read"


@dataclass(frozen=True)
class Problem:
    """A tuning problem, as T1 describes it, in the terms of a target.

    Attributes:
        source: the file of the kernel.
        parameters: with the defaults that all keep the constraints.
        grid, block: C expressions, x first.
        shared: bytes of dynamic shared memory.
        thresholds: for buffers the allowed (absolute, relative) differences, where given.
        define: macros that the tuner gives the source: those that it does not define to the
            default, and ``kernel_tuner``, if the source asks for that.
        options: the compiler's.
    """

    name: str
    kernel: str
    source: Path
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]
    arguments: tuple[Argument, ...]
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: int
    thresholds: Mapping[str, tuple[float, float]]
    define: Mapping[str, Value]
    options: tuple[str, ...]


def read_t1(path: Path) -> Problem:
    """Read a T1 file, in the dialect of Kernel Tuner, BAT or KTT.

    The kernel's file is looked for beside the T1 file, and one folder above.

    Raises:
        UserError: the file cannot be read, has a mistake, or describes what targets cannot: the
            error names the path inside the file, as ``KernelSpecification.Arguments[2].Size``.
    """
    root = read_json(path)
    spec, space = root["KernelSpecification"], root["ConfigurationSpace"]
    language = spec["Language"]
    if language.text().upper() != "CUDA":
        raise language.mistake(f"the language is {language.text()}", _CUDA_ONLY)
    source = _source(spec["KernelFile"])
    text = source.read_text(encoding="utf-8", errors="replace")
    values = {
        one["Name"].name(): _values(one["Values"]) for one in space["TuningParameters"].items()
    }
    constraints = tuple(
        _constraint(one["Expression"], values) for one in space.list_of("Conditions")
    )
    sizes = _problem_size(spec)
    known = {**values, "ProblemSize": [one.value for one in sizes]}
    arguments = read_arguments(spec, known, set(values), text)
    names: dict[str, list[int] | None] = dict.fromkeys(values)
    names.update({one.name: None for one in arguments if isinstance(one.value, int)})
    whole = [one.value for one in sizes if isinstance(one.value, int)]
    if len(whole) == len(sizes):
        names["ProblemSize"] = whole
    block = _block(spec, names)
    grid = _grid(spec, names, sizes, block)
    parameters = _parameters(space, values, constraints, text)
    parameters = _fixed(parameters, " ".join([text, *grid, *block]))
    return Problem(
        name=re.sub(r"\W+", "_", path.name.split(".")[0]) or "target",
        kernel=_kernel(spec["KernelName"]),
        source=source,
        parameters=parameters,
        constraints=constraints,
        arguments=arguments,
        grid=grid,
        block=block,
        shared=int(spec["SharedMemory"].number()) if "SharedMemory" in spec else 0,
        thresholds=thresholds(spec),
        define=_given(parameters, text),
        options=tuple(one.text() for one in spec.list_of("CompilerOptions") if one.text()),
    )


def _kernel(node: Node) -> str:
    """Return the kernel's name, which goes into comments and docstrings of the target."""
    name = node.text()
    if not re.fullmatch(r"[\w:<>,.*& ()]+", name):
        raise node.mistake(f"{name!r} is no name of a kernel")
    return name


def _source(file: Node) -> Path:
    """Return the file of the kernel."""
    folder = file.file.parent
    for place in (folder, folder.parent):
        if (place / file.text()).is_file():
            return place / file.text()
    raise file.mistake(f"there is no file {file.text()}", f"it is looked for beside {file.file}")


def _values(node: Node) -> list[Value]:
    """Return the values of a parameter, which a list or a Python expression in text gives."""
    found = node.value
    if isinstance(found, str):
        try:
            found = evaluate(found, {})
        except PythonTextError as error:
            raise node.mistake(str(error)) from None
    items = list(found) if isinstance(found, list | tuple | range) else [found]
    listed = Node(items, node.file, node.at)
    if not items:
        raise node.mistake("a parameter needs at least one value")
    return list(dict.fromkeys(one.parameter_value() for one in listed.items()))


def _constraint(node: Node, values: Mapping[str, Sequence[Value]]) -> Constraint:
    """Translate a condition; for many configurations its translation is compared with it."""
    try:
        constraint = Constraint(parse(to_c(node.text(), dict.fromkeys(values))))
    except PythonTextError as error:
        raise node.mistake(str(error)) from None
    read = [name for name in values if name in constraint.that.names]
    for chosen in _some([values[name] for name in read]):
        configuration = dict(zip(read, chosen, strict=True))
        try:
            holds = bool(evaluate(node.text(), configuration))
        except PythonTextError:
            holds = False
        if holds != constraint.allows(configuration):
            shown = ", ".join(f"{name} = {value}" for name, value in configuration.items())
            what = f"`{node.text()}` cannot be translated: `{constraint.that.text}` in C differs"
            raise node.mistake(f"{what} for {shown}", "C's / drops the fraction; Python's does not")
    return constraint


def _some(values: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, ...]]:
    """Iterate over all combinations of values, or over some that are drawn if there are many."""
    if math.prod(map(len, values)) <= _COMPARED:
        return iter(product(*values))
    rng = random.Random(0)
    return (tuple(rng.choice(those) for those in values) for _ in range(_COMPARED))


def _parameters(
    space: Node, values: Mapping[str, list[Value]], constraints: tuple[Constraint, ...], text: str
) -> tuple[Parameter, ...]:
    """Return the parameters; defaults are what the source defines, what the file names, or the
    first values, as far as the constraints allow."""
    wished = {}
    for one in space["TuningParameters"].items():
        name = one["Name"].text()
        wishes = [_defined(name, text), one.optional("Default")]
        given = [wish.value if isinstance(wish, Node) else wish for wish in wishes]
        usual = next(
            (w for w in given if not isinstance(w, list) and w in values[name]), values[name][0]
        )
        wished[name] = sorted(values[name], key=lambda value, usual=usual: value != usual)  # type: ignore[misc]
    kind = ParameterKind.MACRO
    ordered = tuple(Parameter(n, kind, tuple(v), v[0]) for n, v in wished.items())
    grid = Grid.of_space(Space(ordered, constraints))
    first = grid.first
    if first is None:
        raise space.mistake("no configuration keeps all conditions")
    default = grid.configuration(first)
    return tuple(Parameter(n, kind, tuple(v), default[n]) for n, v in values.items())


def _fixed(parameters: Sequence[Parameter], text: str) -> tuple[Parameter, ...]:
    """Leave parameters at their defaults that neither the source nor the launch mentions.

    Headers beside the source are not looked at: with one, all parameters vary.
    """
    if re.search(r'^[ \t]*#[ \t]*include[ \t]*"', text, re.M):
        return tuple(parameters)
    return tuple(
        one if re.search(rf"\b{one.name}\b", text) else replace(one, values=(one.default,))
        for one in parameters
    )


def _given(parameters: Sequence[Parameter], text: str) -> dict[str, Value]:
    """Return the macros that come from outside, with their defaults.

    Sources for Kernel Tuner have their own definitions under ``#ifndef kernel_tuner``.
    """
    asked = "kernel_tuner" in text
    given: dict[str, Value] = {"kernel_tuner": 1} if asked else {}
    for one in parameters:
        number = _defined(one.name, text)
        own = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{one.name}\b", text, re.M)
        if asked or own is None or number not in (None, one.default):
            given[one.name] = one.default
    return given


def _defined(name: str, text: str) -> Value | None:
    """Return the number that a source defines a macro to; None: it does not."""
    found = re.search(
        rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}[ \t]+(-?\d+)[ \t]*(?://.*)?$", text, re.M
    )
    return int(found[1]) if found else None


def _problem_size(spec: Node) -> list[Node]:
    """Return ProblemSize: numbers, or Python expressions in text."""
    if "ProblemSize" not in spec:
        return []
    node = spec["ProblemSize"]
    sizes = list(node.items()) if isinstance(node.value, list) else [node]
    for one in sizes:
        if not isinstance(one.value, str | int):
            raise one.mistake(f"a whole number or a text is needed here, not {one.value!r}")
    return sizes


def _block(spec: Node, names: Mapping[str, list[int] | None]) -> tuple[str, ...]:
    """Return the block: LocalSize, or Kernel Tuner's usual parameters."""
    if "LocalSize" in spec:
        return _dimensions(spec["LocalSize"], names)
    usual = [f"block_size_{axis}" for axis in "xyz"]
    return _short([name if name in names else "1" for name in usual])


def _grid(
    spec: Node, names: Mapping[str, list[int] | None], sizes: Sequence[Node], block: Sequence[str]
) -> tuple[str, ...]:
    """Return the grid: ProblemSize over GridDivX, Y and Z as Kernel Tuner has it, or GlobalSize,
    which counts blocks (CUDA) or threads (OpenCL, Vulkan)."""
    if not sizes:
        given = _dimensions(spec["GlobalSize"], names)
        if "GlobalSizeType" not in spec or spec["GlobalSizeType"].text() == "CUDA":
            return given
        return _short([_over(n, d) for n, d in zip(given, [*block, "1", "1"], strict=False)])
    grid = []
    for axis, size in zip("xyz", sizes, strict=False):
        usual = [f"block_size_{axis}"] if f"block_size_{axis}" in names else []
        parts = [_c(one, names) for one in spec.list_of(f"GridDiv{axis.upper()}")] or usual
        divisor = " * ".join(one if re.fullmatch(r"\w+", one) else f"({one})" for one in parts)
        grid.append(_over(_c(size, names), divisor or "1"))
    return _short(grid)


def _over(number: str, divisor: str) -> str:
    """Return a division that rounds up, in C."""
    if divisor == "1":
        return number
    number, divisor = (
        one if re.fullmatch(r"\w+", one) else f"({one})" for one in (number, divisor)
    )
    return f"({number} + {divisor} - 1) / {divisor}"


def _dimensions(node: Node, names: Mapping[str, list[int] | None]) -> tuple[str, ...]:
    return _short([_c(node[axis], names) if axis in node else "1" for axis in "XYZ"])


def _c(node: Node, names: Mapping[str, list[int] | None]) -> str:
    if isinstance(node.value, int):
        return str(node.value)
    try:
        return to_c(node.text(), names)
    except PythonTextError as error:
        raise node.mistake(str(error)) from None


def _short(dimensions: Sequence[str]) -> tuple[str, ...]:
    """Leave out trailing dimensions of size 1, but keep the first."""
    kept = list(dimensions)
    while len(kept) > 1 and kept[-1] == "1":
        kept.pop()
    return tuple(kept)
