"""Writer of T1: a target's space and kernel, described for other tuners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pycparser import c_ast

from gi_cuda.errors import UserError
from gi_cuda.genome.space import Space
from gi_cuda.spec.c_words import read_integer
from gi_cuda.spec.expression import Expression, ExpressionError, syntax_tree
from gi_cuda.spec.parameters import Value
from gi_cuda.spec.target import Target

_TYPES = {"float16": "half", "float32": "float", "float64": "double"}
_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_ACCESS = {"input": "ReadOnly", "output": "WriteOnly"}
_SIGNS = {"&&": "and", "||": "or", "/": "//"}


def t1_description(
    target: Target,
    space: Space,
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
    device: str = "",
) -> dict[str, Any]:
    """Return the T1 description of a target's space, and of its kernel on one case.

    The data of buffers are not described: T1 has no counterpart of a data module.

    Args:
        sizes: elements of each buffer in the case.
        scalars: the value of each scalar in the case.

    Raises:
        UserError: the target has several launches, or an expression that Python has not.
    """
    steps = [step for launch in target.launches for step in launch.steps]
    if len(steps) > 1:
        what = f"T1 describes one launch, and this target has {len(steps)}"
        raise UserError(what, where=str(target.file))
    step = steps[0]
    known = {name: value for name, value in scalars.items() if isinstance(value, int)}
    grid, block = ([_python(one, known) for one in those] for those in (step.grid, step.block))
    options = [f"-std={target.build.standard}", *target.build.options.get("cuda", ())]
    defined = [f"-D{name}={value}" for name, value in space.defines.items()]
    symbols = [one.name for one in target.buffers if one.symbol]
    return {
        "General": {"BenchmarkName": target.name, "FormatVersion": 1, "OutputFormat": "JSON"},
        "ConfigurationSpace": {
            "TuningParameters": [
                {
                    "Name": one.name,
                    "Type": _kind(one.values),
                    "Values": repr(list(one.values)),
                    "Default": one.default,
                }
                for one in space.parameters
            ],
            "Conditions": [
                {
                    "Expression": _python(one.that, known),
                    "Parameters": [p.name for p in space.parameters if p.name in one.that.names],
                }
                for one in space.constraints
            ],
        },
        "KernelSpecification": {
            "Language": "CUDA",
            "CompilerOptions": [*options, *defined],
            "KernelName": step.kernel,
            "KernelFile": target.source.name,
            "GlobalSizeType": "CUDA",
            "GlobalSize": dict(zip("XYZ", grid, strict=False)),
            "LocalSize": dict(zip("XYZ", block, strict=False)),
            # Kernel Tuner reads these two in place of GlobalSize: the size over 1 is the grid.
            "ProblemSize": [int(one) if one.isdecimal() else one for one in grid],
            **{f"GridDiv{axis}": ["1"] for axis in "XYZ"},
            **({"Device": {"Name": device}} if device else {}),
            "Arguments": [_argument(n, target, sizes, scalars) for n in (*step.args, *symbols)],
        },
    }


def _kind(values: Sequence[Value]) -> str:
    if any(isinstance(one, str) for one in values):
        return "string"
    return "float" if any(isinstance(one, float) for one in values) else "int"


def _argument(
    name: str, target: Target, sizes: Mapping[str, int], scalars: Mapping[str, int | float]
) -> dict[str, Any]:
    for buffer in target.buffers:
        if buffer.name == name:
            return {
                "Name": name,
                "Type": _type(buffer.dtype.name),
                "MemoryType": "Vector",
                **({"MemType": "Constant"} if buffer.symbol else {}),
                "AccessType": _ACCESS.get(buffer.role, "ReadWrite"),
                "FillType": "Random" if buffer.role.given else "Constant",
                "FillValue": 1.0 if buffer.role.given else 0.0,
                "Size": sizes[name],
                **({"Output": 1} if buffer.role.judged else {}),
            }
    for scalar in target.scalars:
        if scalar.name == name and name in scalars:
            kind = _type(scalar.dtype.name)
            return {"Name": name, "Type": kind, "MemoryType": "Scalar", "FillValue": scalars[name]}
    # Textures, structs and arrays that are passed by value have no counterpart.
    return {"Name": name, "Type": "custom", "MemoryType": "Scalar"}


def _type(name: str) -> str:
    return name if name in _INTEGERS else _TYPES.get(name, "custom")


def _python(expression: Expression, known: Mapping[str, int]) -> str:
    """Translate a C expression to Python; quotients are taken as of numbers that are not negative.

    Args:
        known: values that stand in place of names.
    """
    text = _translated(syntax_tree(expression.text), expression.text, known)
    return text[1:-1] if text.startswith("(") else text


def _translated(node: Any, text: str, known: Mapping[str, int]) -> str:
    """Translate a part, in parentheses unless it is a name or a number."""

    def of(part: Any) -> str:
        return _translated(part, text, known)

    match node:
        case c_ast.ID():
            return str(known.get(node.name, node.name))
        case c_ast.Constant() if "int" in node.type:
            return str(read_integer(node.value))
        case c_ast.UnaryOp(op="!"):
            return f"(not {of(node.expr)})"
        case c_ast.UnaryOp(op="-" | "+" | "~"):
            return f"({node.op}{of(node.expr)})"
        case c_ast.BinaryOp():
            return f"({of(node.left)} {_SIGNS.get(node.op, node.op)} {of(node.right)})"
        case c_ast.TernaryOp():
            return f"({of(node.iftrue)} if {of(node.cond)} else {of(node.iffalse)})"
        case c_ast.Cast():
            return of(node.expr)
    raise ExpressionError("this has no counterpart in Python", text)
