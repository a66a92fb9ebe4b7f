"""The arguments of a kernel in a T1 file: buffers, scalars, and what they hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from gi_cuda.tune.t1.json_node import Node
from gi_cuda.tune.t1.python_text import PythonTextError, evaluate, syntax

_TYPES = {"half": "float16", "float": "float32", "double": "float64", "bool": "uint8"}
_WIDTHS = re.compile(r"(half|float|double)(2|4|8|16)")
_INTEGER = re.compile(r"u?int(8|16|32|64)")
_ROLES = {"ReadOnly": "input", "WriteOnly": "output", "ReadWrite": "inout"}
_METHODS = {"SideBySideRelativeComparison": (0.0, 1.0)}
"""The (absolute, relative) share of a threshold; absolute, where a method is not here."""

_SAFE = (
    *(ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.BoolOp),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.Call),
)
_CALLED = ("abs", "min", "max", "int", "float")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the kernel, or a variable in constant memory.

    Attributes:
        type: of an element, as in ``target.toml``.
        role: of a buffer, as in ``target.toml``; "" for a scalar.
        size: elements of a buffer.
        fill: Python that makes the buffer's array, with ``np``, ``rng`` and ``made``, the arrays
            above.
        value: of a scalar.
        symbol: whether it is a ``__constant__`` variable, which is no argument.
    """

    name: str
    type: str
    role: str = ""
    size: int = 0
    fill: str = ""
    value: int | float | None = None
    symbol: bool = False


def read_arguments(
    spec: Node, sizes: Mapping[str, Any], parameters: Set[str], text: str
) -> tuple[Argument, ...]:
    """Read the arguments of a kernel.

    Args:
        sizes: the lists that expressions of sizes may use: the values of each parameter, and
            ``ProblemSize``.
        parameters: names that are taken.
        text: the source.

    Raises:
        UserError: an argument has a mistake, or is of a kind that targets have not.
    """
    found: list[Argument] = []
    nodes, takes = spec.list_of("Arguments"), _kernel_takes(spec["KernelName"].text(), text)
    for number, node in enumerate(nodes):
        taken = parameters | {one.name for one in found}
        name = node["Name"].name() if "Name" in node else f"argument{number}"
        while name in taken:
            name += "_"
        one = _argument(node, name, sizes, text)
        passed = takes[sum(not other.symbol for other in found) :]
        if one.role == "output" and not one.symbol and passed and _adds(passed[0], text):
            one = replace(one, role="inout", fill=_fill(node, one.type, one.size))
        found.append(one)
        if one.symbol and len(takes) >= len(nodes):
            # Kernel Tuner passes what is in constant memory as an argument, too.
            found.append(
                replace(one, name=f"{name}_argument", fill=f'made["{name}"]', symbol=False)
            )
    if not any(one.role in ("output", "inout") for one in found):
        raise spec.mistake(
            "no argument is written to", "`AccessType` or `Output` of Arguments says so"
        )
    return tuple(found)


def _argument(node: Node, name: str, sizes: Mapping[str, Any], text: str) -> Argument:
    kind, width = _type(node["Type"])
    memory = node["MemoryType"].text()
    if memory == "Scalar":
        if width > 1:
            raise node["Type"].mistake("a vector that is passed by value cannot be read")
        value = node["FillValue"].number()
        return Argument(name, kind, value=value if kind.startswith("float") else int(value))
    if memory not in ("Vector", "Symbol"):
        raise node["MemoryType"].mistake(f"memory of the kind {memory} cannot be read")
    constant = node.optional("MemType")
    symbol = memory == "Symbol" or (
        constant is not None
        and constant.text() == "Constant"
        and re.search(rf"__constant__[^;]*\b{re.escape(name)}\b", text) is not None
    )
    role = _ROLES.get(node["AccessType"].text(), "inout") if "AccessType" in node else "inout"
    if role == "input" and node.value.get("Output"):
        role = "inout"
    size = _size(node["Size"], sizes) * width
    fill = "" if role == "output" else _fill(node, kind, size)
    return Argument(name, kind, role, size, fill, symbol=symbol)


