"""Usual values of integers in target.toml."""

from __future__ import annotations

import pytest

from gi_cuda.errors import UserError
from gi_cuda.spec import load_target, usual_arguments

from .conftest import Write

ARGS = ('args = ["a", "n", "gain"]', 'args = ["a", "n", "steps", "blocks"]')
STEPS = 'name = "steps"\ntype = "int32"'
ALL_CASES = ("n = 1000 }", "n = 1000, steps = 4 }")
BLOCKS = 'value = "(n + BLOCK_W - 1) / BLOCK_W"'
AGAIN = '[[launch]]\nkernel = "scale"\ngrid = "1"\nblock = "1"\nargs = ["a", "n", {}]\n\n[oracle]'

CASES: dict[str, tuple[list[tuple[str, str]], tuple[int | None, int | None]]] = {
    "what one case alone names is not known": ([], (None, None)),
    "the key says it, whatever it is": ([(STEPS, f"{STEPS}\nusual = 300")], (300, None)),
    "all cases have it in their args": ([ALL_CASES], (4, None)),
    "a large number is how much data there is": (
        [("n = 1000 }", "n = 1000, steps = 65 }"), ("steps = 4 }", "steps = 65 }")],
        (None, None),
    ),
    "it is computed": ([ALL_CASES, (BLOCKS, 'value = "steps * 2"')], (4, 8)),
    "it is computed from a parameter": ([ALL_CASES, (BLOCKS, 'value = "CACHE"')], (4, None)),
    "all launches of the kernel pass it": (
        [ALL_CASES, ("[oracle]", AGAIN.format('"steps", "steps"'))],
        (4, None),
    ),
    "another launch passes something else": (
        [ALL_CASES, ("[oracle]", AGAIN.format('"n", "steps"'))],
        (None, None),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_usual_arguments(write: Write, name: str) -> None:
    changes, (steps, blocks) = CASES[name]
    target = load_target(write(ARGS, *changes))
    found = {"scale": (None, None, steps, blocks)} if (steps, blocks) != (None, None) else {}
    assert dict(usual_arguments(target)) == found


def test_no_code_of_the_target_is_run(write: Write) -> None:
    target = load_target(write(ARGS, ALL_CASES, data="raise SystemExit\n"))
    assert usual_arguments(target) == (("scale", (None, None, 4, None)),)


def test_a_kernel_goes_by_its_plain_name(write: Write) -> None:
    """Templates and namespaces stand in the name of a launch, and not in that of a function."""
    folder = write(ARGS, ALL_CASES, ('kernel = "scale"', 'kernel = "one::scale<4>(float *)"'))
    text = (folder / "target.toml").read_text()
    kernels = 'kernels = ["smooth", "one::scale<4>(float *)"]'
    (folder / "target.toml").write_text(text.replace('kernels = ["smooth", "scale"]', kernels))
    assert [name for name, _ in usual_arguments(load_target(folder))] == ["scale"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ('name = "gain"\ntype = "float32"', 'name = "gain"\ntype = "float32"\nusual = 1'),
            r"scalar\[1\]: only a single integer has a usual value",
        ),
        (
            (BLOCKS, f"{BLOCKS}\nusual = 3"),
            r"scalar\[3\]: a scalar that is computed or redrawn has no usual value",
        ),
    ],
)
def test_what_has_no_usual_value(write: Write, change: tuple[str, str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        load_target(write(change))
