"""Judge rewrites of small kernels by the kinds of objections to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.scrutiny.inputs.originals import Patience
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject

TARGET = """
[target]
name = "{kernel}"
source = "kernel.cu"
kernels = ["{kernel}"]

[build]
host = ["-O1"]
{declared}
[[launch]]
kernel = "{kernel}"
grid = "{grid}"
block = "{block}"
args = [{args}]

[oracle]
{oracle}

[[case]]
name = "train"
role = "train"
args = {{ seed = 1, {train} }}

[[case]]
name = "held-out"
role = "held-out"
args = {{ seed = 2, {held_out} }}
"""

BUFFER = '\n[[buffer]]\nname = "{}"\ntype = "{}"\nsize = "{}"\nrole = "{}"\n'
SCALAR = '\n[[scalar]]\nname = "{}"\ntype = "{}"\n'
NEAR = 'kind = "tolerance"\nabsolute = 1e-4\nrelative = 1e-4'


def codes(
    folder: Path, kernel: str, target: str, data: str, edits: Mapping[str, Sequence[str]]
) -> tuple[dict[str, set[str]], str]:
    """Return the kinds of objections to each edit of a kernel, and the sizes that were tried.

    Args:
        edits: for each name, pairs of an old text and its replacement, in turn.
    """
    for name, text in (("kernel.cu", kernel), ("target.toml", target), ("data.py", data)):
        (folder / name).write_text(text.lstrip())
    subject = load_subject(folder, "host")
    whole = unmodified(subject)
    candidates = []
    for edit in edits.values():
        text = whole.text
        for old, new in zip(edit[::2], edit[1::2], strict=True):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        candidates.append(replace(whole, text=text))
    with open_tools(subject, folder / "scratch", workers=2, jobs=2) as tools:
        # A busy machine must not leave anything untried.
        dependence = replace(tools.certification.dependence, patience=Patience(seconds=600.0))
        found = dependence.findings(candidates)
        told = {
            name: {f"{one.code} {one.ruling}" for one in some}
            for name, some in zip(edits, found, strict=True)
        }
        return told, dependence.note


def target_of(
    kernel: str,
    buffers: Sequence[tuple[str, str, str, str]],
    scalars: Sequence[tuple[str, str]],
    sizes: tuple[str, str],
    launch: tuple[str, str] = ("(n + 31) / 32", "32"),
    oracle: str = NEAR,
) -> str:
    """Return a target whose kernel takes buffers and scalars in their order.

    Args:
        buffers: name, type, size and role of each.
        scalars: name and type of each.
        sizes: arguments of the train case, and of the held-out one.
        launch: grid and block.
    """
    declared = [BUFFER.format(*one) for one in buffers] + [SCALAR.format(*one) for one in scalars]
    names = [one[0] for one in buffers] + [one[0] for one in scalars]
    train, held_out = sizes
    return TARGET.format(
        kernel=kernel,
        declared="".join(declared),
        grid=launch[0],
        block=launch[1],
        args=", ".join(f'"{name}"' for name in names),
        oracle=oracle,
        train=train,
        held_out=held_out,
    ).replace(",  }", " }")