def _kernel_takes(kernel: str, text: str) -> list[str]:
    """Return the names of the kernel's parameters; none where its head is not plain."""
    head = re.search(rf"\b{re.escape(kernel)}\s*\(([^()]*)\)", text)
    names = [re.findall(r"\w+", one)[-1:] for one in head[1].split(",")] if head else []
    return [name for one in names for name in one] if all(names) else []


def _adds(name: str, text: str) -> bool:
    """Return whether elements of a kernel's parameter are added to: then the kernel needs what
    they hold before, whatever the file says of reads."""
    added = rf"\b{name}\s*\[[^;=]*\]\s*[-+*/|&^]="
    return re.search(rf"{added}|atomic\w+\(\s*&?\s*{name}\b", text) is not None


def _type(node: Node) -> tuple[str, int]:
    """Return the type of an element, and how many elements an item has."""
    said = node.text()
    vector = _WIDTHS.fullmatch(said)
    if vector:
        return _TYPES[vector[1]], int(vector[2])
    if said in _TYPES or _INTEGER.fullmatch(said):
        return _TYPES.get(said, said), 1
    raise node.mistake(f"the type {said!r} cannot be read")


def _size(node: Node, sizes: Mapping[str, Any]) -> int:
    """Return the items of a buffer, from a number or a Python expression in text."""
    try:
        value = evaluate(node.value, sizes) if isinstance(node.value, str) else node.value
    except PythonTextError as error:
        raise node.mistake(str(error)) from None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise node.mistake(f"a size is a whole number from 1 on, not {value!r}")
    return value


def _fill(node: Node, kind: str, size: int) -> str:
    """Return the Python that makes an array."""
    given = node["FillValue"].number() if "FillValue" in node else None
    usual = "Random" if given is None else "Constant"
    fill = node["FillType"].text() if "FillType" in node else usual
    if fill == "Constant":
        value = given or 0.0
        return f"np.full({size}, {value if kind.startswith('float') else int(value)}, np.{kind})"
    if fill == "Random":
        if kind.startswith("float"):
            return f"rng.uniform(0, {given or 1.0}, {size}).astype(np.{kind})"
        return f"rng.integers(0, {int(given or 0) + 1}, {size}).astype(np.{kind})"
    if fill == "Generator":
        return f"np.array([{_generator(node['DataSource'])} for i in range({size})], np.{kind})"
    if fill == "BinaryRaw":
        file = (node.file.parent / node["DataSource"].text()).resolve()
        if not file.is_file():
            raise node["DataSource"].mistake(f"there is no file {file}")
        return f"np.fromfile({str(file)!r}, np.{kind})"
    raise node["FillType"].mistake(f"data of the kind {fill} cannot be made")


def _generator(node: Node) -> str:
    """Return an expression over ``i`` that goes into data.py: arithmetic alone."""
    try:
        tree = syntax(node.text())
    except PythonTextError as error:
        raise node.mistake(str(error)) from None
    for part in ast.walk(tree):
        known = isinstance(part, _SAFE)
        if isinstance(part, ast.Name):
            known = part.id in ("i", *_CALLED)
        if isinstance(part, ast.Call):
            known = isinstance(part.func, ast.Name) and part.func.id in _CALLED
        if isinstance(part, ast.Constant):
            known = isinstance(part.value, int | float)
        if not known:
            raise node.mistake(f"`{node.text()}` is not arithmetic over i")
    return ast.unparse(tree)


def thresholds(spec: Node) -> dict[str, tuple[float, float]]:
    """Return the (absolute, relative) differences that ReferenceArguments allow, by buffer."""
    found = {}
    for node in spec.list_of("ReferenceArguments"):
        if "ValidationThreshold" in node:
            size = node["ValidationThreshold"].number()
            method = node["ValidationMethod"].text() if "ValidationMethod" in node else ""
            absolute, relative = _METHODS.get(method, (1.0, 0.0))
            found[node["TargetName"].text()] = (size * absolute, size * relative)
    return found
